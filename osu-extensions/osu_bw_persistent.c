/* Windows of persistent requests from one rank to another. */
#include "osu-extensions/window.h"

static int make_sends(const struct mgds_bench_lap *lap)
{
    for (int m = 0; m < lap->messages; m++)
        MPI_Send_init(lap->send + (size_t)m * lap->send_step, lap->count,
                      lap->type, lap->peer, MGDS_BENCH_TAG_DATA, lap->comm,
                      &lap->requests[m]);
    return lap->messages;
}

static int make_receives(const struct mgds_bench_lap *lap)
{
    for (int m = 0; m < lap->messages; m++)
        MPI_Recv_init(lap->recv + (size_t)m * lap->recv_step, lap->count,
                      lap->type, lap->peer, MGDS_BENCH_TAG_DATA, lap->comm,
                      &lap->requests[m]);
    return lap->messages;
}

static void run_all(const struct mgds_bench_lap *lap)
{
    MPI_Startall(lap->messages, lap->requests);
    MPI_Waitall(lap->messages, lap->requests, lap->statuses);
}

static void send_window(const struct mgds_bench_lap *lap)
{
    run_all(lap);
    MPI_Recv(lap->answer, 1, MPI_UINT64_T, lap->peer, MGDS_BENCH_TAG_ANSWER,
             lap->comm, MPI_STATUS_IGNORE);
}

static void receive_window(const struct mgds_bench_lap *lap)
{
    run_all(lap);
    MPI_Send(lap->answer, 1, MPI_UINT64_T, lap->peer, MGDS_BENCH_TAG_ANSWER,
             lap->comm);
}

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_bw_persistent",
                 .title = "OSU MPI%s Persistent Bandwidth Test",
                 .letters = MGDS_BENCH_LETTERS "W",
                 .metric = MGDS_BENCH_BANDWIDTH,
                 .counts = {100, 10, 20, 2}},
        .traffic = MGDS_BENCH_FIRST_SENDS,
        .two_ranks = true,
        .first_make = make_sends,
        .second_make = make_receives,
        .first = send_window,
        .second = receive_window,
        .value = mgds_bench_one_way_rate,
    };

    return mgds_bench_main(argc, argv, &program);
}
