/* Memory shared by descriptors; see shm.h. */
#include "shim/base/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 64 };

/* Nobody else may open it, by whatever way, nor make it shorter under us. */
int mgds_shm_create(const char *name, size_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return -errno;
    if (fchmod(fd, S_IRUSR | S_IWUSR) < 0 || ftruncate(fd, (off_t)bytes) < 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int rc = -errno;

        close(fd);
        return rc;
    }
    return fd;
}

int mgds_shm_map(void **out, int fd, off_t offset, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, fd, offset);

    if (at == MAP_FAILED)
        return -errno;
    *out = at;
    return 0;
}

int mgds_shm_open(int pid, int theirs, uint64_t inode, int flags)
{
    char path[PATH_BYTES];
    struct stat status;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, theirs);
    fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? -ESRCH : -errno;
    if (fstat(fd, &status) < 0 || status.st_ino != inode) {
        close(fd);
        return -ESRCH;
    }
    return fd;
}
