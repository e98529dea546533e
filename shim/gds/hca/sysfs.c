/* Reading sysfs; see sysfs.h. */
#include "shim/gds/hca/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"

#define FORMAT_PATH(path, format)                                              \
    do {                                                                       \
        va_list args;                                                          \
        va_start(args, format);                                                \
        vsnprintf(path, sizeof(path), format, args);                           \
        va_end(args);                                                          \
    } while (0)

int mgds_sysfs_line(char *line, size_t size, const char *format, ...)
{
    char path[PATH_MAX];
    FILE *file;

    line[0] = '\0';
    FORMAT_PATH(path, format);
    file = fopen(path, "re");
    if (!file)
        return -errno;
    if (!fgets(line, (int)size, file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return 0;
}

static int is_name(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Takes the entries, and gives their names. */
static int copy_names(char **names, struct dirent **entries, int count)
{
    int rc = names ? 0 : -ENOMEM;

    for (int i = 0; i < count; i++) {
        if (rc == 0)
            names[i] = mgds_strdup(entries[i]->d_name);
        if (rc == 0 && !names[i])
            rc = -ENOMEM;
        free(entries[i]);
    }
    free(entries);
    return rc;
}

int mgds_sysfs_names(char ***out, const char *format, ...)
{
    struct dirent **entries;
    char path[PATH_MAX];
    char **names;
    int count, rc;

    *out = NULL;
    FORMAT_PATH(path, format);
    count = scandir(path, &entries, is_name, versionsort);
    if (count < 0)
        return errno == ENOMEM ? -ENOMEM : 0;
    names = (char **)mgds_calloc((size_t)count, sizeof(*names));
    rc = copy_names(names, entries, count);
    if (rc < 0) {
        mgds_sysfs_free(names, count);
        return rc;
    }
    *out = names;
    return count;
}

void mgds_sysfs_free(char **names, int count)
{
    for (int i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

void mgds_sysfs_resolve(char *path, size_t size, const char *format, ...)
{
    char linked[PATH_MAX], resolved[PATH_MAX];

    path[0] = '\0';
    FORMAT_PATH(linked, format);
    if (realpath(linked, resolved) && strlen(resolved) < size)
        memcpy(path, resolved, strlen(resolved) + 1);
}
