/*
 * The engine's lock (rank COMM), below all other files of the engine. It guards
 * what is shared there and not said to be guarded otherwise. Callers take it,
 * the wire's handlers and the wire's poller; so nobody holds it across a CUDA
 * call. Posting to the wire under it is allowed (wire.h).
 *
 * Records that may be freed only without the lock are handed over under it:
 * whoever leaves next ends them.
 */
#ifndef MGDS_MSG_ENGINE_H
#define MGDS_MSG_ENGINE_H

#include "shim/base/lock.h"

extern struct mgds_lock mgds_engine_lock;
void mgds_engine_enter(void) MGDS_ACQUIRE(mgds_engine_lock);
/* Unless somebody has it: then 0. */
int mgds_engine_try(void) MGDS_TRY_ACQUIRE(mgds_engine_lock);
void mgds_engine_leave(void) MGDS_RELEASE(mgds_engine_lock);

/* In a record: how it ends. end is called once, without the lock. */
struct mgds_ending {
    struct mgds_ending *next;
    void (*end)(struct mgds_ending *ending);
};

/* Under the lock. Nobody has the record any more. */
void mgds_engine_end_later(struct mgds_ending *ending);

#endif
