/* File names with places to fill; see path.h. */
#include "shim/base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* What one %letter stands for; 0 or more, or negative errno. */
static int expand_letter(char *word, size_t size, char letter, int rank)
{
    switch (letter) {
    case '%':
        return snprintf(word, size, "%%");
    case 'p':
        return snprintf(word, size, "%d", (int)getpid());
    case 'r':
        return rank < 0 ? snprintf(word, size, "norank")
                        : snprintf(word, size, "%d", rank);
    case 'h':
        if (gethostname(word, size) < 0)
            return -errno;
        word[size - 1] = '\0'; /* a cut name may lack it */
        return 0;
    default:
        return -EINVAL;
    }
}

int mgds_path_expand(char *out, size_t size, const char *pattern, int rank)
{
    size_t used = 0;
    for (; *pattern != '\0'; ++pattern) {
        char word[HOST_NAME_MAX + 1] = {*pattern, '\0'};
        if (*pattern == '%') {
            int rc = expand_letter(word, sizeof(word), *++pattern, rank);
            if (rc < 0)
                return rc;
        }
        int n = snprintf(out + used, size - used, "%s", word);
        if (n < 0 || (size_t)n >= size - used)
            return -ENAMETOOLONG;
        used += (size_t)n;
    }
    if (used == 0)
        return -EINVAL;
    return 0;
}
