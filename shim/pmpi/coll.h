/*
 * Collectives on GPU memory. One body serves them all. Within a host a blocking
 * one may go as messages of its own (coll_agree.h says when). Else the body
 * finds the buffers of a call by coll_table.def, lets bounce buffers stand for
 * those that are GPU memory, and calls the MPI below, which so sees a
 * collective on host memory, whatever the other ranks do with theirs.
 *
 *   words --coll_plan--> parts --coll_stage--> bounces, new words
 *                                  copies down, call below, copies up
 *
 * Who reads what: every rank decides for itself, by the arguments that are
 * significant there; nothing is agreed on between ranks, no message is added.
 *
 * A call that cannot be staged (freed GPU memory, no memory) fails on its rank
 * before the MPI below is called, through the communicator's error handler. As
 * after any error of one rank in a collective, the others may wait for ever
 * unless that handler ends the job, as the default one does.
 */
#ifndef MGDS_PMPI_COLL_H
#define MGDS_PMPI_COLL_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/calls.h"
#include "shim/pmpi/words.h"

/* No such argument. */
#define MGDS_COLL_NONE 0xff

/* coll_table.def says what the names mean. */
enum mgds_coll_shape {
    MGDS_COLL_BLOCKS,
    MGDS_COLL_COUNTS,
    MGDS_COLL_MINE,
    MGDS_COLL_LIST,
    MGDS_COLL_TYPES,
    MGDS_COLL_ATYPES
};
enum mgds_coll_many {
    MGDS_COLL_ONE,
    MGDS_COLL_GROUP,
    MGDS_COLL_LOCAL,
    MGDS_COLL_OUT,
    MGDS_COLL_IN
};
enum mgds_coll_who {
    MGDS_COLL_ALL,
    MGDS_COLL_ROOT,
    MGDS_COLL_LEAF,
    MGDS_COLL_OTHERS,
    MGDS_COLL_NOT_FIRST
};
enum mgds_coll_in_place {
    MGDS_COLL_WHOLE,
    MGDS_COLL_OWN,
    MGDS_COLL_ALIKE,
    MGDS_COLL_ADDED
};

struct mgds_coll_side {
    unsigned char shape, many, who;
    unsigned char addr, count, displs, type; /* word index */
};

/* The rows of the table. */
enum mgds_coll_row_id {
#define MGDS_COLL(name, lower, root, comm, send, recv, in_place)               \
    MGDS_COLL_ROW_##name,
#define MGDS_REDUCTION MGDS_COLL
#define MGDS_REDUCTION_LOCAL MGDS_COLL
#include "shim/pmpi/coll_table.def"
#undef MGDS_COLL
#undef MGDS_REDUCTION
#undef MGDS_REDUCTION_LOCAL
    MGDS_COLL_ROWS
};

struct mgds_coll_row {
    unsigned char id;         /* enum mgds_coll_row_id */
    unsigned char root, comm; /* word index */
    struct mgds_coll_side send, recv;
    unsigned char in_place;
    bool reduces; /* has an operation: the type must reach it as it is */
};

enum mgds_coll_kind {
    MGDS_COLL_NOT, /* no collective, or one without buffers */
    MGDS_COLL_BLOCKING,
    MGDS_COLL_NONBLOCKING,
    MGDS_COLL_PERSISTENT
};

struct mgds_coll_call {
    const struct mgds_coll_row *row;
    enum mgds_coll_kind kind;
    bool large; /* counts are MPI_Count, displacements MPI_Aint */
};

extern const struct mgds_coll_call mgds_coll_calls[MGDS_CALLS];

/* The most words a collective has. */
enum { MGDS_COLL_WORDS = 11 };

/* What must be known of the communicator of a call. */
struct mgds_coll_facts {
    int rank, size;
    int remote;  /* size of the remote group; 0: intracommunicator */
    int in, out; /* degrees of the process topology, 0 without */
    bool gaps;   /* some neighbours are MPI_PROC_NULL: their blocks stay */
};

/* Asks the MPI below what row needs to know. MPI_SUCCESS, or an error that the
 * error handler has seen already. */
int mgds_coll_ask(struct mgds_coll_facts *facts,
                  const struct mgds_coll_row *row, mgds_word comm);

/* The ranks that a neighbourhood collective receives from, facts->in of them,
 * and sends to, facts->out. As mgds_coll_ask, which has filled the facts. */
int mgds_coll_neighbors(int *sources, int *dests,
                        const struct mgds_coll_facts *facts, MPI_Comm comm);

/* Which elements of a buffer. */
enum mgds_coll_range {
    MGDS_COLL_NOTHING,
    MGDS_COLL_ALL_OF_IT,
    MGDS_COLL_OWN_BLOCK,  /* that of this rank */
    MGDS_COLL_FIRST_BLOCK /* as long as that of this rank, at the start */
};

/* A buffer of a call on this rank. */
struct mgds_coll_part {
    struct mgds_coll_side side;
    int many;
    enum mgds_coll_range down; /* what the MPI below reads */
    enum mgds_coll_range up;   /* what it writes */
};

enum { MGDS_COLL_PARTS = 2 };

/* Which buffers mean something on this rank, and in which direction. Returns
 * how many parts were filled. Looks at no buffer. */
int mgds_coll_plan(struct mgds_coll_part parts[MGDS_COLL_PARTS],
                   const struct mgds_coll_row *row,
                   const struct mgds_coll_facts *facts, const mgds_word *words);

/* The body: n words of the call. */
mgds_word mgds_coll_run(enum mgds_call id, unsigned n, const mgds_word *words);

#endif
