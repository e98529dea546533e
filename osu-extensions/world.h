/* MPI as one benchmark run needs it: started, split into pairs, ended. */
#ifndef MGDS_BENCH_WORLD_H
#define MGDS_BENCH_WORLD_H

#include "osu-extensions/batch.h"

struct mgds_bench_world {
    MPI_Session session; /* MPI_SESSION_NULL with MPI_Init */
    MPI_Comm comm;
    int rank;
    int ranks;
};

/* Starts MPI, with a session of its own if asked to. Errors are fatal. */
void mgds_bench_world_init(struct mgds_bench_world *world, bool session,
                           int *argc, char ***argv);
void mgds_bench_world_fini(struct mgds_bench_world *world);

/* MGDS_BENCH_FIRST or _SECOND with that many pairs; -1 for a rank that has
   nothing to do. */
int mgds_bench_world_role(const struct mgds_bench_world *world, int pairs);

/* Where the buffers of a rank lie that has a role. */
enum mgds_bench_kind
mgds_bench_world_kind(const struct mgds_bench_world *world,
                      const struct mgds_bench_options *options, int pairs);

/* This rank among those that share memory with it. Collective. */
int mgds_bench_world_local_rank(const struct mgds_bench_world *world);

/* The lowest rank for which rc is negative, or -1; everybody gets its line.
 * Collective. */
int mgds_bench_world_worst(const struct mgds_bench_world *world, int rc,
                           char why[256]);

/* The most that any row of a run needs. */
struct mgds_bench_need {
    size_t send_bytes;
    size_t recv_bytes;
    size_t laps;
    size_t messages;   /* an iteration */
    size_t iterations; /* timed ones of a row */
};

/*
 * This rank's end of its pair, with room for what any row needs. Rank
 * r < pairs is first, r + pairs its partner; ranks beyond get rank -1 and
 * have nothing to do. Collective. Returns 0 or negative errno, the same on
 * all ranks; after 0 the caller owes fini.
 */
int mgds_bench_end_init(struct mgds_bench_end *end,
                        const struct mgds_bench_world *world,
                        const struct mgds_bench_program *program,
                        const struct mgds_bench_options *options,
                        const struct mgds_bench_need *need);
void mgds_bench_end_fini(struct mgds_bench_end *end);

#endif
