/* Interposed calls that open files and folders by path. A path of the devices
 * opens in their tree, and /dev/infiniband/uverbsN a device (file.h). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

#include "sim/hca/front/file.h"
#include "sim/hca/front/hook.h"
#include "sim/hca/front/next.h"
#include "sim/hca/front/redirect.h"

/* What fortified programs call, which headers declare for them alone. */
MGDS_HCA_EXPORT int __open_2(const char *path, int flags);
MGDS_HCA_EXPORT int __open64_2(const char *path, int flags);
MGDS_HCA_EXPORT int __openat_2(int folder, const char *path, int flags);
MGDS_HCA_EXPORT int __openat64_2(int folder, const char *path, int flags);

/* As open; `mode` is looked at only if the call takes one. */
static int open_path(int folder, const char *path, int flags, mode_t mode)
{
    char room[PATH_MAX];
    int device = mgds_hca_node(path);
    const char *to;

    if (device >= 0)
        return mgds_hca_file_open((unsigned)device, flags);
    to = mgds_hca_redirect(path, room);
    return to ? MGDS_HCA_NEXT(openat)(folder, to, flags, mode) : -1;
}

#define MGDS_HCA_OPEN(name)                                                    \
    MGDS_HCA_EXPORT int name(const char *path, int flags, ...)                 \
    {                                                                          \
        va_list args;                                                          \
        mode_t mode = 0;                                                       \
                                                                               \
        va_start(args, flags);                                                 \
        if (__OPEN_NEEDS_MODE(flags))                                          \
            mode = va_arg(args, mode_t);                                       \
        va_end(args);                                                          \
        return open_path(AT_FDCWD, path, flags, mode);                         \
    }

#define MGDS_HCA_OPENAT(name)                                                  \
    MGDS_HCA_EXPORT int name(int folder, const char *path, int flags, ...)     \
    {                                                                          \
        va_list args;                                                          \
        mode_t mode = 0;                                                       \
                                                                               \
        va_start(args, flags);                                                 \
        if (__OPEN_NEEDS_MODE(flags))                                          \
            mode = va_arg(args, mode_t);                                       \
        va_end(args);                                                          \
        return open_path(folder, path, flags, mode);                           \
    }

MGDS_HCA_OPEN(open)
MGDS_HCA_OPEN(open64)
MGDS_HCA_OPENAT(openat)
MGDS_HCA_OPENAT(openat64)

int __open_2(const char *path, int flags)
{
    return open_path(AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags)
{
    return open_path(AT_FDCWD, path, flags, 0);
}

int __openat_2(int folder, const char *path, int flags)
{
    return open_path(folder, path, flags, 0);
}

int __openat64_2(int folder, const char *path, int flags)
{
    return open_path(folder, path, flags, 0);
}

MGDS_HCA_EXPORT FILE *fopen(const char *path, const char *mode)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(fopen)(to, mode) : NULL;
}

MGDS_HCA_EXPORT FILE *fopen64(const char *path, const char *mode)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(fopen64)(to, mode) : NULL;
}

MGDS_HCA_EXPORT DIR *opendir(const char *path)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(opendir)(to) : NULL;
}

MGDS_HCA_EXPORT int scandir(const char *path, struct dirent ***list,
                            int (*select)(const struct dirent *),
                            int (*compare)(const struct dirent **,
                                           const struct dirent **))
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(scandir)(to, list, select, compare) : -1;
}

MGDS_HCA_EXPORT int scandir64(const char *path, struct dirent64 ***list,
                              int (*select)(const struct dirent64 *),
                              int (*compare)(const struct dirent64 **,
                                             const struct dirent64 **))
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(scandir64)(to, list, select, compare) : -1;
}
