/* An inbox in shared memory. */
#include "sim/hca/wire/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/hca/wire/map.h"

/* PAGE: the largest of a CPU, so that lanes take memory one by one. */
enum { PAGE = 65536, MAGIC = 0x6c616e33 };

#define LANE_STRIDE ((sizeof(struct mgds_hca_lane) + PAGE - 1) / PAGE * PAGE)
#define FILE_BYTES (PAGE + (MGDS_HCA_LIDS + 1) * LANE_STRIDE)

_Static_assert(offsetof(struct mgds_hca_inbox, magic) == MGDS_HCA_MARK,
               "where the registry marks files of the dead");

static off_t lane_offset(uint16_t lid)
{
    return (off_t)(PAGE + lid * LANE_STRIDE);
}

int mgds_hca_inbox_make(int file, uint64_t host, struct mgds_hca_inbox **out)
{
    void *at = NULL;
    int rc = -posix_fallocate(file, 0, PAGE);

    if (rc != 0)
        return rc;
    if (ftruncate(file, (off_t)FILE_BYTES) < 0)
        return -errno;
    rc = mgds_hca_map_get(file, FILE_BYTES, &at);
    if (!at)
        return rc;
    *out = at;
    (*out)->host = host;
    /* Who finds it finds the size of the file, and the host. */
    __atomic_store_n(&(*out)->magic, MAGIC, __ATOMIC_RELEASE);
    return 0;
}

int mgds_hca_inbox_open(int file, struct mgds_hca_inbox **out)
{
    struct stat stat;
    void *at = NULL;
    int rc;

    if (fstat(file, &stat) < 0 || (uint64_t)stat.st_size < FILE_BYTES)
        return -ENXIO;
    rc = mgds_hca_map_get(file, FILE_BYTES, &at);
    if (rc < 0)
        return rc;
    *out = at;
    if (mgds_hca_inbox_alive(*out))
        return 0;
    mgds_hca_map_put(at);
    return -ENXIO;
}

void mgds_hca_inbox_close(struct mgds_hca_inbox *inbox)
{
    mgds_hca_map_put(inbox);
}

bool mgds_hca_inbox_alive(const struct mgds_hca_inbox *inbox)
{
    return __atomic_load_n(&inbox->magic, __ATOMIC_ACQUIRE) == MAGIC;
}

int mgds_hca_inbox_add_gid(struct mgds_hca_inbox *inbox,
                           const struct mgds_hca_gid *gid)
{
    uint32_t gids = inbox->gids; /* ours */

    if (gids >= MGDS_HCA_GIDS)
        return -ENOSPC;
    inbox->gid[gids] = *gid;
    /* Who sees the number sees the GID. */
    __atomic_store_n(&inbox->gids, gids + 1, __ATOMIC_RELEASE);
    return 0;
}

int mgds_hca_inbox_find_gid(const struct mgds_hca_inbox *inbox,
                            const struct mgds_hca_gid *gid)
{
    uint32_t gids = __atomic_load_n(&inbox->gids, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < gids && i < MGDS_HCA_GIDS; i++) {
        if (memcmp(&inbox->gid[i], gid, sizeof(*gid)) == 0)
            return (int)i;
    }
    return -1;
}

struct mgds_hca_lane *mgds_hca_inbox_lane(struct mgds_hca_inbox *inbox,
                                          uint16_t lid)
{
    return (void *)((uint8_t *)inbox + lane_offset(lid));
}

int mgds_hca_inbox_use_lane(struct mgds_hca_inbox *inbox, int file,
                            uint16_t lid)
{
    int rc = -posix_fallocate(file, lane_offset(lid), (off_t)LANE_STRIDE);

    if (rc < 0)
        return rc;
    /* The lane has its memory before its owner looks there. */
    __atomic_fetch_or(&inbox->senders[lid / 64], UINT64_C(1) << lid % 64,
                      __ATOMIC_RELEASE);
    /* The bit is there before the count of them. */
    __atomic_fetch_add(&inbox->joined, 1, __ATOMIC_RELEASE);
    return 0;
}

uint32_t mgds_hca_inbox_joined(const struct mgds_hca_inbox *inbox)
{
    return __atomic_load_n(&inbox->joined, __ATOMIC_ACQUIRE);
}

void mgds_hca_inbox_go_around(struct mgds_hca_inbox *inbox)
{
    /* Answers to what was taken before are published before it. */
    __atomic_store_n(&inbox->rounds, inbox->rounds + 1, __ATOMIC_RELEASE);
}

void mgds_hca_inbox_set_flows(struct mgds_hca_inbox *inbox, uint32_t flows)
{
    /* Alone: who sees a QP gone waits no longer for what it has sent. */
    __atomic_store_n(&inbox->flows, flows, __ATOMIC_RELEASE);
}

uint32_t mgds_hca_inbox_rounds(const struct mgds_hca_inbox *inbox)
{
    return __atomic_load_n(&inbox->rounds, __ATOMIC_ACQUIRE);
}

uint32_t mgds_hca_inbox_flows(const struct mgds_hca_inbox *inbox)
{
    return __atomic_load_n(&inbox->flows, __ATOMIC_ACQUIRE);
}

bool mgds_hca_inbox_sleeps(struct mgds_hca_inbox *inbox)
{
    /* Behind packets that were published; see inbox.h. */
    return __atomic_fetch_add(&inbox->resting, 0, __ATOMIC_ACQ_REL) != 0;
}

void mgds_hca_inbox_lie_down(struct mgds_hca_inbox *inbox)
{
    /* Before the lanes are looked at; see inbox.h. */
    __atomic_exchange_n(&inbox->resting, 1, __ATOMIC_ACQ_REL);
}

void mgds_hca_inbox_get_up(struct mgds_hca_inbox *inbox)
{
    __atomic_store_n(&inbox->resting, 0, __ATOMIC_RELAXED);
}
