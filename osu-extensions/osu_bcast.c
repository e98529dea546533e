/* One rank's block, at all of them. */
#include "osu-extensions/collective.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_bcast",
                 .title = "OSU MPI%s Broadcast Latency Test",
                 .letters = "hvmixMcudTIz",
                 .metric = MGDS_BENCH_LATENCY,
                 .counts = {1000, 200, 100, 10},
                 .collective = true},
        .traffic = MGDS_BENCH_BOTH_SEND,
        .ways = mgds_bench_collective_ways,
        .collective = &mgds_bench_bcast,
        .value = mgds_bench_whole,
    };

    return mgds_bench_main(argc, argv, &program);
}
