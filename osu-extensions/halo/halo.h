/*
 * One rank of the halo benchmark: its place in the grid of ranks, its field in
 * GPU memory, its stream; and the variants of the exchange, each a row of one
 * table (variants.c).
 */
#ifndef MGDS_HALO_H
#define MGDS_HALO_H

#include <mpi.h>
#include <stdbool.h>

#include "osu-extensions/halo/launch.h"
#include "osu-extensions/halo/options.h"
#include "osu-extensions/halo/shape.h"
#include "osu-extensions/memory.h"
#include "osu-extensions/world.h"

struct mgds_halo {
    struct mgds_bench_world world;  /* its communicator has no stream */
    int grid[MGDS_HALO_DIMS];       /* ranks of each dimension */
    int neighbour[MGDS_HALO_FACES]; /* MPI_PROC_NULL: none */
    unsigned neighbours;            /* bit f: face f has one */
    struct mgds_bench_queue *queue;
    void *stream; /* its handle, a CUstream */
    struct mgds_halo_launcher *launcher;
    struct mgds_bench_buffer field;
    struct mgds_bench_buffer packed_out; /* faces that are packed */
    struct mgds_bench_buffer packed_in;
    double ticks_per_us;
    /* Of the size that is measured: */
    struct mgds_halo_args args; /* field, and ticks */
    size_t bytes;               /* of a face */
};

/* The state of an open variant; each variant defines its own. */
struct mgds_halo_lane;

struct mgds_halo_variant {
    const char *name;
    const char *title;
    bool graph;     /* a whole step is captured once, then launched */
    bool alone;     /* no exchange at all: the program's own launches */
    bool unordered; /* ranks do not wait for each other */
    /* Whether it is here: 0, or negative errno with a line. NULL: always. */
    int (*find)(const struct mgds_halo_options *options, char why[256]);
    /* For the size that h has now. Collective, after find has succeeded on all
     * ranks. Returns 0, undone by close, or negative errno with a line. */
    int (*open)(struct mgds_halo_lane **out, const struct mgds_halo *h,
                char why[256]);
    void (*close)(struct mgds_halo_lane *lane);
    /* Faces to and from all neighbours, as the stream or, of the variant that
     * is not enqueued, the host gets there. Errors are fatal. */
    void (*exchange)(struct mgds_halo_lane *lane, const struct mgds_halo *h);
    void (*version)(char out[32]); /* may be NULL */
};

extern const struct mgds_halo_variant mgds_halo_alone;
extern const struct mgds_halo_variant mgds_halo_host;
extern const struct mgds_halo_variant mgds_halo_enqueued;
extern const struct mgds_halo_variant mgds_halo_group;
extern const struct mgds_halo_variant mgds_halo_startall;
extern const struct mgds_halo_variant mgds_halo_nccl;
extern const struct mgds_halo_variant mgds_halo_nccl_graph;
extern const struct mgds_halo_variant mgds_halo_copy;

#define MGDS_HALO_VARIANTS 8

/* The program alone first: others are told apart from it. */
extern const struct mgds_halo_variant
    *const mgds_halo_variants[MGDS_HALO_VARIANTS];

/* Where face f is sent from, and where that of the neighbour there is received:
 * in the field, or in the buffer of packed faces. */
char *mgds_halo_out(const struct mgds_halo *h, int f);
char *mgds_halo_in(const struct mgds_halo *h, int f);

/* Opens GPU, stream and kernels, and takes memory for faces of up to
 * options->max_size bytes. Returns 0 or negative errno with a line; the caller
 * owes fini in any case. */
int mgds_halo_init(struct mgds_halo *h, const struct mgds_halo_options *options,
                   char why[256]);
void mgds_halo_fini(struct mgds_halo *h);

/* From here on faces have `bytes`. 0, or -EINVAL: no field has such faces. */
int mgds_halo_size(struct mgds_halo *h, const struct mgds_halo_options *options,
                   size_t bytes);

/* Runs the step's kernel so often: microseconds of the shortest run, by events.
 * 0 or -EIO. */
int mgds_halo_time(struct mgds_halo *h, const struct mgds_halo_args *args,
                   int runs, double *us);

/* Ends the job with a line unless rc is 0. */
void mgds_halo_must(const struct mgds_halo *h, int rc, const char *what);

#endif
