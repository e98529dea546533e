/*
 * Libraries that send and receive in the order of a GPU stream, each a row of
 * one table (way.c). Callbacks of enqueued benchmarks see nothing else of them.
 */
#ifndef MGDS_BENCH_WAY_H
#define MGDS_BENCH_WAY_H

#include "osu-extensions/bench.h"

/* What a way keeps of its stream and its peers; each way defines its own. */
struct mgds_bench_lane;

/*
 * send and recv let the stream wait; start_send and start_recv do not, `index`
 * numbers them from 0 within an iteration, and complete lets the stream wait
 * for the first `count`. Answers are one word at lap->answer. None of them
 * makes the host wait. Errors are fatal.
 */
struct mgds_bench_way {
    const char *name;
    /* Collective over comm, whose ranks all have a native stream. Returns 0
     * or negative errno, undone by close. */
    int (*open)(struct mgds_bench_lane **out, MPI_Comm comm, void *stream);
    void (*close)(struct mgds_bench_lane *lane);
    void (*send)(const struct mgds_bench_lap *lap, const void *at);
    void (*recv)(const struct mgds_bench_lap *lap, void *at);
    void (*start_send)(const struct mgds_bench_lap *lap, const void *at,
                       int index);
    void (*start_recv)(const struct mgds_bench_lap *lap, void *at, int index);
    void (*complete)(const struct mgds_bench_lap *lap, int count);
    void (*send_answer)(const struct mgds_bench_lap *lap);
    void (*recv_answer)(const struct mgds_bench_lap *lap);
};

/* MPICH's calls, MPIX_Send_enqueue and its kin. */
extern const struct mgds_bench_way mgds_bench_way_mpix;

/* All of them; NULL ends the table. */
extern const struct mgds_bench_way *const mgds_bench_ways[];

#endif
