/* NCCL's send and receive on a stream; libnccl.so.2 is opened if it is here. */
#include "osu-extensions/way_nccl.h"

#include <errno.h>
#include <stdlib.h>

#include "osu-extensions/nccl.h"
#include "osu-extensions/way.h"

struct mgds_bench_lane {
    struct nccl_comm *comm;
    void *stream;
};

struct nccl_comm *mgds_bench_nccl_comm(const struct mgds_bench_lane *lane)
{
    return lane->comm;
}

void *mgds_bench_nccl_stream(const struct mgds_bench_lane *lane)
{
    return lane->stream;
}

static int nccl_find(const struct mgds_bench_options *options, char why[256])
{
    return mgds_bench_nccl_find(options->nccl, why);
}

static int nccl_open(struct mgds_bench_lane **out,
                     const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));
    struct nccl_comm *comm = NULL;
    int rc = mgds_bench_nccl_join(&comm, site->comm, why);

    if (rc == 0 && !lane)
        rc = -ENOMEM;
    if (rc < 0) {
        free(lane);
        return rc;
    }
    lane->stream = site->stream;
    lane->comm = comm;
    *out = lane;
    return 0;
}

static void nccl_close(struct mgds_bench_lane *lane)
{
    mgds_bench_nccl.ncclCommDestroy(lane->comm);
    free(lane);
}

static void nccl_send(const struct mgds_bench_lap *lap, const void *at)
{
    MGDS_BENCH_NCCL(ncclSend(at, lap->bytes, MGDS_BENCH_NCCL_BYTES, lap->peer,
                             lap->lane->comm, lap->lane->stream));
}

static void nccl_recv(const struct mgds_bench_lap *lap, void *at)
{
    MGDS_BENCH_NCCL(ncclRecv(at, lap->bytes, MGDS_BENCH_NCCL_BYTES, lap->peer,
                             lap->lane->comm, lap->lane->stream));
}

/* A window is one group: that is what NCCL makes one launch of. */
static void nccl_start_send(const struct mgds_bench_lap *lap, const void *at,
                            int index)
{
    if (index == 0)
        MGDS_BENCH_NCCL(ncclGroupStart());
    nccl_send(lap, at);
}

static void nccl_start_recv(const struct mgds_bench_lap *lap, void *at,
                            int index)
{
    if (index == 0)
        MGDS_BENCH_NCCL(ncclGroupStart());
    nccl_recv(lap, at);
}

static void nccl_complete(const struct mgds_bench_lap *lap, int count)
{
    (void)lap;
    (void)count;
    MGDS_BENCH_NCCL(ncclGroupEnd());
}

static void nccl_send_answer(const struct mgds_bench_lap *lap)
{
    MGDS_BENCH_NCCL(ncclSend(lap->answer, sizeof(*lap->answer),
                             MGDS_BENCH_NCCL_BYTES, lap->peer, lap->lane->comm,
                             lap->lane->stream));
}

static void nccl_recv_answer(const struct mgds_bench_lap *lap)
{
    MGDS_BENCH_NCCL(ncclRecv(lap->answer, sizeof(*lap->answer),
                             MGDS_BENCH_NCCL_BYTES, lap->peer, lap->lane->comm,
                             lap->lane->stream));
}

const struct mgds_bench_way mgds_bench_way_nccl = {
    .name = "nccl",
    .title = "NCCL",
    .rival = MGDS_BENCH_RIVAL_NCCL,
    .find = nccl_find,
    .open = nccl_open,
    .close = nccl_close,
    .version = mgds_bench_nccl_version,
    .send = nccl_send,
    .recv = nccl_recv,
    .start_send = nccl_start_send,
    .start_recv = nccl_start_recv,
    .complete = nccl_complete,
    .send_answer = nccl_send_answer,
    .recv_answer = nccl_recv_answer,
};
