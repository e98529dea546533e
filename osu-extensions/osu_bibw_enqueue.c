/* Windows of messages both ways between two streams. */
#include "osu-extensions/enqueued.h"

#include "osu-extensions/window.h"
#include "osu-extensions/way.h"

int main(int argc, char **argv)
{
    static const struct mgds_bench_program program = {
        .spec = {.name = "osu_bibw_enqueue",
                 .title = "OSU MPI%s Enqueued Bi-Directional Bandwidth Test",
                 .letters = MGDS_BENCH_LETTERS "W",
                 .metric = MGDS_BENCH_BANDWIDTH,
                 .counts = {100, 10, 20, 2},
                 .enqueued = true},
        .ways = mgds_bench_ways,
        .traffic = MGDS_BENCH_BOTH_SEND,
        .two_ranks = true,
        .first = mgds_bench_enqueue_window_exchange,
        .second = mgds_bench_enqueue_window_exchange,
        .value = mgds_bench_both_ways_rate,
    };

    return mgds_bench_main(argc, argv, &program);
}
