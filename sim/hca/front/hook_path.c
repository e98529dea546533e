/* Interposed calls that ask about a path: the tree of the devices answers for
 * theirs, and a device file looks like one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "sim/hca/front/file.h"
#include "sim/hca/front/hook.h"
#include "sim/hca/front/model.h"
#include "sim/hca/front/next.h"
#include "sim/hca/front/redirect.h"

/* What programs built against older or fortified headers call. */
MGDS_HCA_EXPORT int __xstat(int version, const char *path, struct stat *about);
MGDS_HCA_EXPORT int __xstat64(int version, const char *path,
                              struct stat64 *about);
MGDS_HCA_EXPORT int __lxstat(int version, const char *path, struct stat *about);
MGDS_HCA_EXPORT int __lxstat64(int version, const char *path,
                               struct stat64 *about);
MGDS_HCA_EXPORT int __fxstat(int version, int fd, struct stat *about);
MGDS_HCA_EXPORT int __fxstat64(int version, int fd, struct stat64 *about);
MGDS_HCA_EXPORT ssize_t __readlink_chk(const char *path, char *text,
                                       size_t size, size_t room);
MGDS_HCA_EXPORT char *__realpath_chk(const char *path, char *text, size_t room);

/* What the kernel says of a device's file. struct stat64 is the same. */
#define MGDS_HCA_DRESS(device, about)                                          \
    do {                                                                       \
        if ((device) >= 0) {                                                   \
            (about)->st_mode = S_IFCHR | 0666;                                 \
            (about)->st_rdev =                                                 \
                makedev(MGDS_HCA_MAJOR, MGDS_HCA_MINOR + (unsigned)(device));  \
        }                                                                      \
    } while (0)

/* That of a descriptor, which may be a copy of a device's that nobody has used
 * yet. */
static int descriptor_device(int fd, uint64_t device, uint64_t inode)
{
    int known = mgds_hca_file_device(fd);

    return known >= 0 ? known : mgds_hca_file_memory(device, inode);
}

/* int name(path, struct kind *), and its relatives. */
#define MGDS_HCA_STAT(name, kind)                                              \
    MGDS_HCA_EXPORT int name(const char *path, struct kind *about)             \
    {                                                                          \
        char room[PATH_MAX];                                                   \
        const char *to = mgds_hca_redirect(path, room);                        \
        int rc = to ? MGDS_HCA_NEXT(name)(to, about) : -1;                     \
                                                                               \
        if (rc == 0)                                                           \
            MGDS_HCA_DRESS(mgds_hca_node(path), about);                        \
        return rc;                                                             \
    }

#define MGDS_HCA_XSTAT(name, kind)                                             \
    int name(int version, const char *path, struct kind *about)                \
    {                                                                          \
        char room[PATH_MAX];                                                   \
        const char *to = mgds_hca_redirect(path, room);                        \
        int rc = to ? MGDS_HCA_NEXT(name)(version, to, about) : -1;            \
                                                                               \
        if (rc == 0)                                                           \
            MGDS_HCA_DRESS(mgds_hca_node(path), about);                        \
        return rc;                                                             \
    }

#define MGDS_HCA_FSTATAT(name, kind)                                           \
    MGDS_HCA_EXPORT int name(int folder, const char *path, struct kind *about, \
                             int flags)                                        \
    {                                                                          \
        char room[PATH_MAX];                                                   \
        const char *to = mgds_hca_redirect(path, room);                        \
        int rc = to ? MGDS_HCA_NEXT(name)(folder, to, about, flags) : -1;      \
                                                                               \
        if (rc == 0)                                                           \
            MGDS_HCA_DRESS(path[0] ? mgds_hca_node(path)                       \
                                   : mgds_hca_file_device(folder),             \
                           about);                                             \
        return rc;                                                             \
    }

#define MGDS_HCA_FSTAT(name, kind)                                             \
    MGDS_HCA_EXPORT int name(int fd, struct kind *about)                       \
    {                                                                          \
        int rc = MGDS_HCA_NEXT(name)(fd, about);                               \
                                                                               \
        if (rc == 0)                                                           \
            MGDS_HCA_DRESS(                                                    \
                descriptor_device(fd, about->st_dev, about->st_ino), about);   \
        return rc;                                                             \
    }

