/*
 * A generalized request around a request of the MPI below: what the application
 * holds for a nonblocking operation whose GPU memory is filled by us once the
 * operation below is complete. Made with MPIX_Grequest_start, so that MPI's own
 * progress drives it, in whatever completion call.
 *
 *            arm        below complete      landed()         copies done
 *   STARTED ----> BELOW ------------> LANDED -------> COPYING ---------> DONE
 *      |
 *      | drop
 *      v
 *    (gone)
 *
 * STARTED  the application's handle exists, nothing was posted below yet
 * BELOW    the request below, or our own operation, is tested by poll and wait
 *          functions
 * LANDED   kept back for a moment, so that several are copied up together
 * COPYING  landed() has queued copies, or some of them; poll() is asked until
 *          they are done
 * DONE     completed, and destroy() gave back what was behind it; MPI asks for
 *          the status, then frees it
 *
 * Concurrency. The state is moved by whichever thread's completion call claims
 * it (one atomic word); another that comes meanwhile finds "not yet". No lock
 * is held while MPI or CUDA is called. A request that the program frees before
 * it is done is an orphan (staged.h).
 */
#ifndef MGDS_PMPI_GREQUEST_H
#define MGDS_PMPI_GREQUEST_H

#include <mpi.h>

/* What is behind the request. The functions get the state given to create;
 * they may be called by any thread, one at a time, from inside MPI: they call
 * MPI only by its next definitions (MGDS_NEXT, below.h), and never wait. */
struct mgds_greq_ops {
    /* The operation below is complete, perhaps with an error (MPI_ERROR says);
     * status is its own. Queues the copies up; may correct the status where
     * the application's differs. Not called if it was cancelled. 0; or negative
     * errno: that becomes the error of the operation, once poll says that it
     * is over. */
    int (*landed)(void *state, MPI_Status *status);
    /* 1: the copies are done (and whatever else must be); 0: not yet; or
     * negative errno, and all is over. */
    int (*poll)(void *state);
    /* The copies are done, or the request is gone; so is the state. May be
     * called without landed. */
    void (*destroy)(void *state);
    /* Instead of a request of the MPI below: NULL, or an operation of our own
     * is behind it, which this tests (and landed and poll are not used).
     * 1: done, the status is filled; 0; or negative errno. *error: 0 or the
     * negative errno of the operation, which the communicator's error handler
     * is told of by the completion call. Freed before it is done its state is
     * destroyed at once. */
    int (*test)(void *state, MPI_Status *status, int *error);
    /* With test: the program cancels it. Inside MPI: calls no MPI. */
    void (*cancel)(void *state);
    /* With test: whose error handler hears of it now. */
    MPI_Comm (*teller)(const void *state);
};

struct mgds_greq;

/*
 * Makes the application's request, ahead of the call below so that nothing can
 * fail after that. From success on the state is the request's, which destroys
 * it. comm: whose error handler errors of the copies go to. Negative errno:
 * nothing was made, the state is the caller's.
 */
int mgds_greq_create(struct mgds_greq **out, MPI_Comm comm,
                     const struct mgds_greq_ops *ops, void *state);

/* Where the call below is to put its request. */
MPI_Request *mgds_greq_below(struct mgds_greq *greq);

/* The call below succeeded, or the operation of our own was started: *user
 * becomes the application's request. */
void mgds_greq_arm(struct mgds_greq *greq, MPI_Request *user);

/* The call below failed: takes everything back, the state included. */
void mgds_greq_drop(struct mgds_greq *greq);

/* Somebody else completes the operation of our own: the request goes, and with
 * it the state. The handle is the application's. */
void mgds_greq_discard(struct mgds_greq *greq);

/* The state of a request whose operation is one of our own with these ops, or
 * NULL. */
void *mgds_greq_own_state(MPI_Request handle, const struct mgds_greq_ops *ops,
                          struct mgds_greq **out);

/* The request's handle, constant from create on. */
MPI_Request mgds_greq_handle(const struct mgds_greq *greq);

#endif
