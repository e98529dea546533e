/*
 * Messages that their sender's stream came to, and whose bytes did not get into
 * the receiver's ring: both ends fail, and the streams go on.
 *
 *   send      called    its receiver is told (BROKEN), and it fails here
 *             asked     DATA tells the error: the receive ends with it
 *   receive   matched   fails; where a kernel stands for the message, or will,
 *                       that is given up (quit.h)
 *             not yet   the message keeps the error, for the receive that it
 *                       comes to; it counts as reached, so that those from
 *                       any source and probes find it
 */
#ifndef MGDS_COMM_BROKEN_H
#define MGDS_COMM_BROKEN_H

#include <stdbool.h>

struct mgds_op;

/* A send that was called, and is not over; why: constant text. Its stream
 * counts as not there yet: mgds_exchange_reached follows. Under the engine's
 * lock. */
void mgds_broken_send(struct mgds_op *op, int error, const char *why);

/* A receive got such a message: true, and it fails. Under the engine's lock. */
bool mgds_broken_fails(struct mgds_op *op);

/* Registers the handler, before the wire is opened. */
void mgds_broken_init(void);

#endif
