/*
 * Memory for bounces that were made without any, when a message comes that is
 * staged after all: taken by a host call of the program's, or by the thread for
 * what cannot wait for one, since it may be pinned for that. Only where many
 * long receives are under way at once: the others have theirs from the call on
 * (MGDS_BOUNCE_LATER), for while a program sits in a call that waits for the
 * stream, cuMemFree say, the driver pins nothing.
 */
#ifndef MGDS_DOMAIN_ROOM_H
#define MGDS_DOMAIN_ROOM_H

#include <stdbool.h>

struct mgds_op;

/* Under the engine's lock: mgds_exchange_has_room follows. */
void mgds_room_add(struct mgds_op *op);

/* At once, in a host call, without the lock: 0, or -ENOMEM. */
int mgds_room_make(struct mgds_op *op);

/* Without the lock; costs a load if there is nothing. host: in a call of the
 * program's. */
void mgds_rooms_run(bool host);

/* For the wire's thread: has done what is late. */
void mgds_rooms_chore(void);

/* What was asked for is given up. */
void mgds_rooms_fini(void);

#endif
