/*
 * What the user asked for: OSU's letters (v7.4 meanings) and ours.
 * Knows no MPI, so that it is tested without one.
 */
#ifndef MGDS_BENCH_OPTIONS_H
#define MGDS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "osu-extensions/layout.h"

/* Options of all programs; a program's own follow. */
#define MGDS_BENCH_LETTERS "hvmixMcudbDTIz"

#define MGDS_BENCH_TAILS_MAX 5
#define MGDS_BENCH_TYPES 3

#define MGDS_BENCH_ROUNDS_MAX 25

/* What an enqueued benchmark measures beside MPI, in the same run. */
#define MGDS_BENCH_RIVAL_COPY 1u
#define MGDS_BENCH_RIVAL_NCCL 2u
#define MGDS_BENCH_RIVAL_NVSHMEM 4u
#define MGDS_BENCH_RIVALS 3

enum mgds_bench_metric {
    MGDS_BENCH_LATENCY,   /* microseconds, one way */
    MGDS_BENCH_BANDWIDTH, /* 10^6 bytes a second */
    MGDS_BENCH_RATE,      /* bandwidth and messages a second */
    MGDS_BENCH_COST,      /* microseconds of CPU, one call */
};

/* Where a message lies; the letters are OSU's. */
enum mgds_bench_kind {
    MGDS_BENCH_HOST,           /* H */
    MGDS_BENCH_DEVICE,         /* D */
    MGDS_BENCH_MANAGED_HOST,   /* MH */
    MGDS_BENCH_MANAGED_DEVICE, /* MD */
};

enum mgds_bench_type {
    MGDS_BENCH_CHAR,
    MGDS_BENCH_INT,
    MGDS_BENCH_FLOAT,
};

enum mgds_bench_action {
    MGDS_BENCH_RUN,
    MGDS_BENCH_HELP,
    MGDS_BENCH_VERSION,
};

/* Iterations and warm-up for sizes up to, and above, 8192 bytes. */
struct mgds_bench_counts {
    size_t iterations;
    size_t warmup;
    size_t iterations_large;
    size_t warmup_large;
};

/* What a program is called, prints and accepts. */
struct mgds_bench_spec {
    const char *name;    /* "osu_latency" */
    const char *title;   /* "OSU MPI%s Latency Test" */
    const char *letters; /* of the option table, those it accepts */
    enum mgds_bench_metric metric;
    struct mgds_bench_counts counts;
    bool enqueued; /* in the order of a GPU stream: device memory by default */
    bool collective; /* of all ranks, not of pairs */
    bool numbers;    /* what is sent is added up: no characters */
};

struct mgds_bench_options {
    enum mgds_bench_action action;
    size_t min_size;
    size_t max_size;
    struct mgds_bench_counts counts;
    int window;
    bool vary_window;
    int pairs;           /* 0: half of the ranks; collective: all ranks */
    bool rate;           /* column of message rates */
    bool column;         /* column of validation; it happens in any case */
    int untimed;         /* exchanges ahead of each block; -1: chosen */
    bool cuda;           /* -d cuda: named in the header, as OSU does */
    bool multiple;       /* -b multiple: no two sends share memory */
    int gpu;             /* --gpu: the device of each rank; -1: by rank */
    bool copies;         /* --copies: columns of what a copy costs */
    bool enqueued;       /* as the program's spec says */
    bool collective;     /* likewise */
    bool sync;           /* --sync: the host waits for each iteration */
    const char *trigger; /* --trigger: MPIX_GDS_TRIGGER; NULL: as it is */
    unsigned rivals;     /* --rivals: those of MGDS_BENCH_RIVAL_ */
    bool rivals_auto;    /* whichever make sense */
    int rounds;          /* --rounds: a row is the median of these */
    const char *nccl;    /* --nccl, --nvshmem; NULL: where they usually are */
    const char *nvshmem;
    bool session;                 /* MPI_Session_init instead of MPI_Init */
    size_t memory_limit;          /* of all buffers of one rank, in bytes */
    enum mgds_bench_kind kind[2]; /* of the first and the second of a pair; of
                                     ranks with an even, an odd number */
    enum mgds_bench_type types[MGDS_BENCH_TYPES];
    int types_count;
    struct mgds_bench_ddt ddt;
    int tails[MGDS_BENCH_TAILS_MAX];
    int tails_count;
    const char *json; /* points into argv; NULL: none */
};

/*
 * Fills options from a command line. Returns 0, or -EINVAL with one line
 * (no newline) in why that names the option, the value and the remedy.
 * After 0 the caller owes mgds_bench_options_fini. Not thread-safe (getopt).
 */
int mgds_bench_options_init(struct mgds_bench_options *options,
                            const struct mgds_bench_spec *spec, int argc,
                            char **argv, char why[256]);
void mgds_bench_options_fini(struct mgds_bench_options *options);

/* Usage with every accepted option, from the table that parses them. */
void mgds_bench_options_help(FILE *out, const struct mgds_bench_spec *spec);

/* "H", "D", "MH" or "MD"; "MPI_CHAR", ...; bytes of one element. */
const char *mgds_bench_kind_name(enum mgds_bench_kind kind);
const char *mgds_bench_type_name(enum mgds_bench_type type);
size_t mgds_bench_type_size(enum mgds_bench_type type);

/* The row of the counts that holds for a size. */
size_t mgds_bench_iterations(const struct mgds_bench_options *o, size_t size);
size_t mgds_bench_warmup(const struct mgds_bench_options *o, size_t size);

#endif
