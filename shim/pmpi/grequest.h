/*
 * Generalized requests: what the application holds for a nonblocking operation
 * whose GPU memory is filled by us once the operation below is complete, or for
 * an operation of our own. Made with MPIX_Grequest_start, so that MPI's own
 * progress drives it, in whatever completion call.
 *
 *   start       the application's handle exists, nothing was posted below yet
 *   the call below, which puts its request to request->below; or our own
 *   begin       that has succeeded, or
 *   drop        that has failed
 *
 * Its state is moved by whichever thread's completion call claims it; another
 * that comes meanwhile finds "not yet". Completion is recorded, and handed to
 * MPI, in one place (complete). A request that the program frees before it is
 * done is an orphan (request_orphan.h).
 */
#ifndef MGDS_PMPI_GREQUEST_H
#define MGDS_PMPI_GREQUEST_H

#include <stddef.h>

#include "shim/pmpi/request.h"

/*
 * Makes the application's request of a NEW one, unless it has rested and has
 * one, ahead of the call below so that nothing can fail after that. From
 * success on MPI has its reference. Negative errno: the request is gone, with
 * what is behind it.
 */
int mgds_grequest_start(struct mgds_request *request);

/* The call below succeeded, or the operation of our own was started: *user
 * becomes the application's request. */
void mgds_grequest_begin(struct mgds_request *request, MPI_Request *user);

/* The call below failed: the request goes, with what is behind it. */
void mgds_grequest_drop(struct mgds_request *request);

/*
 * One whose handle is our own (hostreq.h) begins *hidden*: nothing stands for
 * it in the MPI below. Show makes what does (general), if there is none yet;
 * from then on MPI has the table's reference. 0 or -ENOMEM.
 */
int mgds_grequest_show(struct mgds_request *request);

static inline bool mgds_grequest_is_hidden(const struct mgds_request *request)
{
    return request->general == MPI_REQUEST_NULL;
}

/* The request is DONE, and the call below does not know it: takes it from the
 * table, whose reference becomes the caller's, and says in *status what it
 * brought, but for MPI_ERROR. False: an error handler has completed it
 * meanwhile. */
bool mgds_grequest_take(struct mgds_request *request, MPI_Status *status);

/* Somebody else completes the operation of our own: the request goes, and with
 * it what is behind it. The handle is the application's. */
void mgds_grequest_discard(struct mgds_request *request);

/* The same, but MPI's side of it is kept, not complete, for another operation:
 * it is NEW, has its handle, and is for start; what else its record has is not
 * touched. False: it is as it was, discard it. One at rest is ended by drop,
 * before the MPI below is finalized. */
bool mgds_grequest_rest(struct mgds_request *request);

/* Whether it still is: a program that has kept the handle may have waited for
 * it, and has been refused. Then it is to be put. Also of one that another
 * thread has claimed. */
static inline bool mgds_grequest_is_at_rest(const struct mgds_request *request)
{
    return __atomic_load_n(&request->state, __ATOMIC_RELAXED) ==
           MGDS_REQUEST_NEW;
}

/* One step: true if it is done. Any thread. */
bool mgds_grequest_poll(struct mgds_request *request);

/* Whether it pulls (request.h); true where another thread has it, which looks.
 * False where this thread is in a step of it, further up the stack. */
bool mgds_grequest_still_pulls(struct mgds_request *request);

/*
 * One step of many, by one thread, which has references to all of them: what
 * has come below is copied up together (copyqueue.h), as soon as it is worth
 * while, at the end of the pass at the latest.
 *
 *   begin, step for each, end
 */
enum { MGDS_GREQUESTS_TOGETHER = 16 };

struct mgds_grequest_pass {
    struct mgds_request *kept[MGDS_GREQUESTS_TOGETHER]; /* landed, or copying */
    int count;                                          /* of kept */
    size_t bytes;                                       /* that have landed */
    int left;    /* were stepped and are not done */
    bool tested; /* some of them below: MPI made progress */
};

void mgds_grequest_pass_begin(struct mgds_grequest_pass *pass);
void mgds_grequest_pass_step(struct mgds_grequest_pass *pass,
                             struct mgds_request *request);

/* True if all are done. */
bool mgds_grequest_pass_end(struct mgds_grequest_pass *pass);

/*
 * Between watch and watched the thread's completion call below reports errors
 * of generalized requests not through MPI (which knows neither their
 * communicator nor their class) but to us: watched gives those that MPI has
 * freed meanwhile, chained by next. Who takes them puts them.
 */
void mgds_grequest_watch(void);
struct mgds_request *mgds_grequest_watched(void);

/* A thread sets aside what it watches while calls of the program's own run
 * inside of that, and takes it up again behind them. */
struct mgds_grequest_watch {
    bool watching;
    struct mgds_request *consumed;
};

struct mgds_grequest_watch mgds_grequest_set_aside(void);
void mgds_grequest_take_up(const struct mgds_grequest_watch *kept);

/* The operation's error; its communicator's handler is told if it was not. */
int mgds_grequest_error(struct mgds_request *request);

#endif
