/*
 * The core that all benchmarks share. A benchmark is a table of callbacks;
 * mgds_bench_main does the rest: options, ranks, buffers, timing, checking,
 * text and JSON.
 */
#ifndef MGDS_BENCH_H
#define MGDS_BENCH_H

#include <mpi.h>
#include <stdint.h>

#include "osu-extensions/options.h"

/* Tags: messages, and what a receiver answers to a window of them. */
#define MGDS_BENCH_TAG_DATA 1
#define MGDS_BENCH_TAG_ANSWER 2

struct mgds_bench_way;
struct mgds_bench_lane;

/*
 * One iteration as its two ranks see it: `messages` messages each way that
 * the benchmark uses, message m at send + m * send_step or recv + m *
 * recv_step, all counted in `type`. `answer` is one word to or from the
 * other rank, checked like the messages. `requests` and `statuses` have room
 * for all.
 */
struct mgds_bench_lap {
    MPI_Comm comm;
    const struct mgds_bench_way *way; /* of enqueued programs: way.h */
    struct mgds_bench_lane *lane;
    int peer;
    MPI_Datatype type;
    int count;
    int messages;
    char *send;
    size_t send_step;
    char *recv;
    size_t recv_step;
    uint64_t *answer;
    /* For ways that are not MPI: */
    bool receives;
    size_t bytes;      /* of a message */
    size_t number;     /* of the iteration in its batch */
    char *places;      /* where the batch's received messages begin, and how */
    size_t place_step; /* far apart they are, at the peer alike */
    MPI_Request *requests;
    MPI_Status *statuses;
};

/* What a formula may use. */
struct mgds_bench_shape {
    size_t bytes; /* that travel in one message */
    int messages;
    int pairs;
};

/* Which rank of a pair sends and receives messages. */
#define MGDS_BENCH_FIRST_SENDS 1u
#define MGDS_BENCH_SECOND_SENDS 2u
#define MGDS_BENCH_BOTH_SEND 3u

struct mgds_bench_collective;

struct mgds_bench_program {
    struct mgds_bench_spec spec;
    unsigned traffic;
    bool two_ranks; /* exactly; else any number of pairs */
    /* A program that enqueues, and a collective that has rivals, names ways of
     * way.h; others have NULL. */
    const struct mgds_bench_way *const *ways;
    /* collective.h: what takes the place of first and second, or NULL. */
    const struct mgds_bench_collective *collective;
    bool by_cpu; /* enqueued: seconds are the caller's CPU time, not time */
    /* Makes the persistent requests of an iteration, in lap->requests, and
     * returns how many; ahead of a batch, which frees them. NULL: none. */
    int (*first_make)(const struct mgds_bench_lap *lap);
    int (*second_make)(const struct mgds_bench_lap *lap);
    /* One iteration; the first rank's is timed. MPI errors are fatal. */
    void (*first)(const struct mgds_bench_lap *lap);
    void (*second)(const struct mgds_bench_lap *lap);
    /* The reported number from the seconds of one iteration. */
    double (*value)(const struct mgds_bench_shape *shape, double seconds);
};

/* Everything; the exit status: 0 done, 1 wrong data, 2 bad usage. */
int mgds_bench_main(int argc, char **argv,
                    const struct mgds_bench_program *program);

#endif
