/* Ping-pong by persistent requests; half of a round trip is the latency. */
#include "osu-extensions/pingpong.h"

/* One to send, one to receive. */
static int make(const struct mgds_bench_lap *lap)
{
    MPI_Send_init(lap->send, lap->count, lap->type, lap->peer,
                  MGDS_BENCH_TAG_DATA, lap->comm, &lap->requests[0]);
    MPI_Recv_init(lap->recv, lap->count, lap->type, lap->peer,
                  MGDS_BENCH_TAG_DATA, lap->comm, &lap->requests[1]);
    return 2;
}

static void run(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static void ping(const struct mgds_bench_lap *lap)
{
    run(&lap->requests[0]);
    run(&lap->requests[1]);
}

static void pong(const struct mgds_bench_lap *lap)
{
    run(&lap->requests[1]);
    run(&lap->requests[0]);
}

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_latency_persistent",
                 .title = "OSU MPI%s Persistent Latency Test",
                 .letters = MGDS_BENCH_LETTERS,
                 .metric = MGDS_BENCH_LATENCY,
                 .counts = {10000, 100, 1000, 10}},
        .traffic = MGDS_BENCH_BOTH_SEND,
        .two_ranks = true,
        .first_make = make,
        .second_make = make,
        .first = ping,
        .second = pong,
        .value = mgds_bench_one_way,
    };

    return mgds_bench_main(argc, argv, &program);
}
