/* Windows of messages from one rank to another. */
#include "osu-extensions/window.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_bw",
                 .title = "OSU MPI%s Bandwidth Test",
                 .letters = MGDS_BENCH_LETTERS "W",
                 .metric = MGDS_BENCH_BANDWIDTH,
                 .counts = {100, 10, 20, 2}},
        .traffic = MGDS_BENCH_FIRST_SENDS,
        .two_ranks = true,
        .first = mgds_bench_window_send,
        .second = mgds_bench_window_recv,
        .value = mgds_bench_one_way_rate,
    };

    return mgds_bench_main(argc, argv, &program);
}
