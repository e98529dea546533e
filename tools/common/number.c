/* Whole numbers from a command line. */
#include "tools/common/number.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

int mgds_number_parse(long *number, const char *text, long min, long max)
{
    char *end;
    long value;

    /* strtol would skip blanks and take a plus sign. */
    if (!isdigit((unsigned char)text[0]) && text[0] != '-')
        return -EINVAL;
    errno = 0;
    value = strtol(text, &end, 10);
    if (end == text || *end != '\0')
        return -EINVAL;
    if (errno != 0 || value < min || value > max)
        return -ERANGE;
    *number = value;
    return 0;
}
