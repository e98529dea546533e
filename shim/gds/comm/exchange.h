/* The steps by which envelopes and streams move operations; see op.h. All
 * functions are called under the engine's lock. */
#ifndef MGDS_COMM_EXCHANGE_H
#define MGDS_COMM_EXCHANGE_H

#include <stdbool.h>

#include "shim/gds/msg/envelope.h"
#include "shim/gds/msg/op_state.h"

struct mgds_comm;
struct mgds_op;
struct mgds_wire_peer;

/* Tells fetches and flows whom to tell, before the wire is opened. */
void mgds_exchange_init(void);

/* The bytes of a send are where they belong (SENT, READ), or will not come
 * (FAIL, LOSE: then there is an error, but where it was COPIED). */
void mgds_exchange_send_moved(struct mgds_op *op, enum mgds_op_event event,
                              int error);
/* The bytes of a receive are where they belong, or, with an error, will not
 * come; lost: they will not, since its peer, its stream or its time is over. */
void mgds_exchange_recv_moved(struct mgds_op *op, int error);
void mgds_exchange_recv_lost(struct mgds_op *op, int error);
/* The receiver asked for a send's bytes. */
void mgds_exchange_asked(struct mgds_op *op);
/* Its bytes, which its receiver could not copy, are staged (REFUSED). */
void mgds_exchange_staged(struct mgds_op *op);
/* A member that subscribed, or anyway, is told that a send was reached. */
void mgds_exchange_tell(struct mgds_op *op, bool anyway);

/* Tells the receiver of the send. */
void mgds_exchange_called(struct mgds_op *op, bool reached);
/* A receive has its message: whose way is decided. */
void mgds_exchange_matched(struct mgds_op *op);
/* The stream came to it, and staged bytes are there. */
void mgds_exchange_reached(struct mgds_op *op);
/* Somebody else than the receive's stream waits for it: it is not held any
 * more. */
void mgds_exchange_demand(struct mgds_op *op);
/* A held message is its wait's: done, before its stream has taken it. */
void mgds_exchange_take(struct mgds_op *op);
/* The stream has passed the TAKE, and has taken it unless it was given up. */
void mgds_exchange_taken(struct mgds_op *op, bool given_up);
/* The wait that was to see that it was copied is over. seen: the stream has
 * passed the AWAIT; else that could not be put, or was let go. */
void mgds_exchange_awaited(struct mgds_op *op, bool seen, int error);
/* A receive has asked for its message, and that may be copied where it is. */
void mgds_exchange_readable(struct mgds_op *op);
/* A receive's bytes were copied to where they belong, or negative errno. */
void mgds_exchange_lifted(struct mgds_op *op, int error);
/* A receive's message was fetched, and is where it belongs if op->recv->direct;
 * or negative errno. */
void mgds_exchange_fetched(struct mgds_op *op, int error);
/* Nobody will copy what was taken: its stream, when it comes there, passes. */
void mgds_exchange_withdrawn(struct mgds_op *op, int error, const char *why);
/* Tells a process how a send of it ends (envelope.h). */
void mgds_exchange_end(struct mgds_wire_peer *peer,
                       const struct mgds_ended *ended);
/* A receive that has failed tells the sender of its message, if it has one:
 * nobody will read that. */
void mgds_exchange_unread(const struct mgds_op *op, int error);
/* Before a receive from the rank: has a connection to it, so that its end is
 * seen. */
void mgds_exchange_meet(struct mgds_comm *comm, unsigned rank);

#endif
