/* A text of bounded size that grows at its end. What does not fit is cut; the
 * text is always terminated. */
#ifndef MGDS_BASE_TEXT_H
#define MGDS_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct mgds_text {
    char *end;   /* the terminator */
    size_t left; /* bytes from end on, the terminator's included */
};

/* An empty text in size bytes at buffer, which stay the caller's; size > 0. */
void mgds_text_init(struct mgds_text *text, char *buffer, size_t size);

void mgds_text_add(struct mgds_text *text, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same of strings and numbers, where a format's time matters (a tenth of
 * it): the first n bytes, a string, a number in decimal, or in hexadecimal with
 * 0x in front. */
void mgds_text_bytes(struct mgds_text *text, const char *bytes, size_t n);
void mgds_text_string(struct mgds_text *text, const char *string);
void mgds_text_number(struct mgds_text *text, int64_t number);
void mgds_text_hex(struct mgds_text *text, uint64_t number);

#endif
