/*
 * How one row is measured. Iterations run in batches: a batch fits a small
 * buffer, every message of it has a place of its own, and all are checked
 * after it. So timed iterations run back to back, and none goes unchecked.
 * Plain arithmetic, no MPI.
 */
#ifndef MGDS_BENCH_PLAN_H
#define MGDS_BENCH_PLAN_H

#include "osu-extensions/layout.h"
#include "osu-extensions/options.h"

#define MGDS_BENCH_BATCH_BYTES 65536
#define MGDS_BENCH_BATCH_LAPS 64
/* The same of programs that enqueue. */
#define MGDS_BENCH_QUEUE_BYTES ((size_t)64 << 20)
#define MGDS_BENCH_QUEUE_MESSAGES 64
/* Calls that a held stream is given. It takes about 1020 operations, and a
 * call may be several of them; beyond that the call blocks until others run. */
#define MGDS_BENCH_QUEUE_CALLS 160
/* Watched bytes behind every received message. */
#define MGDS_BENCH_GUARD 64

struct mgds_bench_plan {
    size_t size; /* as asked for and printed */
    enum mgds_bench_type type;
    struct mgds_bench_layout layout;
    int messages;      /* an iteration */
    size_t laps;       /* iterations of a batch that may be timed */
    size_t untimed;    /* iterations ahead of them */
    size_t iterations; /* timed ones of the row */
    size_t warmup;     /* ones before */
    bool held;         /* enqueued: a batch fits a stream that is held */
    /*
     * Received messages are recv_step apart. Sent ones are send_step apart
     * in one stream of bytes: as far (-b multiple), or so near that they
     * share nearly all memory and still differ.
     */
    size_t recv_step;
    size_t send_step;
    size_t send_bytes; /* of a batch */
    size_t recv_bytes;
};

/* Of a collective, all that a rank sends in an iteration, and receives, is as
 * many blocks of that size at most as options->pairs says.
 * Returns 0, or -ENODATA if the size holds no element (to be left out). */
int mgds_bench_plan_init(struct mgds_bench_plan *plan,
                         const struct mgds_bench_options *options,
                         enum mgds_bench_type type, size_t size, int messages);

/* All iterations of a batch; the row is complete after this many timed. */
size_t mgds_bench_plan_batch(const struct mgds_bench_plan *plan);

/* The size after this one: it doubles, from 0 to 1. */
size_t mgds_bench_size_next(size_t size);

#endif
