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
 * tested by later calls until it is done. One is tested by one thread at a
 * time, and stays in the list meanwhile, for who waits for all of a
 * communicator. An error handler that jumps out of the test leaves it behind:
 * it is over, and nobody waits for it.
 *
 * The MPI below gives a handle to another thread as soon as it has completed or
 * freed the request, which is before its call returns to us. So:
 *
 *   GREQ        is off the table before the handle goes: MPI's free function
 *               takes it off
 *   PERSISTENT  is off the table before Request_free is forwarded, and comes
 *               back if that fails; completion keeps the handle
 *   SEND        stays while a completion call is forwarded, which may not
 *               complete it, and carries a serial: what is done to it after
 *               the call is done to the entry that was there before the call,
 *               or not at all
 *
 * A handle that is added again was therefore completed by another thread that
 * has not come back from the call yet, or by a call that we did not see, or is
 * one MPICH gives to all sends that are complete at once; in all three cases
 * the older entry is done, and goes.
 *
 * Concurrency. The table is under staged_lock (LEAF), never held across MPI or
 * CUDA. What an entry holds belongs to the thread in the call that was given
 * the request: MPI forbids two at a time.
 */
#ifndef MGDS_PMPI_STAGED_H
#define MGDS_PMPI_STAGED_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

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
    uint64_t serial;          /* given by add, to one entry only */
    struct mgds_staged *next; /* in the table, or among orphans */
    const void *tested;       /* an orphan: by which thread; NULL by none */
};

/* What the table has of a handle. */
struct mgds_staged_seen {
    enum mgds_staged_kind kind; /* 0: not ours */
    struct mgds_staged *staged; /* PERSISTENT, GREQ; NULL for a SEND, which
                                   another thread's add may end at any time */
    uint64_t serial;
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

/* How many entries this thread has added. */
extern _Thread_local unsigned mgds_staged_added
    __attribute__((visibility("hidden")));

/* Before a call is forwarded: what is behind the handle. */
struct mgds_staged_seen mgds_staged_look(MPI_Request handle);

/* After it: is that entry still there? */
bool mgds_staged_still(MPI_Request handle, uint64_t serial);

/* The entry of a PERSISTENT or GREQ, else NULL. */
struct mgds_staged *mgds_staged_find(MPI_Request handle);

/* Takes a SEND off the table: the caller owns it. NULL if that entry, which
 * look has seen, is gone. */
struct mgds_staged *mgds_staged_take_send(MPI_Request handle, uint64_t serial);

/* Takes a PERSISTENT or GREQ off the table: the caller owns it. */
void mgds_staged_remove(struct mgds_staged *staged);

/* Makes an orphan of an entry that was taken off. */
void mgds_staged_orphan(struct mgds_staged *staged);

/* Tests the orphans once. Any thread; not inside a callback of MPI. */
void mgds_staged_orphans_poll(void);

/* Waits for the orphans of a communicator, and for those that do not say whose
 * they are (receives of matched probes). Where they poll. */
void mgds_staged_orphans_wait(MPI_Comm comm);

/* Before the MPI below is finalized: gives orphans a while to be done, then
 * lets go of all that is left. */
void mgds_staged_fini(void);

#endif
