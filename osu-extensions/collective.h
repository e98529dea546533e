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
    /* Stores what the rank sends; returns the bytes of it. */
    size_t (*sent)(const struct mgds_bench_place *place, char *out);
    /* Stores what the rank receives, by what all ranks send; returns the bytes
     * of it, or 0: the rank receives nothing. */
    size_t (*received)(const struct mgds_bench_place *place, char *out);
    void (*mpi)(const struct mgds_bench_lap *lap);
    void (*nccl)(const struct mgds_bench_lap *lap);
    bool numbers; /* what is sent is added up */
};

extern const struct mgds_bench_collective mgds_bench_allreduce;
extern const struct mgds_bench_collective mgds_bench_alltoall;
extern const struct mgds_bench_collective mgds_bench_allgather;
extern const struct mgds_bench_collective mgds_bench_bcast;

/* The program of one of them, with NCCL beside it; the exit status is that of
 * mgds_bench_main. The texts are constant. */
int mgds_bench_collective_main(int argc, char **argv, const char *name,
                               const char *title,
                               const struct mgds_bench_collective *collective);

/* For programs with a collective these functions are what those of the same
 * names in batch.h are for others. */
int mgds_bench_collective_prepare(struct mgds_bench_end *end,
                                  const struct mgds_bench_batch *batch);
int mgds_bench_collective_run(struct mgds_bench_end *end,
                              const struct mgds_bench_batch *batch,
                              struct mgds_bench_lap *lap);
int mgds_bench_collective_check(struct mgds_bench_end *end,
                                const struct mgds_bench_batch *batch,
                                struct mgds_bench_wrong *wrong);

#endif
