/* Ping-pong in stream order, enqueued ahead; half of a round trip. */
#include "osu-extensions/enqueued.h"

#include "osu-extensions/pingpong.h"
#include "osu-extensions/way.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_latency_enqueue",
                 .title = "OSU MPI%s Enqueued Latency Test",
                 .letters = MGDS_BENCH_LETTERS,
                 .metric = MGDS_BENCH_LATENCY,
                 .counts = {10000, 100, 1000, 10},
                 .enqueued = true},
        .ways = mgds_bench_ways,
        .traffic = MGDS_BENCH_BOTH_SEND,
        .two_ranks = true,
        .first = mgds_bench_enqueue_ping,
        .second = mgds_bench_enqueue_pong,
        .value = mgds_bench_one_way,
    };

    return mgds_bench_main(argc, argv, &program);
}
