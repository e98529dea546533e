/*
 * A request that we have something behind: its bounce, or an operation of our
 * own. Whatever its kind, it is one record, in one state (request_state.h).
 *
 *   SEND         a request of the MPI below over a bounce
 *   PERSISTENT   the same, started again and again; also partitioned, and
 *                collective
 *   GENERALIZED  a generalized request (grequest.h) around a request below, or
 *                around an operation of our own; one with a handle of our own
 *                (hostreq.h) has it made when a call of MPI needs it
 *   TEMPLATE     a persistent one of a stream communicator (stream_persist.h):
 *                each start makes a GENERALIZED one, which stands for it in
 *                MPI's completion calls
 *
 * A kind of operation has its own record, whose first member is the request,
 * and a table of functions. The record is counted; when its last reference has
 * gone, what is behind it is given back, and then the record.
 *
 * Concurrency. State, status and what is behind it belong
 *   SEND, PERSISTENT, TEMPLATE
 *                     to the thread in the call that was given the request: MPI
 *                     forbids two at a time
 *   GENERALIZED       to the thread that has claimed it (one atomic word)
 *   an orphan         to the thread that tests it (request_table.h)
 * No lock is held while MPI or CUDA is called.
 */
#ifndef MGDS_PMPI_REQUEST_H
#define MGDS_PMPI_REQUEST_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/spares.h"
#include "shim/pmpi/request_state.h"
#include "shim/pmpi/words.h"

struct mgds_request;

enum mgds_request_kind {
    MGDS_REQUEST_IS_SEND = 1,
    MGDS_REQUEST_IS_PERSISTENT,
    MGDS_REQUEST_IS_GENERALIZED,
    MGDS_REQUEST_IS_TEMPLATE,
};

/* What is behind a request. Those of a GENERALIZED one may be called by any
 * thread, one at a time, from inside MPI: they call MPI only by its next
 * definitions (MGDS_NEXT, below.h), and never wait. */
struct mgds_request_ops {
    enum mgds_request_kind kind;
    /* Where records of this kind come from; NULL: the C library. */
    struct mgds_spares *spares;
    /* GENERALIZED: landed gains nothing by that of others at the same time. */
    bool lands_alone;
    /* PERSISTENT only. Start: queues the copies down. 0 or negative errno. */
    int (*start)(struct mgds_request *request);
    /* GENERALIZED: the operation below is complete, but perhaps what it brought
     * may not land yet. NULL: it may. Makes MPI progress. */
    bool (*may_land)(struct mgds_request *request);
    /* The operation below is complete; status is its own. Queues the copies up;
     * may correct the status of a GENERALIZED one where the application's
     * differs (MPI_ERROR says how it ended; not called if it was cancelled). 0,
     * or negative errno: that becomes the error of the operation, of a
     * GENERALIZED one once poll says that it is over. */
    int (*landed)(struct mgds_request *request, MPI_Status *status);
    /* The queued copies (and whatever else must be): 1 done, 0 not yet, or
     * negative errno, and all is over. */
    int (*poll)(struct mgds_request *request);
    /* After landed: whether it copies from another process's memory, which
     * waits for that. NULL: it never does. */
    bool (*pulls)(const struct mgds_request *request);
    /* GENERALIZED, after a step that finds the operation below not complete.
     * True: the request does not wait for it any more, and has given it (below)
     * to somebody else; landed is called as if it were complete. Or NULL. */
    bool (*overtake)(struct mgds_request *request);
    /* SEND: whether the operation below cannot be over yet, so that an orphan
     * need not ask MPI. NULL: it can. */
    bool (*idle)(const struct mgds_request *request);
    /* PERSISTENT: makes the status of the operation below, which was landed
     * before, say what landed has made of the first one. Or NULL. */
    void (*correct)(const struct mgds_request *request, MPI_Status *status);
    /* Gives back what is behind it, but not the record. Once; perhaps without
     * landed, or after less. */
    void (*release)(struct mgds_request *request);
    /* GENERALIZED. An operation of our own is behind it, and landed and poll
     * are not used. 1: done, the status is filled; 0; or negative errno.
     * *error: 0 or the negative errno of the operation, which the
     * communicator's error handler is told of by the completion call. */
    int (*test)(struct mgds_request *request, MPI_Status *status, int *error);
    /* The program cancels it. Inside MPI: calls no MPI. NULL: the request below
     * is cancelled. */
    void (*cancel)(struct mgds_request *request);
    /* With test: whose error handler hears of it now. */
    MPI_Comm (*teller)(const struct mgds_request *request);
    /* With test, or of a TEMPLATE: whether an operation reads memory of ours,
     * or tells us of its end there. Once none does none ever does again. While
     * it does the record stays, as an orphan that is LINGERING, when nobody has
     * the request any more. */
    bool (*busy)(const struct mgds_request *request);
    /* GENERALIZED. MPI has let go of it, complete or not; or NULL. */
    void (*gone)(struct mgds_request *request);
};

