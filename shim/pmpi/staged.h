/*
 * Requests that have staged GPU memory behind them, by handle: what Wait, Test,
 * Start and Request_free must know of the requests they are given.
 *
 *              SEND          a request of the MPI below over a bounce
 *              PERSISTENT    the same, started again and again; also
 * partitioned GREQ          a generalized request (grequest.h)
 *
 *               add                      completion seen
 *   SEND        ----> ACTIVE -----------------------------> gone
 *   GREQ        ----> ACTIVE ---- MPI frees it -----------> gone
 *   PERSISTENT  ----> INACTIVE --start--> ACTIVE --seen--> LANDED --copies
 *                        ^                                          done--+
 *                        +------------------------------------------------+
 *
 * An ACTIVE request that the program frees becomes an *orphan*: off the table,
 * tested by later calls until it is done.
 *
 * A handle that is added again was completed by a call that we did not see, or
 * is one MPICH gives to all sends that are complete at once; in both cases the
 * older entry is done, and goes.
 *
 * Concurrency. The table is under staged_lock (LEAF), never held across MPI or
 * CUDA. What an entry holds belongs to the thread in the call that was given
 * the request: MPI forbids two at a time.
 */
#ifndef MGDS_PMPI_STAGED_H
#define MGDS_PMPI_STAGED_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/words.h"

struct mgds_staged;

enum mgds_staged_kind {
    MGDS_STAGED_SEND = 1,
    MGDS_STAGED_PERSISTENT,
    MGDS_STAGED_GREQ,
};

enum mgds_staged_state {
    MGDS_STAGED_INACTIVE = 1,
    MGDS_STAGED_ACTIVE,
    MGDS_STAGED_LANDED, /* complete below, copies up are under way */
};

struct mgds_staged_ops {
    enum mgds_staged_kind kind;
    /* PERSISTENT only. Start: copies down are done. 0 or negative errno. */
    int (*start)(struct mgds_staged *staged);
    /* Complete below with this status: queue the copies up. */
    int (*landed)(struct mgds_staged *staged, const MPI_Status *status);
    /* GREQ, PERSISTENT: 1 done, 0 not yet, or negative errno. GREQ asks below
     * as well. */
    int (*poll)(struct mgds_staged *staged);
    void (*destroy)(struct mgds_staged *staged);
};

struct mgds_staged {
    const struct mgds_staged_ops *ops;
    MPI_Request handle;
    MPI_Comm comm;
    enum mgds_staged_state state;
    struct mgds_staged *next; /* in the table, or among orphans */
};

/* How many entries and orphans there are: atomic. */
extern unsigned mgds_staged_alive;

/* Is there anything to be looked up? One load. */
static inline bool mgds_staged_any(void)
{
    return __atomic_load_n(&mgds_staged_alive, __ATOMIC_RELAXED) != 0;
}

/* The call below that made its request ended with result: from here on the
 * table owns it, with that handle, or, if the call failed, it is gone. The
 * result. */
mgds_word mgds_staged_made(struct mgds_staged *staged,
                           const MPI_Request *handle, mgds_word result);

/* From here on the table owns it. handle, comm, ops and state are set. */
void mgds_staged_add(struct mgds_staged *staged);

/*
 * The kind of a request, 0 if it is not ours; and its entry in *out, NULL for
 * a SEND: since MPICH may give one handle to several sends, another thread may
 * complete "it" at any time.
 */
enum mgds_staged_kind mgds_staged_look(struct mgds_staged **out,
                                       MPI_Request handle);

/* The entry of a PERSISTENT or GREQ, else NULL. */
struct mgds_staged *mgds_staged_find(MPI_Request handle);

/* Takes a SEND off the table: the caller owns it. NULL if there is none. */
struct mgds_staged *mgds_staged_take_send(MPI_Request handle);

/* Takes a PERSISTENT or GREQ off the table: the caller owns it. */
void mgds_staged_remove(struct mgds_staged *staged);

/* Makes an orphan of an entry that was taken off. */
void mgds_staged_orphan(struct mgds_staged *staged);

/* Tests the orphans once. Any thread; not inside a callback of MPI. */
void mgds_staged_orphans_poll(void);

/* Before the MPI below is finalized: gives orphans a while to be done, then
 * lets go of all that is left. */
void mgds_staged_fini(void);

#endif
