/* strtoul takes signs, blanks and overflow; options must not. */
#include "osu-extensions/number.h"

#include <errno.h>
#include <stdint.h>

int mgds_bench_number_take(const char **text, size_t *out)
{
    const char *digit = *text;
    size_t value = 0;

    for (; *digit >= '0' && *digit <= '9'; digit++) {
        size_t next = (size_t)(*digit - '0');

        if (value > (SIZE_MAX - next) / 10)
            return -EINVAL;
        value = value * 10 + next;
    }
    if (digit == *text)
        return -EINVAL;
    *text = digit;
    *out = value;
    return 0;
}

int mgds_bench_number_parse(const char *text, size_t low, size_t high,
                            size_t *out)
{
    size_t value;

    if (mgds_bench_number_take(&text, &value) < 0 || *text != '\0' ||
        value < low || value > high)
        return -EINVAL;
    *out = value;
    return 0;
}
