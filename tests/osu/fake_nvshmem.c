/*
 * A libnvshmem_host.so.3 for two ranks of one host: the symmetric heap is
 * device memory that both map, puts are copies on the caller's stream and
 * signals are words written behind them. Strict about what NVSHMEM asks of
 * callers; its times mean nothing.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/osu/stand_in.h"

#define EXPORT __attribute__((visibility("default")))
#define HEAP_BYTES ((size_t)32 << 20)
#define WITH_UNIQUEID 8u
#define SIGNAL_ADD 10
#define COMPARE_GE 5
#define LAZY 1 /* CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS */

struct nvshmem_id {
    int version;
    char name[124];
};

/* How a rank tells where its heap is. */
struct board {
    atomic_int told;
    CUipcMemHandle handle[STAND_IN_RANKS];
};

static struct {
    struct board *board;
    CUdeviceptr heap;   /* 0: not started */
    CUdeviceptr theirs; /* the other's, mapped here */
    size_t used;
    int live; /* allocations */
    int rank;
    uint64_t signals; /* sent: one peer has one signal here */
} self;

struct nvshmem_attr;
#define X(name, result, params) EXPORT result name params;
#include "osu-extensions/nvshmem.def"
#undef X

EXPORT void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = 3;
    *minor = 4;
    *patch = 5;
}

EXPORT int nvshmemx_get_uniqueid(struct nvshmem_id *id)
{
    stand_in_check(id->version == (1 << 16) + 128, "version of the id");
    stand_in_name(id->name, "nvshmem");
    return getenv("RIVAL_REFUSE") ? 7 : 0;
}

/* 144 bytes, by offset: what callers are given by NVSHMEM's header. */
EXPORT int nvshmemx_set_attr_uniqueid_args(int rank, int ranks,
                                           const struct nvshmem_id *id,
                                           struct nvshmem_attr *attr)
{
    char *bytes = (char *)attr;

    memcpy(bytes + 32, &id, sizeof(void *));
    memcpy(bytes + 40, &rank, sizeof(rank));
    memcpy(bytes + 44, &ranks, sizeof(ranks));
    return 0;
}

static int int_at(const struct nvshmem_attr *attr, size_t offset)
{
    int value;

    memcpy(&value, (const char *)attr + offset, sizeof(value));
    return value;
}

static void done(CUresult rc)
{
    stand_in_check(rc == CUDA_SUCCESS, "a call of the driver failed");
}

static void heaps_make(struct board *board)
{
    done(stand_in.alloc(&self.heap, HEAP_BYTES));
    done(stand_in.share(&board->handle[self.rank], self.heap));
    atomic_fetch_add(&board->told, 1);
    while (atomic_load(&board->told) < STAND_IN_RANKS)
        sched_yield();
    done(stand_in.map(&self.theirs, board->handle[1 - self.rank], LAZY));
}

EXPORT int nvshmemx_hostlib_init_attr(unsigned flags, struct nvshmem_attr *attr)
{
    struct nvshmem_id *id;

    stand_in_check(flags == WITH_UNIQUEID, "flags");
    stand_in_check(int_at(attr, 0) == (1 << 16) + 144, "version");
    stand_in_check(int_at(attr, 16) == (1 << 16) + 128, "version of the args");
    stand_in_check(int_at(attr, 24) == (1 << 16) + 24, "version of the uid");
    stand_in_check(int_at(attr, 44) == STAND_IN_RANKS, "ranks");
    memcpy(&id, (const char *)attr + 32, sizeof(void *));
    self.rank = int_at(attr, 40);
    self.board = stand_in_join(id->name, sizeof(*self.board), self.rank);
    heaps_make(self.board);
    stand_in_log("init %d", self.rank);
    return 0;
}

EXPORT void nvshmemx_hostlib_finalize(void)
{
    stand_in_check(self.heap && self.live == 0, "memory left at the end");
    stand_in_log("finalize");
    done(stand_in.unmap(self.theirs));
    done(stand_in.free(self.heap));
    stand_in_leave(self.board);
    self.heap = 0;
}

EXPORT void *nvshmem_malloc(size_t bytes)
{
    CUdeviceptr at = self.heap + self.used;

    stand_in_check(self.heap != 0, "nvshmem_malloc before the start");
    if (self.used + bytes > HEAP_BYTES)
        return NULL;
    self.used += (bytes + 255) / 256 * 256;
    self.live++;
    stand_in_log("malloc %zu", bytes);
    return (void *)(uintptr_t)at;
}

EXPORT void nvshmem_free(void *at)
{
    stand_in_check(at && self.live > 0, "nvshmem_free");
    stand_in_log("free");
    self.live--;
}

/* What a symmetric address of this rank is at the other. */
static CUdeviceptr theirs(const void *at, size_t bytes)
{
    CUdeviceptr byte = (CUdeviceptr)(uintptr_t)at;

    stand_in_check(byte >= self.heap && byte + bytes <= self.heap + self.used,
                   "not symmetric memory");
    return self.theirs + (byte - self.heap);
}

EXPORT void nvshmemx_putmem_signal_on_stream(void *to, const void *from,
                                             size_t bytes, uint64_t *signal,
                                             uint64_t value, int how, int pe,
                                             void *stream)
{
    stand_in_check(value == 1 && how == SIGNAL_ADD, "signal");
    stand_in_check(pe == 1 - self.rank, "not the peer");
    theirs(from, bytes); /* the source must be symmetric, too */
    stand_in_log("put %zu", bytes);
    if (!stand_in_damages())
        done(stand_in.copy(theirs(to, bytes), (CUdeviceptr)(uintptr_t)from,
                           bytes, stream));
    done(stand_in.write(stream, theirs(signal, sizeof(*signal)), ++self.signals,
                        0));
}

EXPORT void nvshmemx_signal_wait_until_on_stream(uint64_t *signal, int compare,
                                                 uint64_t value, void *stream)
{
    stand_in_check(compare == COMPARE_GE, "comparison");
    stand_in_log("wait %llu", (unsigned long long)value);
    done(stand_in.wait(stream, (CUdeviceptr)(uintptr_t)signal, value,
                       CU_STREAM_WAIT_VALUE_GEQ));
}
