/* Windows of messages of several pairs at once. */
#include "osu-extensions/window.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_mbw_mr",
                 .title = "OSU MPI%s Multiple Bandwidth / Message Rate Test",
                 .letters = MGDS_BENCH_LETTERS "WpVR",
                 .metric = MGDS_BENCH_RATE,
                 .counts = {100, 10, 20, 2}},
        .traffic = MGDS_BENCH_FIRST_SENDS,
        .first = mgds_bench_window_send,
        .second = mgds_bench_window_recv,
        .value = mgds_bench_one_way_rate,
    };

    return mgds_bench_main(argc, argv, &program);
}
