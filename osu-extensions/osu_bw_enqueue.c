/* Windows of messages from one stream to another. */
#include "osu-extensions/enqueued.h"

#include "osu-extensions/window.h"
#include "osu-extensions/way.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_bw_enqueue",
                 .title = "OSU MPI%s Enqueued Bandwidth Test",
                 .letters = MGDS_BENCH_LETTERS "W",
                 .metric = MGDS_BENCH_BANDWIDTH,
                 .counts = {100, 10, 20, 2},
                 .enqueued = true},
        .ways = mgds_bench_ways,
        .traffic = MGDS_BENCH_FIRST_SENDS,
        .two_ranks = true,
        .first = mgds_bench_enqueue_window_send,
        .second = mgds_bench_enqueue_window_recv,
        .value = mgds_bench_one_way_rate,
    };

    return mgds_bench_main(argc, argv, &program);
}
