/* Many messages in flight, one way or both. */
#include "osu-extensions/window.h"

static void send_all(const struct mgds_bench_lap *lap, MPI_Request *requests)
{
    for (int m = 0; m < lap->messages; m++)
        MPI_Isend(lap->send + (size_t)m * lap->send_step, lap->count, lap->type,
                  lap->peer, MGDS_BENCH_TAG_DATA, lap->comm, &requests[m]);
}

static void recv_all(const struct mgds_bench_lap *lap, MPI_Request *requests)
{
    for (int m = 0; m < lap->messages; m++)
        MPI_Irecv(lap->recv + (size_t)m * lap->recv_step, lap->count, lap->type,
                  lap->peer, MGDS_BENCH_TAG_DATA, lap->comm, &requests[m]);
}

void mgds_bench_window_send(const struct mgds_bench_lap *lap)
{
    send_all(lap, lap->requests);
    MPI_Waitall(lap->messages, lap->requests, lap->statuses);
    MPI_Recv(lap->answer, 1, MPI_UINT64_T, lap->peer, MGDS_BENCH_TAG_ANSWER,
             lap->comm, MPI_STATUS_IGNORE);
}

void mgds_bench_window_recv(const struct mgds_bench_lap *lap)
{
    recv_all(lap, lap->requests);
    MPI_Waitall(lap->messages, lap->requests, lap->statuses);
    MPI_Send(lap->answer, 1, MPI_UINT64_T, lap->peer, MGDS_BENCH_TAG_ANSWER,
             lap->comm);
}

void mgds_bench_window_exchange(const struct mgds_bench_lap *lap)
{
    recv_all(lap, lap->requests);
    send_all(lap, lap->requests + lap->messages);
    MPI_Waitall(2 * lap->messages, lap->requests, lap->statuses);
}

double mgds_bench_one_way_rate(const struct mgds_bench_shape *shape,
                               double seconds)
{
    return (double)shape->bytes * shape->messages * shape->pairs / seconds /
           1e6;
}

double mgds_bench_both_ways_rate(const struct mgds_bench_shape *shape,
                                 double seconds)
{
    return 2 * mgds_bench_one_way_rate(shape, seconds);
}
