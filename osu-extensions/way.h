/*
 * Libraries that send and receive in the order of a GPU stream, each a row of
 * one table (way.c). Callbacks of enqueued benchmarks see nothing else of them.
 */
#ifndef MGDS_BENCH_WAY_H
#define MGDS_BENCH_WAY_H

#include "osu-extensions/bench.h"
#include "osu-extensions/memory.h"

/* What a way keeps of its stream and its peers; each way defines its own. */
struct mgds_bench_lane;

/* Where a lane is opened: on every rank of comm, all at once. */
struct mgds_bench_site {
    MPI_Comm comm;
    int rank;
    int ranks;
    int peer;
    void *stream; /* a CUstream */
    size_t heap;  /* bytes the way's own memory will be asked for */
    const struct mgds_bench_buffer *recv; /* those of the program */
    const struct mgds_bench_buffer *answer;
};

/*
 * send and recv let the stream wait; start_send and start_recv do not, `index`
 * numbers them from 0 within an iteration, and complete lets the stream wait
 * for the first `count`. Answers are one word at lap->answer. None of them
 * makes the host wait. Errors are fatal.
 */
struct mgds_bench_way {
    const char *name;  /* of --rivals, and in JSON */
    const char *title; /* in the table */
    unsigned rival;    /* MGDS_BENCH_RIVAL_; 0: what is measured, MPI */
    bool windows_only; /* has no order between streams: no ping-pong */
    /* Of its buffers; NULL: the program's own. Asked on all ranks at once,
     * for the same bytes. */
    const struct mgds_bench_memory *memory;
    /* Whether it is here. NULL: always; else 0, or negative errno with one
     * line in why. */
    int (*find)(const struct mgds_bench_options *options, char why[256]);
    /* Collective over the site's comm, after find has succeeded on all its
     * ranks. Returns 0, undone by close, or negative errno with a line. */
    int (*open)(struct mgds_bench_lane **out,
                const struct mgds_bench_site *site, char why[256]);
    void (*close)(struct mgds_bench_lane *lane);
    void (*version)(char out[32]); /* may be NULL */
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

/* Copies to the peer's memory, without any order: the wire's own bandwidth. */
extern const struct mgds_bench_way mgds_bench_way_copy;

/* NCCL's send and receive; NVSHMEM's put with signal, and wait for it. */
extern const struct mgds_bench_way mgds_bench_way_nccl;
extern const struct mgds_bench_way mgds_bench_way_nvshmem;

/* All of them, MPI first; NULL ends the table. */
extern const struct mgds_bench_way *const mgds_bench_ways[];

/* Where message `index` of an iteration lies at the peer, from the beginning
 * of its receive buffer. */
size_t mgds_bench_lap_place(const struct mgds_bench_lap *lap, int index);

#endif
