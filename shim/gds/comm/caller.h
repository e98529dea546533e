/*
 * The host caller of an operation: whoever has its request, and asks for it
 * (struct mgds_op_caller).
 *
 *   OWNED     somebody may still ask -> SEEN     a call has said: it is done
 *                                    -> DROPPED  the request was freed before,
 *                                                or the wait that has it could
 *                                                not be put
 *   DROPPED   the communicator has   -> ORPHANED it has bytes that only a work
 *             its error                          item copies out: that has the
 *                                                caller's reference
 *
 * All but sees are called under the engine's lock.
 */
#ifndef MGDS_COMM_CALLER_H
#define MGDS_COMM_CALLER_H

#include <stdbool.h>

struct mgds_op;

/* The caller knows that it is done. Without the lock, by the caller. */
void mgds_caller_sees(struct mgds_op *op);

/* Nobody will ask any more, if nobody has seen that it is done. */
void mgds_caller_drops(struct mgds_op *op);

/* Of one that may have been dropped: true if a work item copies its bytes out,
 * when they are there, and has the caller's reference from now on. */
bool mgds_caller_orphans(struct mgds_op *op);

/* One that was dropped is done: what nobody will ask for is told, or copied,
 * all the same. */
void mgds_caller_done(struct mgds_op *op);

#endif
