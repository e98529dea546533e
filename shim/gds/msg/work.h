/*
 * Work items: whatever has to be done later by somebody else than a stream of
 * the program's. Each kind (work_kinds.def) has one queue and one handler,
 * which the file that the kind belongs to registers before the wire is opened.
 *
 *   QUEUED   in the queue, in the order in which items were added
 *   RUNNING  a thread has the item for itself; it stays in the queue, and
 *            whoever counts still finds it
 *   NONE     not in the queue: new, done or cancelled
 *
 *   NONE    --add-->    QUEUED     under the engine's lock
 *   QUEUED  --pass-->   RUNNING    by the pass that calls the handler
 *   RUNNING --again-->  QUEUED     by the handler, at the end
 *   RUNNING --done-->   NONE       by the handler; then the record may go
 *   QUEUED  --cancel--> NONE       under the engine's lock
 *
 * Who makes a pass:
 *
 *   a round     LOCK kinds, under the engine's lock
 *   the wire's  CPU kinds; wakes the worker (worker.h) for DRIVER kinds that
 *   thread      are late, since it makes no CUDA call itself
 *   a call of   CPU kinds, and DRIVER kinds that it may do; or it leaves those
 *   the program to the worker, at once
 *   the worker  DRIVER kinds that are late, or were left to it
 *
 * As long as anything is in a queue the wire's thread is kept awake.
 */
#ifndef MGDS_MSG_WORK_H
#define MGDS_MSG_WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/msg/engine.h"

enum mgds_work_kind {
#define MGDS_WORK(name, needs, host, late, again) MGDS_WORK_##name,
#include "shim/gds/msg/work_kinds.def"
    MGDS_WORK_KINDS
};

enum mgds_work_state {
    MGDS_WORK_NONE, /* 0: as records are made */
    MGDS_WORK_QUEUED,
    MGDS_WORK_RUNNING,
};

/* In a record; of its kind's queue while it is not NONE. */
struct mgds_work {
    TAILQ_ENTRY(mgds_work) link;
    enum mgds_work_kind kind;
    enum mgds_work_state state;
    uint64_t host, late; /* from when on who may do it, ns */
};

enum mgds_work_by {
    MGDS_WORK_BY_WIRE,
    MGDS_WORK_BY_HOST,
    MGDS_WORK_BY_WORKER,
    MGDS_WORK_BY_HURRIED, /* the worker, of all that was left to it */
};

struct mgds_work_handler {
    /* Does one step: LOCK kinds under the engine's lock, others without. Says
     * under the lock what comes next, by mgds_work_done or mgds_work_again.
     * False: what it lacks others of the kind lack, too, in this pass. */
    bool (*run)(struct mgds_work *work, enum mgds_work_by by);
    /* The engine ends, the item is NONE: gives up what it was for. Without the
     * lock. NULL: nothing is to be given up, for others have the record. */
    void (*drop)(struct mgds_work *work);
};

/* Before the wire is opened. The handler is constant. */
void mgds_work_handle(enum mgds_work_kind kind,
                      const struct mgds_work_handler *handler);

/* All under the engine's lock. */
void mgds_work_add(struct mgds_work *work, enum mgds_work_kind kind);
void mgds_work_again(struct mgds_work *work);
void mgds_work_done(struct mgds_work *work);
/* False: some thread is at it, which will find what has changed. */
bool mgds_work_cancel(struct mgds_work *work);
static inline bool mgds_work_is_listed(const struct mgds_work *work)
{
    return work->state != MGDS_WORK_NONE;
}
/* Those of the kind, RUNNING ones too, that fit. */
unsigned mgds_works_count(enum mgds_work_kind kind,
                          bool (*fits)(const struct mgds_work *work,
                                       const void *arg),
                          const void *arg);

/* look is called for all of the kind, RUNNING ones too, and leaves them as they
 * are. */
void mgds_works_visit(enum mgds_work_kind kind,
                      void (*look)(struct mgds_work *work));

/* Whether an item of the kind waits to be done, due or not. Any thread. */
bool mgds_works_any(enum mgds_work_kind kind);

/* LOCK kinds: whether one is due, any thread; a pass, under the lock. */
bool mgds_works_due(void);
void mgds_works_run_locked(void);
/* All of a LOCK kind, due or not, under the lock. */
void mgds_works_run_now(enum mgds_work_kind kind);

/* A pass over the other kinds, or over one of them, without the lock. Costs
 * some loads if nothing is due. */
void mgds_works_run(enum mgds_work_by by);
void mgds_works_run_kind(enum mgds_work_kind kind, enum mgds_work_by by);
/* Whether a pass would find anything. Any thread. */
bool mgds_works_due_by(enum mgds_work_by by);

/* A pass of a call of the program's that must not wait for the driver. False:
 * there is DRIVER work that it may do, and no worker. */
bool mgds_works_leave(void);

/* Drops everything: the wire is closed, the worker has ended. */
void mgds_works_fini(void);

#endif
