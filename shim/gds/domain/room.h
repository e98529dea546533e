/*
 * Memory for bounces that were made without any, when a message comes that is
 * staged after all: taken by a host call of the program's, or by the worker
 * (msg/work.h), since it may be pinned for that. Only where many
 * long receives are under way at once: the others have theirs from the call on
 * (MGDS_BOUNCE_LATER), for while a program sits in a call that waits for the
 * stream, cuMemFree say, the driver pins nothing.
 *
 * So there are more messages than memory, and one wait in the stream may be for
 * all of them. What is given here is *lent*: to receives that their stream has
 * come to, so that the bytes may go to the program's buffer as soon as they are
 * there, by a fetch (fetch.h); and then it goes back, whatever the stream waits
 * for. Those for whom there is none at the moment wait; what calls took for
 * longer leaves some for them (pool.h).
 *
 *   waiting   in the list, from mgds_room_add on
 *   lent      the operation has memory, and words for the fetch: the PULL goes
 *             out
 *   landed    the wire has put all bytes there: the fetch is added
 *   back      the fetch is over, in the memory there is nothing of the message
 */
#ifndef MGDS_DOMAIN_ROOM_H
#define MGDS_DOMAIN_ROOM_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_op;

/* In op->recv->loan.unit: a unit for the fetch, whose word has the serial
 * already, and a word that says to nobody that the message was read. */
enum { MGDS_ROOM_SERIAL = 1, MGDS_ROOM_DONE = 2 };

/* Told under the engine's lock: it has got memory, or negative errno. */
typedef void mgds_has_room(struct mgds_op *op, int error);
/* Registers the handler, before the wire is opened. */
void mgds_room_init(mgds_has_room *told);

/* Under the engine's lock: mgds_has_room follows. */
void mgds_room_add(struct mgds_op *op);

/* Memory to keep, at once, in a host call, without the lock: 0, or -ENOMEM. */
int mgds_room_make(struct mgds_op *op);

/* When memory was lent to somebody last, ns of mgds_clock_ns. Any thread. */
uint64_t mgds_rooms_given(void);

/* Says once what helps if an operation is to fail for want of memory. Returns
 * rc. */
int mgds_room_explain(int rc);

#endif