struct mgds_request {
    struct mgds_request *next; /* in the table, among orphans, those that a
                                  completion call consumed, or those at rest;
                                  first, as spares.h has it */
    const struct mgds_request_ops *ops;
    /* Atomic, for who has not claimed it: whether it is NEW, or DONE, and then
     * whatever is said of its end is there. */
    enum mgds_request_state state;
    MPI_Request handle; /* the application's */
    MPI_Comm comm;      /* whose error handler is told of our errors */
    unsigned refs;      /* atomic: MPI's or ours, and those of calls under way;
                           an error handler that MPI calls meanwhile may
                           complete or free any request */
    /* Of the table and the list of orphans, under their lock. */
    uint64_t serial;    /* given to one entry only; atomic: 0 from when remove
                           has taken it off */
    const void *tested; /* an orphan: by which thread; NULL by none */
    struct mgds_request *stand_in; /* of a PERSISTENT that is GIVEN: the
                                      GENERALIZED one that has it */
    /* Of GENERALIZED ones. */
    MPI_Request general;          /* of the MPI below, that stands for it there;
                                     MPI_REQUEST_NULL while there is none */
    MPI_Request below;            /* of the MPI below, that it is around */
    const void *claimed;          /* by which thread: atomic; NULL by none */
    struct mgds_request *pulling; /* the next one of its list (pulling.h) */
    bool released;                /* what was behind it is given back */
    bool stepped;   /* by a call of ours: MPI's next poll has nothing to
                       do */
    bool cancelled; /* by the application, not yet told below: atomic */
    bool open;      /* in the table of direct_open.h: atomic */
    int error;      /* MPI's, of the operation */
    int unsaid;     /* negative errno that no error handler was told of yet */
    MPI_Status status;
};

/* A record of that size, or of that of its spares, whose first member is the
 * request; the rest is 0. NULL without memory. The caller has its reference. */
void *mgds_request_new(size_t size, const struct mgds_request_ops *ops,
                       MPI_Comm comm);

/* A reference, for as long as a call looks at it. */
void mgds_request_get(struct mgds_request *request);
void mgds_request_put(struct mgds_request *request);

/* The same of one that may have no reference any more, while its record is
 * there: false then. */
bool mgds_request_try_get(struct mgds_request *request);

/* Gives back what is behind it, if that is still there. */
void mgds_request_release(struct mgds_request *request);

/* Its state after the event. An event that is nothing for it is refused, and a
 * line says so: that is a bug of ours. */
void mgds_request_step(struct mgds_request *request,
                       enum mgds_request_event event);

/* The call below that made a SEND or PERSISTENT ended with result: from here on
 * the table owns it, with that handle, or, if the call failed, it is gone. The
 * result. */
mgds_word mgds_request_made(struct mgds_request *request,
                            const MPI_Request *handle, mgds_word result);

/* From here on the table owns it. An older entry of the handle goes. */
void mgds_request_add(struct mgds_request *request);

/* A SEND or PERSISTENT is complete below, with this status: queues what it
 * brought to be copied up, if it brought data. Negative errno: the copies
 * failed. */
int mgds_request_land(struct mgds_request *request, MPI_Status *status,
                      bool has_data);

/* Asks about the queued copies of a PERSISTENT; waits for one out of another
 * process's memory (pulling.h). 1, 0 or negative errno. */
int mgds_request_poll_copies(struct mgds_request *request);

/* Waits for the queued copies of a PERSISTENT. 0 or negative errno. */
int mgds_request_wait_copies(struct mgds_request *request);

#endif
