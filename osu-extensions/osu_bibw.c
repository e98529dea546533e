/* Windows of messages both ways at once. */
#include "osu-extensions/window.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_bibw",
                 .title = "OSU MPI%s Bi-Directional Bandwidth Test",
                 .letters = MGDS_BENCH_LETTERS "W",
                 .metric = MGDS_BENCH_BANDWIDTH,
                 .counts = {100, 10, 20, 2}},
        .traffic = MGDS_BENCH_BOTH_SEND,
        .two_ranks = true,
        .first = mgds_bench_window_exchange,
        .second = mgds_bench_window_exchange,
        .value = mgds_bench_both_ways_rate,
    };

    return mgds_bench_main(argc, argv, &program);
}
