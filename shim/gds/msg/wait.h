/*
 * Waits in streams; see timeline.h.
 *
 *   hold   what is to be waited for; nothing has come of that yet
 *   fill   it is put on its stream: who copies what is settled
 *
 * All but create to hold, and signal, are called under the engine's lock.
 */
#ifndef MGDS_MSG_WAIT_H
#define MGDS_MSG_WAIT_H

#include "shim/base/spares.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/msg/timeline.h"

/* Waits for few operations; others have a size of their own. */
extern struct mgds_spares mgds_wait_spares;

struct mgds_wait *mgds_wait_create(unsigned room);
/* One that was not filled; its operations stay the caller's. NULL is allowed.
 */
void mgds_wait_free(struct mgds_wait *wait);
void mgds_wait_put(struct mgds_wait *wait);
/* Of one that was not filled, or NULL: room for so many more. -ENOMEM: it stays
 * as it is. */
int mgds_wait_widen(struct mgds_wait **wait, unsigned more);
/* Takes the references to the ops, for which it has room. */
void mgds_wait_hold(struct mgds_wait *wait, unsigned count,
                    struct mgds_op *const ops[],
                    const struct mgds_op_sink sinks[]);
void mgds_wait_fill(struct mgds_wait *wait, struct mgds_timeline *timeline);
/* It may pass: its statuses; then what takes that stand are to take. */
void mgds_wait_store(const struct mgds_wait *wait);
void mgds_wait_publish(const struct mgds_wait *wait);
/* Nobody hears of it any more; puts the timeline's reference. */
void mgds_wait_leave(struct mgds_wait *wait);
/* Has the stream store how far it has come, if that is deferred: puts, so
 * without the lock, in a call that the program makes with the stream. */
void mgds_wait_signal(struct mgds_gstream *stream);
/* That the fence is of, or NULL: it is of an operation. */
static inline struct mgds_wait *mgds_wait_of(struct mgds_fence *fence)
{
    return fence->of_wait ? (struct mgds_wait *)(void *)fence : NULL;
}

#endif
