/* NCCL's send and receive on a stream; libnccl.so.2 is opened if it is here. */
#include "osu-extensions/way.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/library.h"

#define NCCL_BYTES 0 /* ncclInt8 */

struct nccl_comm;

/* Passed by value, as NCCL does. */
struct nccl_id {
    char bytes[128];
};

struct mgds_bench_lane {
    struct nccl_comm *comm;
    void *stream;
};

static const struct mgds_bench_library library = {"libnccl.so.2",
                                                  "nvidia/nccl/lib", "--nccl"};

static struct {
#define X(name, result, params) result(*name) params;
#include "osu-extensions/nccl.def"
#undef X
} nccl;

static int table_fill(void *handle, char why[256])
{
    void *found;

#define X(name, result, params)                                                \
    found = mgds_bench_library_find(handle, &library, #name, why);             \
    if (!found)                                                                \
        return -ENOSYS;                                                        \
    memcpy(&nccl.name, &found, sizeof(found));
#include "osu-extensions/nccl.def"
#undef X
    return 0;
}

static int nccl_find(const struct mgds_bench_options *options, char why[256])
{
    void *handle = mgds_bench_library_open(&library, options->nccl, why);

    return handle ? table_fill(handle, why) : -ENOENT;
}

static int failed(int result, const char *call, char why[256])
{
    if (result == 0)
        return 0;
    snprintf(why, 256, "%s: %.150s (NCCL_DEBUG=WARN says more)", call,
             nccl.ncclGetErrorString(result));
    return -EIO;
}

/* In the middle of a measurement there is nothing to go on with. */
static void check(int result, const char *call)
{
    char why[256];

    if (failed(result, call, why) == 0)
        return;
    fprintf(stderr, "nccl: %s\n", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

#define NCCL(call) check(nccl.call, #call)

static int nccl_open(struct mgds_bench_lane **out,
                     const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));
    struct nccl_id id = {{0}};
    int result = 0;
    int rc;

    if (site->rank == 0)
        result = nccl.ncclGetUniqueId(&id);
    MPI_Bcast(&result, 1, MPI_INT, 0, site->comm);
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, site->comm);
    rc = lane ? failed(result, "ncclGetUniqueId", why) : -ENOMEM;
    if (rc < 0)
        goto free_lane;
    lane->stream = site->stream;
    rc = failed(nccl.ncclCommInitRank(&lane->comm, site->ranks, id, site->rank),
                "ncclCommInitRank", why);
    if (rc < 0)
        goto free_lane;
    *out = lane;
    return 0;
free_lane:
    free(lane);
    return rc;
}

static void nccl_close(struct mgds_bench_lane *lane)
{
    nccl.ncclCommDestroy(lane->comm);
    free(lane);
}

/* 21903 is 2.19.3. */
static void nccl_version(char out[32])
{
    int version = 0;

    nccl.ncclGetVersion(&version);
    snprintf(out, 32, "%d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
}

static void nccl_send(const struct mgds_bench_lap *lap, const void *at)
{
    NCCL(ncclSend(at, lap->bytes, NCCL_BYTES, lap->peer, lap->lane->comm,
                  lap->lane->stream));
}

static void nccl_recv(const struct mgds_bench_lap *lap, void *at)
{
    NCCL(ncclRecv(at, lap->bytes, NCCL_BYTES, lap->peer, lap->lane->comm,
                  lap->lane->stream));
}

/* A window is one group: that is what NCCL makes one launch of. */
static void nccl_start_send(const struct mgds_bench_lap *lap, const void *at,
                            int index)
{
    if (index == 0)
        NCCL(ncclGroupStart());
    nccl_send(lap, at);
}

static void nccl_start_recv(const struct mgds_bench_lap *lap, void *at,
                            int index)
{
    if (index == 0)
        NCCL(ncclGroupStart());
    nccl_recv(lap, at);
}

static void nccl_complete(const struct mgds_bench_lap *lap, int count)
{
    (void)lap;
    (void)count;
    NCCL(ncclGroupEnd());
}

static void nccl_send_answer(const struct mgds_bench_lap *lap)
{
    NCCL(ncclSend(lap->answer, sizeof(*lap->answer), NCCL_BYTES, lap->peer,
                  lap->lane->comm, lap->lane->stream));
}

static void nccl_recv_answer(const struct mgds_bench_lap *lap)
{
    NCCL(ncclRecv(lap->answer, sizeof(*lap->answer), NCCL_BYTES, lap->peer,
                  lap->lane->comm, lap->lane->stream));
}

const struct mgds_bench_way mgds_bench_way_nccl = {
    .name = "nccl",
    .title = "NCCL",
    .rival = MGDS_BENCH_RIVAL_NCCL,
    .find = nccl_find,
    .open = nccl_open,
    .close = nccl_close,
    .version = nccl_version,
    .send = nccl_send,
    .recv = nccl_recv,
    .start_send = nccl_start_send,
    .start_recv = nccl_start_recv,
    .complete = nccl_complete,
    .send_answer = nccl_send_answer,
    .recv_answer = nccl_recv_answer,
};
