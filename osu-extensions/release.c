/* Reading the release out of what a kernel module says of itself. */
#include "osu-extensions/release.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MODULE "Kernel Module"

/* "580.95.05": digits and dots, at least one dot, a digit at either end. */
static int is_release(const char *word, size_t length)
{
    return length > 2 && strspn(word, "0123456789.") >= length &&
           memchr(word, '.', length) && word[0] != '.' &&
           word[length - 1] != '.';
}

/*
 * The proprietary module writes "NVIDIA UNIX x86_64 Kernel Module  535.104.05
 * ...", the open one "NVIDIA UNIX Open Kernel Module for x86_64  580.95.05
 * ...": a word with digits behind "Kernel Module" may be the architecture.
 */
int mgds_bench_release_parse(const char *line, char *out, size_t size)
{
    const char *at = strstr(line, MODULE);
    size_t length;

    out[0] = '\0';
    if (!at)
        return -EINVAL;
    for (at += strlen(MODULE); *at; at += length) {
        at += strspn(at, " \t\n");
        length = strcspn(at, " \t\n");
        if (!is_release(at, length))
            continue;
        snprintf(out, size, "%.*s", (int)length, at);
        return 0;
    }
    return -EINVAL;
}
