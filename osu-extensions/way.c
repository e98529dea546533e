/* The table of ways. */
#include "osu-extensions/way.h"

#include <stddef.h>

const struct mgds_bench_way *const mgds_bench_ways[] = {
    &mgds_bench_way_mpix,
    NULL,
};
