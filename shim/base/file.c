/* Opening files for writing; see file.h. */
#include "shim/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWNER_ONLY = 0600 };

static bool is_own(const struct stat *found)
{
    return S_ISREG(found->st_mode) && found->st_uid == geteuid() &&
           found->st_nlink == 1;
}

/* Looks at the file that is open, not at its path, which may change meanwhile.
 */
static int take(int fd, bool append)
{
    struct stat found;

    if (fstat(fd, &found) < 0)
        return -errno;
    if (S_ISCHR(found.st_mode))
        return 0;
    if (!is_own(&found))
        return -EPERM;
    if (fchmod(fd, OWNER_ONLY) < 0 || (!append && ftruncate(fd, 0) < 0))
        return -errno;
    return 0;
}

static bool starts_with(const char *path, const char *head)
{
    return strncmp(path, head, strlen(head)) == 0;
}

/* What the process has open already, by names that are links of the system's.
 */
static bool is_descriptor(const char *path)
{
    return starts_with(path, "/proc/self/fd/") ||
           starts_with(path, "/dev/fd/") || strcmp(path, "/dev/stdout") == 0 ||
           strcmp(path, "/dev/stderr") == 0;
}

/* Without waiting for somebody who reads, should it be a pipe: it is refused.
 */
static int open_own(const char *path, bool append)
{
    int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
    int fd =
        open(path, flags | O_NONBLOCK | (append ? O_APPEND : 0), OWNER_ONLY);
    int rc;

    if (fd < 0)
        return errno == ENXIO ? -EPERM : -errno;
    rc = take(fd, append);
    if (rc == 0 && fcntl(fd, F_SETFL, append ? O_APPEND : 0) < 0)
        rc = -errno;
    if (rc == 0)
        return fd;
    close(fd);
    return rc;
}

int mgds_file_open(const char *path, bool append)
{
    int fd;

    if (!is_descriptor(path))
        return open_own(path, append);
    fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

const char *mgds_file_advice(int rc)
{
    if (rc == -ELOOP)
        return ": no symbolic link is followed here, name a file";
    if (rc == -EPERM)
        return ": it must be a file of this user's, with one name; name "
               "another";
    return "";
}
