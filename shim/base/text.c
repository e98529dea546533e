/* A text of bounded size; see text.h. */
#include "shim/base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void mgds_text_bytes(struct mgds_text *text, const char *bytes, size_t n)
{
    if (n >= text->left)
        n = text->left - 1;
    memcpy(text->end, bytes, n);
    text->end += n;
    text->left -= n;
    text->end[0] = '\0';
}

void mgds_text_string(struct mgds_text *text, const char *string)
{
    mgds_text_bytes(text, string, strlen(string));
}

enum { MOST_DIGITS = 24 };

/* Digits from the last to the first; returns the first. */
static char *digits(char *end, uint64_t number, unsigned base)
{
    do {
        *--end = "0123456789abcdef"[number % base];
        number /= base;
    } while (number > 0);
    return end;
}

void mgds_text_number(struct mgds_text *text, int64_t number)
{
    char buffer[MOST_DIGITS], *end = buffer + sizeof(buffer);
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    char *first = digits(end, size, 10);

    if (number < 0)
        *--first = '-';
    mgds_text_bytes(text, first, (size_t)(end - first));
}

void mgds_text_hex(struct mgds_text *text, uint64_t number)
{
    char buffer[MOST_DIGITS], *end = buffer + sizeof(buffer);
    char *first = digits(end, number, 16);

    *--first = 'x';
    *--first = '0';
    mgds_text_bytes(text, first, (size_t)(end - first));
}
