/*
 * Back-to-back copies into the peer's memory, mapped here: what a stream can
 * move at best. Receiving does nothing: data is there when both streams are
 * done and the ranks have told each other so.
 */
#include "osu-extensions/way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/libcuda.h"
#include "shim/gds/cuda/driver_abi.h"

#define TAG_HANDLES 4
#define LAZY_PEER_ACCESS 1
#define TARGETS 2 /* messages, answers */

/* A buffer as another process maps it. */
struct target {
    CUipcMemHandle handle;
    uint64_t offset; /* of the buffer in what the handle names */
};

struct mgds_bench_lane {
    CUstream stream;
    CUdeviceptr base[TARGETS]; /* mapped; 0: not */
    CUdeviceptr at[TARGETS];
};

static struct {
#define X(name, version, params) CUresult(*name) params;
#include "osu-extensions/copy.def"
#undef X
} cu;

static int copy_find(const struct mgds_bench_options *options, char why[256])
{
    int rc = mgds_libcuda_open(why);
    void *found;

    (void)options;
    if (rc < 0)
        return rc;
#define X(name, version, params)                                               \
    found = mgds_libcuda_find(#name, version);                                 \
    if (!found) {                                                              \
        snprintf(why, 256, "libcuda.so.1 lacks " #name);                       \
        return -ENOSYS;                                                        \
    }                                                                          \
    memcpy(&cu.name, &found, sizeof(found));
#include "osu-extensions/copy.def"
#undef X
    return 0;
}

static int failed(CUresult rc, const char *call, char why[256])
{
    if (rc == CUDA_SUCCESS)
        return 0;
    snprintf(why, 256,
             "%s: CUDA error %d: the ranks' GPUs cannot map each other's "
             "memory here",
             call, (int)rc);
    return -EIO;
}

static int target_export(struct target *target, const void *at, char why[256])
{
    CUdeviceptr ptr = (CUdeviceptr)(uintptr_t)at;
    CUdeviceptr base = 0;
    size_t bytes;

    if (failed(cu.cuMemGetAddressRange(&base, &bytes, ptr),
               "cuMemGetAddressRange", why) < 0)
        return -EIO;
    target->offset = ptr - base;
    return failed(cu.cuIpcGetMemHandle(&target->handle, base),
                  "cuIpcGetMemHandle", why);
}

static int target_import(struct mgds_bench_lane *lane, int which,
                         const struct target *target, char why[256])
{
    int rc = failed(cu.cuIpcOpenMemHandle(&lane->base[which], target->handle,
                                          LAZY_PEER_ACCESS),
                    "cuIpcOpenMemHandle", why);

    if (rc == 0)
        lane->at[which] = lane->base[which] + target->offset;
    return rc;
}

static void copy_close(struct mgds_bench_lane *lane)
{
    for (int i = 0; i < TARGETS; i++) {
        if (lane->base[i])
            cu.cuIpcCloseMemHandle(lane->base[i]);
    }
    free(lane);
}

/* Both ranks of a pair exchange, whatever they have found. */
static int targets_exchange(struct target theirs[TARGETS],
                            const struct mgds_bench_site *site, char why[256])
{
    struct target mine[TARGETS];
    int rc;

    memset(mine, 0, sizeof(mine));
    rc = target_export(&mine[0], site->recv->at, why);
    if (rc == 0)
        rc = target_export(&mine[1], site->answer->at, why);
    MPI_Sendrecv(mine, sizeof(mine), MPI_BYTE, site->peer, TAG_HANDLES, theirs,
                 TARGETS * sizeof(*theirs), MPI_BYTE, site->peer, TAG_HANDLES,
                 site->comm, MPI_STATUS_IGNORE);
    return rc;
}

static int copy_open(struct mgds_bench_lane **out,
                     const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));
    struct target theirs[TARGETS];
    int rc = targets_exchange(theirs, site, why);

    if (!lane)
        return -ENOMEM;
    lane->stream = site->stream;
    for (int i = 0; rc == 0 && i < TARGETS; i++)
        rc = target_import(lane, i, &theirs[i], why);
    if (rc < 0)
        goto close;
    *out = lane;
    return 0;
close:
    copy_close(lane);
    return rc;
}

static void copy_to(const struct mgds_bench_lap *lap, int which, size_t offset,
                    const void *from, size_t bytes)
{
    CUresult rc = cu.cuMemcpyAsync(lap->lane->at[which] + offset,
                                   (CUdeviceptr)(uintptr_t)from, bytes,
                                   lap->lane->stream);

    if (rc == CUDA_SUCCESS)
        return;
    fprintf(stderr, "copy: cuMemcpyAsync: CUDA error %d\n", (int)rc);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void copy_start_send(const struct mgds_bench_lap *lap, const void *at,
                            int index)
{
    copy_to(lap, 0, mgds_bench_lap_place(lap, index), at, lap->bytes);
}

static void copy_start_recv(const struct mgds_bench_lap *lap, void *at,
                            int index)
{
    (void)lap;
    (void)at;
    (void)index;
}

static void copy_complete(const struct mgds_bench_lap *lap, int count)
{
    (void)lap;
    (void)count;
}

static void copy_send_answer(const struct mgds_bench_lap *lap)
{
    copy_to(lap, 1, lap->number * sizeof(*lap->answer), lap->answer,
            sizeof(*lap->answer));
}

static void copy_recv_answer(const struct mgds_bench_lap *lap)
{
    (void)lap;
}

const struct mgds_bench_way mgds_bench_way_copy = {
    .name = "copy",
    .title = "Copy",
    .rival = MGDS_BENCH_RIVAL_COPY,
    .windows_only = true,
    .find = copy_find,
    .open = copy_open,
    .close = copy_close,
    .start_send = copy_start_send,
    .start_recv = copy_start_recv,
    .complete = copy_complete,
    .send_answer = copy_send_answer,
    .recv_answer = copy_recv_answer,
};
