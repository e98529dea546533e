/* Strings of JSON; see json.h. */
#include "shim/base/json.h"

#include <stdbool.h>

/* Bytes of the UTF-8 sequence that begins here; 0: none does. Overlong forms,
 * surrogates and what lies beyond U+10FFFF are none (RFC 3629, section 4). */
static int sequence(const unsigned char *c)
{
    static const struct {
        unsigned char from, to, low, high; /* first byte, second byte */
        int bytes;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    const unsigned count = sizeof(forms) / sizeof(forms[0]);
    unsigned i = 0;
    int bytes = 2;

    while (i < count && (c[0] < forms[i].from || c[0] > forms[i].to))
        i++;
    if (i == count || c[1] < forms[i].low || c[1] > forms[i].high)
        return 0;
    while (bytes < forms[i].bytes && (c[bytes] & 0xc0) == 0x80)
        bytes++;
    return bytes == forms[i].bytes ? bytes : 0;
}

/* Bytes that stand for themselves. */
static size_t plain(const char *string)
{
    size_t n = 0;

    while ((unsigned char)string[n] >= 0x20 &&
           (unsigned char)string[n] < 0x7f && string[n] != '"' &&
           string[n] != '\\')
        n++;
    return n;
}

/* Returns the bytes of the string that it stands for. */
static int add_one(struct mgds_text *text, const char *c)
{
    unsigned char byte = (unsigned char)*c;
    int bytes;

    if (byte == '"' || byte == '\\')
        mgds_text_add(text, "\\%c", byte);
    else if (byte < 0x20 || byte == 0x7f)
        mgds_text_add(text, "\\u%04x", byte);
    else if ((bytes = sequence((const unsigned char *)c)) > 0) {
        mgds_text_add(text, "%.*s", bytes, c);
        return bytes;
    } else {
        mgds_text_add(text, "\\ufffd");
    }
    return 1;
}

void mgds_json_string(struct mgds_text *text, const char *string)
{
    mgds_text_string(text, "\"");
    for (;;) {
        size_t n = plain(string);

        mgds_text_bytes(text, string, n);
        string += n;
        if (*string == '\0')
            break;
        string += add_one(text, string);
    }
    mgds_text_string(text, "\"");
}
