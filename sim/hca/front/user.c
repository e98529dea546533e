/* Memory of the program. */
#include "sim/hca/front/user.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { RECORD_BYTES = 8, NO_HOW = -1 };

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* A process that may not ask the kernel so touches its own memory. */
static int copied(ssize_t done, size_t bytes, void *to, const void *from)
{
    if (done == (ssize_t)bytes)
        return 0;
    if (done < 0 && (errno == ENOSYS || errno == EPERM)) {
        memcpy(to, from, bytes);
        return 0;
    }
    return -EFAULT;
}

int mgds_hca_user_read(void *to, const void *from, size_t bytes)
{
    struct iovec here = {to, bytes};
    struct iovec there = {(void *)(uintptr_t)from, bytes};

    if (bytes == 0)
        return 0;
    return copied(process_vm_readv(getpid(), &here, 1, &there, 1, 0), bytes, to,
                  from);
}

int mgds_hca_user_write(void *to, const void *from, size_t bytes)
{
    struct iovec here = {(void *)(uintptr_t)from, bytes};
    struct iovec there = {to, bytes};

    if (bytes == 0)
        return 0;
    return copied(process_vm_writev(getpid(), &here, 1, &there, 1, 0), bytes,
                  to, from);
}

/* A call that does nothing has the kernel read eight bytes there. */
static bool is_readable(const uint8_t *at)
{
    return syscall(SYS_rt_sigprocmask, NO_HOW, at, NULL, sizeof(uint64_t)) <
               0 &&
           errno != EFAULT;
}

/* EINVAL is said of memory that may not be used so, and by kernels before 5.14
 * and of memory of devices for anything: that must be there to read. */
int mgds_hca_user_pin(uint64_t start, uint64_t bytes, bool write)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first = start & ~(page - 1);
    uint64_t end = (start + bytes + page - 1) & ~(page - 1);
    void *at = (void *)(uintptr_t)first;

    if (bytes == 0 || start + bytes < start || end <= first)
        return -EINVAL;
    if (write && madvise(at, end - first, MADV_POPULATE_WRITE) == 0)
        return 0;
    if (madvise(at, end - first, MADV_POPULATE_READ) == 0)
        return write ? -EFAULT : 0;
    if (errno != EINVAL || msync(at, end - first, MS_ASYNC) < 0)
        return -EFAULT;
    for (uint64_t each = first; each < end; each += page) {
        if (!is_readable((const uint8_t *)(uintptr_t)each))
            return -EFAULT;
    }
    return 0;
}

int mgds_hca_user_pin_queue(uint64_t queue, uint64_t bytes, uint64_t record)
{
    int rc = bytes ? mgds_hca_user_pin(queue, bytes, true) : 0;

    return rc < 0 ? rc : mgds_hca_user_pin(record, RECORD_BYTES, true);
}
