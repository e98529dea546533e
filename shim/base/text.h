/* A text of bounded size that grows at its end. What does not fit is cut; the
 * text is always terminated. */
#ifndef MGDS_BASE_TEXT_H
#define MGDS_BASE_TEXT_H

#include <stddef.h>

struct mgds_text {
    char *end;   /* the terminator */
    size_t left; /* bytes from end on, the terminator's included */
};

/* An empty text in size bytes at buffer, which stay the caller's; size > 0. */
void mgds_text_init(struct mgds_text *text, char *buffer, size_t size);

void mgds_text_add(struct mgds_text *text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
