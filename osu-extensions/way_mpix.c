/* MPICH's stream API: a stream communicator, and calls with _enqueue. */
#include "osu-extensions/way.h"

#include <errno.h>
#include <stdlib.h>

#include "osu-extensions/stream_comm.h"

struct mgds_bench_lane {
    struct mgds_bench_stream_comm by_stream;
};

static int mpix_open(struct mgds_bench_lane **out,
                     const struct mgds_bench_site *site, char why[256])
{
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));

    (void)why;
    if (!lane)
        return -ENOMEM;
    mgds_bench_stream_comm_open(&lane->by_stream, site->comm, site->stream);
    *out = lane;
    return 0;
}

static void mpix_close(struct mgds_bench_lane *lane)
{
    mgds_bench_stream_comm_close(&lane->by_stream);
    free(lane);
}

static void mpix_send(const struct mgds_bench_lap *lap, const void *at)
{
    MPIX_Send_enqueue(at, lap->count, lap->type, lap->peer, MGDS_BENCH_TAG_DATA,
                      lap->lane->by_stream.comm);
}

static void mpix_recv(const struct mgds_bench_lap *lap, void *at)
{
    MPIX_Recv_enqueue(at, lap->count, lap->type, lap->peer, MGDS_BENCH_TAG_DATA,
                      lap->lane->by_stream.comm, MPI_STATUS_IGNORE);
}

static void mpix_start_send(const struct mgds_bench_lap *lap, const void *at,
                            int index)
{
    MPIX_Isend_enqueue(at, lap->count, lap->type, lap->peer,
                       MGDS_BENCH_TAG_DATA, lap->lane->by_stream.comm,
                       &lap->requests[index]);
}

static void mpix_start_recv(const struct mgds_bench_lap *lap, void *at,
                            int index)
{
    MPIX_Irecv_enqueue(at, lap->count, lap->type, lap->peer,
                       MGDS_BENCH_TAG_DATA, lap->lane->by_stream.comm,
                       &lap->requests[index]);
}

/* Statuses are written when the stream passes: all iterations share them. */
static void mpix_complete(const struct mgds_bench_lap *lap, int count)
{
    MPI_Status *ignored = MPI_STATUSES_IGNORE;

    MPIX_Waitall_enqueue(count, lap->requests, ignored);
}

static void mpix_send_answer(const struct mgds_bench_lap *lap)
{
    MPIX_Send_enqueue(lap->answer, 1, MPI_UINT64_T, lap->peer,
                      MGDS_BENCH_TAG_ANSWER, lap->lane->by_stream.comm);
}

static void mpix_recv_answer(const struct mgds_bench_lap *lap)
{
    MPIX_Recv_enqueue(lap->answer, 1, MPI_UINT64_T, lap->peer,
                      MGDS_BENCH_TAG_ANSWER, lap->lane->by_stream.comm,
                      MPI_STATUS_IGNORE);
}

const struct mgds_bench_way mgds_bench_way_mpix = {
    .name = "mpix",
    .title = "MPI",
    .open = mpix_open,
    .close = mpix_close,
    .send = mpix_send,
    .recv = mpix_recv,
    .start_send = mpix_start_send,
    .start_recv = mpix_start_recv,
    .complete = mpix_complete,
    .send_answer = mpix_send_answer,
    .recv_answer = mpix_recv_answer,
};
