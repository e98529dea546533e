/*
 * The requests of one completion call, while some of them may be staged: who
 * is behind them before the call below, and what must be done for those that
 * it completed.
 *
 *   init    look up; 0: none is ours, forward the call as it is
 *   drive   generalized requests: a step each, or until all are done, with
 *           calls of MPI_Testall below in between
 *   watch, call below with wave.statuses
 *   settle  those that were completed; the result of the call
 *   fini
 *
 * A persistent request of a stream communicator has a stand-in in the array
 * that goes down: the generalized request of what it has started; if that is
 * nothing, or while a stream has generations of it under way (it is *held*),
 * none. Held ones are asked again with each step. A persistent receive has one,
 * too, while it is GIVEN (persist_kept.h).
 *
 * Those with handles of our own are not in that array either (wave_own.h).
 *
 * An error handler may complete or free any other request of the call. What MPI
 * runs into it calls while we drive, or at the end of the call below: a wave
 * has references to generalized requests, knows the others by their serials
 * (request_table.h), and MPI makes no step of its own right after ours. Ours
 * are called at the end of settle, when nothing is looked at any more.
 */
#ifndef MGDS_PMPI_WAVE_H
#define MGDS_PMPI_WAVE_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/request_table.h"

enum { MGDS_WAVE_SMALL = 16 };

/* One request of the call. */
struct mgds_drop {
    struct mgds_request_seen seen; /* before the call; kind 0: not ours */
    MPI_Request handle;            /* the program's; of what stands in for
                                      a persistent one: that */
    MPI_Comm comm;                 /* whose handler is to be told of */
    int unsaid;                    /* this negative errno, or 0 */
    struct mgds_request *persist;  /* that this stands in for: a
                                      reference, or NULL */
    bool held;
    bool own;         /* its handle is our own */
    MPI_Request down; /* what goes down, of an array of ours */
};

/* What a call makes of its requests: waits for all, tests whether all are
 * complete, or completes those that it picks. */
enum mgds_wave_way { MGDS_WAVE_ALL, MGDS_WAVE_TEST, MGDS_WAVE_PICK };

struct mgds_wave {
    int count;
    int ours;        /* how many are ours */
    int generalized; /* of these */
    int persists;    /* have stand-ins */
    int held;        /* of these */
    int owns;        /* have handles of our own */
    enum mgds_wave_way way;
    unsigned added;        /* mgds_requests_added when they were looked up */
    MPI_Request *requests; /* to be given down: the caller's or our own */
    MPI_Request *callers;
    struct mgds_drop *drops;
    MPI_Status *statuses; /* to be given down: the caller's or our own */
    void *memory;         /* of a large wave */
    struct mgds_drop small_drops[MGDS_WAVE_SMALL];
    MPI_Status small_statuses[MGDS_WAVE_SMALL];
    MPI_Request small_requests[MGDS_WAVE_SMALL];
};

/* One of the requests if it is GENERALIZED, else NULL; for the wave's files. */
static inline struct mgds_request *
mgds_wave_generalized_at(const struct mgds_wave *wave, int index)
{
    const struct mgds_request_seen *seen = &wave->drops[index].seen;

    return seen->kind == MGDS_REQUEST_IS_GENERALIZED ? seen->request : NULL;
}

/* How many of the requests are staged, or -ENOMEM; fini only if above 0. The
 * orphans are polled on the way. statuses: the caller's, or MPI_STATUS(ES)_
 * IGNORE. */
int mgds_wave_init(struct mgds_wave *wave, MPI_Request *requests, int count,
                   MPI_Status *statuses, enum mgds_wave_way way);
void mgds_wave_fini(struct mgds_wave *wave);

/* A step for every generalized request; the call below goes on with the
 * network. */
void mgds_wave_step(struct mgds_wave *wave);

/* Of a call that completes all: whether some are not done that are not in the
 * array that goes down. */
bool mgds_wave_is_held(const struct mgds_wave *wave);

/* The same, and the network; true if all are done, and none is held. */
bool mgds_wave_drive(struct mgds_wave *wave);

/* Until all are done: true. False: some are not, and the call below is to be a
 * test of all, which knows of those. The array has requests that are none of
 * ours: MPI may make progress with them only when it is asked about them, and
 * ours may depend on that. */
bool mgds_wave_drive_all(struct mgds_wave *wave);

/*
 * After a call below that ended with rc. single: Wait, Test, Waitany, Testany
 * completed request index (or none: negative). Returns what our call returns.
 * Waits for the copies up.
 */
int mgds_wave_settle_one(struct mgds_wave *wave, int index, int rc);

/* The same for calls that give many statuses: status k is of request
 * indices[k], or k if indices is NULL. */
int mgds_wave_settle_many(struct mgds_wave *wave, int completed,
                          const int *indices, int rc);

#endif
