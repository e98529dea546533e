/* MPICH's stream API: a stream communicator, and calls with _enqueue. */
#include "osu-extensions/way.h"

#include <errno.h>
#include <mpix_gds.h>
#include <stdlib.h>

struct mgds_bench_lane {
    MPIX_Stream stream;
    MPI_Comm comm;
};

static int mpix_open(struct mgds_bench_lane **out,
                     const struct mgds_bench_site *site, char why[256])
{
    void *stream = site->stream;
    struct mgds_bench_lane *lane = calloc(1, sizeof(*lane));
    MPI_Info info;

    (void)why;
    if (!lane)
        return -ENOMEM;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "CUstream");
    MPIX_Info_set_hex(info, "value", &stream, sizeof(stream));
    MPIX_Stream_create(info, &lane->stream);
    MPI_Info_free(&info);
    MPIX_Stream_comm_create(site->comm, lane->stream, &lane->comm);
    *out = lane;
    return 0;
}

static void mpix_close(struct mgds_bench_lane *lane)
{
    MPI_Comm_free(&lane->comm);
    MPIX_Stream_free(&lane->stream);
    free(lane);
}

static void mpix_send(const struct mgds_bench_lap *lap, const void *at)
{
    MPIX_Send_enqueue(at, lap->count, lap->type, lap->peer, MGDS_BENCH_TAG_DATA,
                      lap->lane->comm);
}

static void mpix_recv(const struct mgds_bench_lap *lap, void *at)
{
    MPIX_Recv_enqueue(at, lap->count, lap->type, lap->peer, MGDS_BENCH_TAG_DATA,
                      lap->lane->comm, MPI_STATUS_IGNORE);
}

static void mpix_start_send(const struct mgds_bench_lap *lap, const void *at,
                            int index)
{
    MPIX_Isend_enqueue(at, lap->count, lap->type, lap->peer,
                       MGDS_BENCH_TAG_DATA, lap->lane->comm,
                       &lap->requests[index]);
}

static void mpix_start_recv(const struct mgds_bench_lap *lap, void *at,
                            int index)
{
    MPIX_Irecv_enqueue(at, lap->count, lap->type, lap->peer,
                       MGDS_BENCH_TAG_DATA, lap->lane->comm,
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
                      MGDS_BENCH_TAG_ANSWER, lap->lane->comm);
}

static void mpix_recv_answer(const struct mgds_bench_lap *lap)
{
    MPIX_Recv_enqueue(lap->answer, 1, MPI_UINT64_T, lap->peer,
                      MGDS_BENCH_TAG_ANSWER, lap->lane->comm,
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
