/*
 * Collectives inside a host, each described once and made as often as asked:
 * every member draws where its memory is and how its datatypes are spelt, and
 * knows by itself what each byte of its buffers must be afterwards.
 */
#ifndef MGDS_TESTS_DIRECT_COLL_H
#define MGDS_TESTS_DIRECT_COLL_H

#include <mpi.h>
#include <stdbool.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BLOCKS = 4, SIDES = 2 };

/* A block by its sender, and which of the sender's it is. */
struct origin {
    int rank, index;
};

/* What is given of each block by itself. */
enum { NOTHING, ITS_COUNT, ITS_TYPE, FORMS };

/* A communicator, and what comes to this member in an exchange of all with all,
 * by form: from MPI_PROC_NULL nothing comes. */
struct world {
    MPI_Comm comm;
    int rank, size;
    int sends, receives;
    struct origin from[FORMS][BLOCKS];
    int group, senders; /* this member's group, and that of its senders */
    bool neighbours, inter;
    bool unequal; /* members have more neighbours in than out, or fewer */
};

enum { WORLD, REVERSED, ALONE, INTER, RING, OPEN, GRAPH, TWICE, WORLDS };

/* Makes them all; INTER is MPI_COMM_NULL where there is but one rank. */
void make_worlds(struct world worlds[WORLDS]);
void free_worlds(struct world worlds[WORLDS]);

/* One buffer of a call in all forms that a call may want. */
struct part {
    void *at;
    int count;
    MPI_Datatype type;
    int *counts, *displs, *bytes;
    MPI_Aint *far;
    MPI_Datatype *types;
};

struct args {
    struct part send, recv;
    int root;
    MPI_Comm comm;
};

enum rooted { NO_ROOT, TO_ROOT, FROM_ROOT, ONE_BUFFER };

struct collective {
    const char *name;
    /* The nonblocking form if there is a request. */
    int (*call)(const struct args *args, MPI_Request *request);
    enum rooted rooted;
    bool one_sent;     /* the same block goes to everybody */
    bool one_received; /* each member gets a single block */
    int form;          /* what it is given of each block by itself */
    bool neighbours;
};

extern const struct collective collectives[];
extern const int collective_count;

/* Where the buffers are. */
enum placement {
    ON_DEVICE,
    ON_HOST,
    BY_RANK, /* even ranks' on the device, odd ranks' on the host */
    TO_HOST,
    FROM_HOST,
    ONE_MANAGED,
    DRAWN, /* by each member in each lap */
    PLACEMENTS
};

/* What else a lap has. */
enum { IN_PLACE = 1, UNEVEN = 2, GAPS = 4, REVERSE = 8, TYPED = 16 };

/* One call: the same at all members. */
struct lap {
    const struct collective *how;
    const struct world *world;
    unsigned seed;
    int elements; /* of the longest block, each of two integers */
    int root;
    unsigned options;
    enum placement placement;
};

/* Buffers for one call at a time. */
struct bench;
struct bench *bench_create(void);
void bench_destroy(struct bench *bench);

/* The types that elements are spelt in; before any lap. */
void make_types(void);
void free_types(void);

/* Does this communicator have that collective? */
bool fits(const struct collective *how, const struct world *world);

/* A number below the limit, the same at all members. */
int drawn_alike(unsigned seed, int limit);

/* Fills the buffers afresh; these are the arguments of the call. */
struct args *lap_begin(struct bench *bench, const struct lap *lap);

/* Ends the job if any byte is not what it must be. */
void lap_check(const struct bench *bench);

/* The same with a blocking call between them. */
void lap_run(struct bench *bench, const struct lap *lap);

#endif