#define MGDS_HCA_FXSTAT(name, kind)                                            \
    int name(int version, int fd, struct kind *about)                          \
    {                                                                          \
        int rc = MGDS_HCA_NEXT(name)(version, fd, about);                      \
                                                                               \
        if (rc == 0)                                                           \
            MGDS_HCA_DRESS(                                                    \
                descriptor_device(fd, about->st_dev, about->st_ino), about);   \
        return rc;                                                             \
    }

MGDS_HCA_STAT(stat, stat)
MGDS_HCA_STAT(stat64, stat64)
MGDS_HCA_STAT(lstat, stat)
MGDS_HCA_STAT(lstat64, stat64)
MGDS_HCA_XSTAT(__xstat, stat)
MGDS_HCA_XSTAT(__xstat64, stat64)
MGDS_HCA_XSTAT(__lxstat, stat)
MGDS_HCA_XSTAT(__lxstat64, stat64)
MGDS_HCA_FSTATAT(fstatat, stat)
MGDS_HCA_FSTATAT(fstatat64, stat64)
MGDS_HCA_FSTAT(fstat, stat)
MGDS_HCA_FSTAT(fstat64, stat64)
MGDS_HCA_FXSTAT(__fxstat, stat)
MGDS_HCA_FXSTAT(__fxstat64, stat64)

MGDS_HCA_EXPORT int statx(int folder, const char *path, int flags,
                          unsigned mask, struct statx *about)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);
    int rc = to ? MGDS_HCA_NEXT(statx)(folder, to, flags, mask, about) : -1;
    int device = rc == 0 ? mgds_hca_node(path) : -1;

    if (device >= 0) {
        about->stx_mode = S_IFCHR | 0666;
        about->stx_rdev_major = MGDS_HCA_MAJOR;
        about->stx_rdev_minor = MGDS_HCA_MINOR + (unsigned)device;
    }
    return rc;
}

MGDS_HCA_EXPORT int access(const char *path, int mode)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(access)(to, mode) : -1;
}

MGDS_HCA_EXPORT int faccessat(int folder, const char *path, int mode, int flags)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(faccessat)(folder, to, mode, flags) : -1;
}

/* What ls -l asks for, of a file or of a link. */
#define MGDS_HCA_GETXATTR(call)                                                \
    MGDS_HCA_EXPORT ssize_t call(const char *path, const char *name,           \
                                 void *value, size_t size)                     \
    {                                                                          \
        char room[PATH_MAX];                                                   \
        const char *to = mgds_hca_redirect(path, room);                        \
                                                                               \
        return to ? MGDS_HCA_NEXT(call)(to, name, value, size) : -1;           \
    }

#define MGDS_HCA_LISTXATTR(call)                                               \
    MGDS_HCA_EXPORT ssize_t call(const char *path, char *list, size_t size)    \
    {                                                                          \
        char room[PATH_MAX];                                                   \
        const char *to = mgds_hca_redirect(path, room);                        \
                                                                               \
        return to ? MGDS_HCA_NEXT(call)(to, list, size) : -1;                  \
    }

MGDS_HCA_GETXATTR(getxattr)
MGDS_HCA_GETXATTR(lgetxattr)
MGDS_HCA_LISTXATTR(listxattr)
MGDS_HCA_LISTXATTR(llistxattr)

MGDS_HCA_EXPORT ssize_t readlink(const char *path, char *text, size_t size)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(readlink)(to, text, size) : -1;
}

ssize_t __readlink_chk(const char *path, char *text, size_t size, size_t fits)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(__readlink_chk)(to, text, size, fits) : -1;
}

MGDS_HCA_EXPORT ssize_t readlinkat(int folder, const char *path, char *text,
                                   size_t size)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? MGDS_HCA_NEXT(readlinkat)(folder, to, text, size) : -1;
}

/* The program is told /sys/.., which leads to the tree again. */
static char *told(char *path)
{
    if (path)
        mgds_hca_unredirect(path);
    return path;
}

MGDS_HCA_EXPORT char *realpath(const char *path, char *text)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? told(MGDS_HCA_NEXT(realpath)(to, text)) : NULL;
}

char *__realpath_chk(const char *path, char *text, size_t fits)
{
    char room[PATH_MAX];
    const char *to = mgds_hca_redirect(path, room);

    return to ? told(MGDS_HCA_NEXT(__realpath_chk)(to, text, fits)) : NULL;
}

MGDS_HCA_EXPORT char *canonicalize_file_name(const char *path)
{
    return realpath(path, NULL);
}
