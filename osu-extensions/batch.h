/* A batch of iterations: filled, run and checked (see plan.h). */
#ifndef MGDS_BENCH_BATCH_H
#define MGDS_BENCH_BATCH_H

#include <stdbool.h>

#include "osu-extensions/bench.h"
#include "osu-extensions/memory.h"
#include "osu-extensions/plan.h"
#include "osu-extensions/types.h"

#define MGDS_BENCH_FIRST 0
#define MGDS_BENCH_SECOND 1

#define MGDS_BENCH_TRACKS_MAX (1 + MGDS_BENCH_RIVALS)

/* A way that is measured, or why it is not (tracks.h). */
struct mgds_bench_track {
    const struct mgds_bench_way *way;
    struct mgds_bench_lane *lane;  /* NULL: left out */
    struct mgds_bench_buffer send; /* of its own, or those of the program */
    struct mgds_bench_buffer recv;
    struct mgds_bench_buffer answer;
    char why[256]; /* left out, on rank 0 */
    char version[32];
};

/* This rank's end of a pair of ranks. */
struct mgds_bench_end {
    const struct mgds_bench_program *program;
    MPI_Comm comm; /* of all pairs */
    int rank;
    int peer;
    int pairs;
    int role; /* MGDS_BENCH_FIRST or _SECOND */
    bool sends;
    bool receives;
    struct mgds_bench_buffer send;
    struct mgds_bench_buffer recv;
    struct mgds_bench_buffer answer; /* one word an iteration of a batch */
    double *seconds;                 /* likewise; of the first rank */
    MPI_Request *requests; /* both ways of one iteration; persistent ones: of
                              all of a batch */
    int made;              /* persistent requests of an iteration */
    MPI_Status *statuses;
    double *samples; /* one a timed iteration of a row */
    /* Of programs that enqueue; the track in use: */
    struct mgds_bench_queue *queue;
    const struct mgds_bench_way *way;
    struct mgds_bench_lane *lane;
    bool synced;
    struct mgds_bench_track tracks[MGDS_BENCH_TRACKS_MAX];
    int tracks_count;
    double cpu_thread;  /* seconds an iteration, of the last batch */
    double cpu_process; /* likewise, of all threads */
};

struct mgds_bench_batch {
    const struct mgds_bench_plan *plan;
    const struct mgds_bench_datatype *datatype;
    uint64_t row;    /* number of the row, and of the batch in it: */
    uint64_t number; /* they choose the pattern */
    size_t laps;     /* untimed ones included */
    bool held;       /* enqueued: before any of it runs */
    bool first;      /* enqueued: of a row, one iteration, not counted */
};

/* The first wrong byte of a message. */
struct mgds_bench_wrong {
    size_t lap; /* of the batch */
    size_t message;
    size_t offset; /* in the message, gaps counted */
    bool answer;   /* in the answer to a window */
    int from;
    unsigned char expected;
    unsigned char got;
};

/* Fills what is sent and poisons what is received; 0 or -errno. */
int mgds_bench_batch_prepare(struct mgds_bench_end *end,
                             const struct mgds_bench_batch *batch);

/* Runs the iterations; end->seconds[i] is what iteration i took. 0 or -errno.
 */
int mgds_bench_batch_run(struct mgds_bench_end *end,
                         const struct mgds_bench_batch *batch);

/* Wrong messages, the first of them in *wrong; or -errno. */
int mgds_bench_batch_check(struct mgds_bench_end *end,
                           const struct mgds_bench_batch *batch,
                           struct mgds_bench_wrong *wrong);

#endif
