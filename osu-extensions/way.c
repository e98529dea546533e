/* The table of ways. */
#include "osu-extensions/way.h"

#include <stddef.h>

const struct mgds_bench_way *const mgds_bench_ways[] = {
    &mgds_bench_way_mpix,
    &mgds_bench_way_copy,
    &mgds_bench_way_nccl,
    &mgds_bench_way_nvshmem,
    NULL,
};

size_t mgds_bench_lap_place(const struct mgds_bench_lap *lap, int index)
{
    size_t messages = (size_t)lap->messages;

    return (lap->number * messages + (size_t)index % messages) *
           lap->place_step;
}
