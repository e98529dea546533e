/* A text of bounded size; see text.h. */
#include "shim/base/text.h"

#include <stdarg.h>
#include <stdio.h>

void mgds_text_init(struct mgds_text *text, char *buffer, size_t size)
{
    text->end = buffer;
    text->left = size;
    buffer[0] = '\0';
}

void mgds_text_add(struct mgds_text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text->end, text->left, fmt, args);
    va_end(args);
    if (n < 0)
        return;
    size_t step = (size_t)n < text->left ? (size_t)n : text->left - 1;
    text->end += step;
    text->left -= step;
}
