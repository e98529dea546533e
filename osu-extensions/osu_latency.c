/* Ping-pong between two ranks; half of a round trip is the latency. */
#include "osu-extensions/pingpong.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_latency",
                 .title = "OSU MPI%s Latency Test",
                 .letters = MGDS_BENCH_LETTERS,
                 .metric = MGDS_BENCH_LATENCY,
                 .counts = {10000, 100, 1000, 10}},
        .traffic = MGDS_BENCH_BOTH_SEND,
        .two_ranks = true,
        .first = mgds_bench_ping,
        .second = mgds_bench_pong,
        .value = mgds_bench_one_way,
    };

    return mgds_bench_main(argc, argv, &program);
}
