/* An inbox in shared memory, and how its owner rests. */
#include "sim/hca/wire/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of the largest page of a CPU, so that lanes can be mapped one by one. */
enum { PAGE = 65536, MAGIC = 0x6c616e31, SECOND = 1000000000 };

#define LANE_STRIDE ((sizeof(struct mgds_hca_lane) + PAGE - 1) / PAGE * PAGE)
#define FILE_BYTES (PAGE + (MGDS_HCA_LIDS + 1) * LANE_STRIDE)

static off_t lane_offset(uint16_t lid)
{
    return (off_t)(PAGE + lid * LANE_STRIDE);
}

static int map_file(int file, off_t offset, size_t bytes, void **out)
{
    *out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
    return *out == MAP_FAILED ? -errno : 0;
}

int mgds_hca_inbox_map(int file, struct mgds_hca_inbox **out)
{
    void *at;
    int rc = -posix_fallocate(file, 0, PAGE);

    if (rc == 0 && ftruncate(file, (off_t)FILE_BYTES) < 0)
        rc = -errno;
    if (rc == 0)
        rc = map_file(file, 0, FILE_BYTES, &at);
    if (rc < 0)
        return rc;
    *out = at;
    /* Who finds it finds the size of the file. */
    __atomic_store_n(&(*out)->magic, MAGIC, __ATOMIC_RELEASE);
    return 0;
}

void mgds_hca_inbox_unmap(struct mgds_hca_inbox *inbox)
{
    munmap(inbox, FILE_BYTES);
}

struct mgds_hca_lane *mgds_hca_inbox_lane(struct mgds_hca_inbox *inbox,
                                          uint16_t lid)
{
    return (void *)((uint8_t *)inbox + lane_offset(lid));
}

static int map_lane(struct mgds_hca_link *link, int file, uint16_t lid)
{
    void *at;
    int rc = -posix_fallocate(file, lane_offset(lid), (off_t)LANE_STRIDE);

    if (rc == 0)
        rc = map_file(file, lane_offset(lid), LANE_STRIDE, &at);
    if (rc == 0)
        link->lane = at;
    return rc;
}

int mgds_hca_link_open(struct mgds_hca_link *link, int file, uint16_t lid)
{
    struct mgds_hca_inbox *inbox;
    struct stat stat;
    void *at;
    int rc;

    if (fstat(file, &stat) < 0 || (uint64_t)stat.st_size < FILE_BYTES)
        return -ENXIO;
    rc = map_file(file, 0, PAGE, &at);
    if (rc < 0)
        return rc;
    inbox = at;
    rc = __atomic_load_n(&inbox->magic, __ATOMIC_ACQUIRE) == MAGIC ? 0 : -ENXIO;
    if (rc == 0)
        rc = map_lane(link, file, lid);
    if (rc < 0) {
        munmap(at, PAGE);
        return rc;
    }
    link->inbox = inbox;
    link->file = stat.st_ino;
    /* The lane has its memory before its owner looks there. */
    __atomic_fetch_or(&inbox->senders[lid / 64], UINT64_C(1) << lid % 64,
                      __ATOMIC_SEQ_CST);
    return 0;
}

void mgds_hca_link_close(struct mgds_hca_link *link)
{
    if (!link->inbox)
        return;
    munmap(link->lane, LANE_STRIDE);
    munmap(link->inbox, PAGE);
    *link = (struct mgds_hca_link){.inbox = NULL};
}

void mgds_hca_inbox_ring(struct mgds_hca_inbox *inbox)
{
    if (!__atomic_load_n(&inbox->resting, __ATOMIC_SEQ_CST))
        return;
    __atomic_fetch_add(&inbox->bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &inbox->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t mgds_hca_inbox_lie_down(struct mgds_hca_inbox *inbox)
{
    uint32_t bell = __atomic_load_n(&inbox->bell, __ATOMIC_SEQ_CST);

    __atomic_store_n(&inbox->resting, 1, __ATOMIC_SEQ_CST);
    return bell;
}

void mgds_hca_inbox_sleep(struct mgds_hca_inbox *inbox, uint32_t bell,
                          uint64_t ns)
{
    struct timespec limit;

    ns = ns < MGDS_HCA_REST ? ns : MGDS_HCA_REST;
    limit.tv_sec = (time_t)(ns / SECOND);
    limit.tv_nsec = (long)(ns % SECOND);
    syscall(SYS_futex, &inbox->bell, FUTEX_WAIT, bell, &limit, NULL, 0);
}

void mgds_hca_inbox_get_up(struct mgds_hca_inbox *inbox)
{
    __atomic_store_n(&inbox->resting, 0, __ATOMIC_RELAXED);
}
