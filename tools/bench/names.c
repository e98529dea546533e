/* The benchmarks of osu-extensions/, as docs/benchmarks.md has them. */
#include "tools/bench/names.h"

#include <stdio.h>
#include <string.h>

/* Of "osu_", which every name begins with. */
enum { PREFIX_BYTES = 4 };

const struct mgds_bench_name mgds_bench_names[] = {
    {"osu_latency", "2", "one message there, one back", false},
    {"osu_multi_lat", "2 p", "the same, p pairs at once", false},
    {"osu_bw", "2", "a window of messages one way", false},
    {"osu_bibw", "2", "a window of messages each way", false},
    {"osu_mbw_mr", "2 p", "as osu_bw, p pairs at once; message rate", false},
    {"osu_latency_persistent", "2", "as osu_latency, by persistent requests",
     false},
    {"osu_bw_persistent", "2", "as osu_bw, by persistent requests", false},
    {"osu_allgather", "n", "each rank's block, at all of them", false},
    {"osu_allreduce", "n", "the sum of what all ranks have", false},
    {"osu_alltoall", "n", "a block from each rank to each", false},
    {"osu_bcast", "n", "one rank's block, at all of them", false},
    {"osu_latency_enqueue", "2", "as osu_latency, in stream order", true},
    {"osu_bw_enqueue", "2", "as osu_bw, in stream order", true},
    {"osu_bibw_enqueue", "2", "as osu_bibw, in stream order", true},
    {"osu_mbw_mr_enqueue", "2 p", "as osu_mbw_mr, in stream order", true},
    {"osu_enqueue_cost", "2", "CPU time of an enqueued call", true},
    {"osu_halo_enqueue", "n", "a program's step: kernel, halo exchange", true},
    {NULL, NULL, NULL, false},
};

const struct mgds_bench_name *mgds_bench_find(const char *name)
{
    for (const struct mgds_bench_name *row = mgds_bench_names; row->file; row++)
        if (strcmp(name, row->file) == 0 ||
            strcmp(name, row->file + PREFIX_BYTES) == 0)
            return row;
    return NULL;
}

void mgds_bench_list(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (const struct mgds_bench_name *row = mgds_bench_names;
         row->file && used < size; row++)
        used += (size_t)snprintf(text + used, size - used, "%s%s",
                                 used ? ", " : "", row->file);
}
