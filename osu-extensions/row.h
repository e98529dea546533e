/* One measured row of the output. */
#ifndef MGDS_BENCH_ROW_H
#define MGDS_BENCH_ROW_H

#include "osu-extensions/batch.h"
#include "osu-extensions/gpu.h"
#include "osu-extensions/stats.h"

/* The same row by another way. */
struct mgds_bench_rival {
    bool measured;
    struct mgds_bench_summary value;
    double process_us;
    double rounds[MGDS_BENCH_ROUNDS_MAX];
    bool validated;
};

struct mgds_bench_row {
    size_t size;  /* as asked for */
    size_t bytes; /* that travel in one message */
    enum mgds_bench_type type;
    int window;
    size_t iterations;
    struct mgds_bench_summary value; /* in the metric's unit */
    double tails[MGDS_BENCH_TAILS_MAX];
    double rate;       /* messages a second of all pairs */
    double process_us; /* CPU of all threads, one call (COST only) */
    struct mgds_bench_copy_cost copies; /* with --copies */
    bool validated;
    bool held; /* enqueued: all of a batch, before any of it ran */
    int rounds_count;
    double rounds[MGDS_BENCH_ROUNDS_MAX];
    struct mgds_bench_rival rivals[MGDS_BENCH_RIVALS];
};

/*
 * Runs and checks all iterations of a plan. Collective over end->comm;
 * number tells the rows of a run apart. Every rank with a wrong byte says
 * so on stderr, once a row; row->validated is the same on all ranks, the
 * figures are set on rank 0 only. Returns 0 or negative errno.
 */
int mgds_bench_row_measure(struct mgds_bench_row *row,
                           struct mgds_bench_end *end,
                           const struct mgds_bench_options *options,
                           const struct mgds_bench_plan *plan, int number);

#endif
