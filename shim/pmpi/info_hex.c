/* Bytes as the text of info values, and back. Pure. */
#include "shim/pmpi/info_hex.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t zeros(const uint8_t *byte, size_t left)
{
    size_t n = 0;

    while (n < left && byte[n] == 0)
        n++;
    return n;
}

int mgds_hex_encode(char text[MGDS_HEX_TEXT], const void *bytes, size_t size)
{
    const uint8_t *byte = bytes;
    size_t at = 0;
    size_t i = 0;

    text[0] = '\0';
    while (i < size) {
        size_t run = zeros(&byte[i], size - i);
        int wrote = run > 1
                        ? snprintf(&text[at], MGDS_HEX_TEXT - at, "[%zu]", run)
                        : snprintf(&text[at], MGDS_HEX_TEXT - at, "%02X",
                                   (unsigned)byte[i]);

        at += (size_t)wrote;
        if (at >= MGDS_HEX_TEXT)
            return -E2BIG;
        i += run > 1 ? run : 1;
    }
    return 0;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "[n]", which text points to: n, and what follows; 0 if it is none. */
static size_t run_of(const char **text, size_t most)
{
    const char *at = *text + 1;
    size_t n = 0;

    while (*at >= '0' && *at <= '9' && n <= most)
        n = 10 * n + (size_t)(*at++ - '0');
    if (*at != ']' || n > most)
        return 0;
    *text = at + 1;
    return n;
}

int mgds_hex_decode(void *bytes, size_t size, const char *text)
{
    uint8_t *byte = bytes;
    size_t i = 0;

    while (*text) {
        if (*text == '[') {
            size_t run = run_of(&text, size - i);

            if (run == 0)
                return -EINVAL;
            memset(&byte[i], 0, run);
            i += run;
            continue;
        }
        if (i == size || digit(text[0]) < 0 || digit(text[1]) < 0)
            return -EINVAL;
        byte[i++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
        text += 2;
    }
    return i == size ? 0 : -EINVAL;
}
