/*
 * Collectives: every rank is timed, and a row is the mean over them. What a
 * rank sends in an iteration, and what it is to receive, are functions of its
 * number, so that every byte is checked, as between pairs. Touches MPI, and for
 * a rival the stream of the open GPU.
 */
#ifndef MGDS_BENCH_COLLECTIVE_H
#define MGDS_BENCH_COLLECTIVE_H

#include "osu-extensions/batch.h"

/* Of a batch, one iteration as one rank sees it. */
struct mgds_bench_place {
    const struct mgds_bench_batch *batch;
    int rank;
    int ranks;
    size_t lap;
    size_t bytes; /* the row's size */
};

struct mgds_bench_collective {
    /* What the rank sends; the bytes of it. */
    size_t (*sent)(const struct mgds_bench_place *place, char *out);
    /* What it receives, by what all ranks send; the bytes of it, 0: nothing. */
    size_t (*received)(const struct mgds_bench_place *place, char *out);
    void (*mpi)(const struct mgds_bench_lap *lap);
    void (*nccl)(const struct mgds_bench_lap *lap);
};

extern const struct mgds_bench_collective mgds_bench_allreduce;
extern const struct mgds_bench_collective mgds_bench_alltoall;
extern const struct mgds_bench_collective mgds_bench_allgather;
extern const struct mgds_bench_collective mgds_bench_bcast;

/* MPI, and NCCL beside it. */
extern const struct mgds_bench_way *const mgds_bench_collective_ways[];

/* Microseconds of an iteration. */
double mgds_bench_whole(const struct mgds_bench_shape *shape, double seconds);

/* Those of batch.h, for programs with a collective. */
int mgds_bench_collective_prepare(struct mgds_bench_end *end,
                                  const struct mgds_bench_batch *batch);
int mgds_bench_collective_run(struct mgds_bench_end *end,
                              const struct mgds_bench_batch *batch,
                              struct mgds_bench_lap *lap);
int mgds_bench_collective_check(struct mgds_bench_end *end,
                                const struct mgds_bench_batch *batch,
                                struct mgds_bench_wrong *wrong);

#endif
