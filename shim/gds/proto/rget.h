/*
 * Messages that their receivers copy, GPU to GPU: what both ends must know, and
 * when somebody else than the receiver's stream has to do it.
 *
 * Only of memory that the receiver has mapped already (memory.h).
 *
 *   sender                                    receiver
 *   its stream comes: POST, the unit of the   held, till a wait takes it: TAKE
 *   place there carries the serial              waits for the unit, copies,
 *   its wait: AWAIT, until the word here      sets the word there
 *   carries the serial
 *   TAKEN: done                        <----  the stream has passed the TAKE
 *
 * Late. A send whose stream has come to it and that is not done soon says so
 * (REACHED). If the receive's stream has come to that, too, the message is
 * fetched (fetch.h): at once if no wait has taken it over, else when that
 * stream does not move. So streams that stand for each other's sends go on,
 * whatever the order in which their waits come.
 *
 *   word of      written by                    what is visible before
 *   the unit     the sender's stream (POST)    the message, system
 *   the word     who copies, at its end        all of it was read
 *   the claim    who copies: TAKE or fetch     over: it is in the buffer, GPU
 *
 * A word is given back when no AWAIT and no receiver will look at it.
 *
 * All functions but those that say so are called under the engine's lock.
 */
#ifndef MGDS_PROTO_RGET_H
#define MGDS_PROTO_RGET_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/msg/envelope.h"

struct mgds_comm;
struct mgds_message;
struct mgds_op;
struct mgds_xfer;

/* A send that is about to be made, and may have this protocol (select.h):
 * reserves what it needs, if its receiver has mapped its memory. False: nor
 * will it later. Without the lock: may ask the driver, and wait some
 * milliseconds. */
bool mgds_rget_try(struct mgds_op *op, struct mgds_comm *comm,
                   const struct mgds_xfer *xfer);
/* The same of one for which there is no other way: waits for some seconds until
 * the receiver has mapped the memory. -ENOMEM: in vain. */
int mgds_rget_insist(struct mgds_op *op, struct mgds_comm *comm,
                     const struct mgds_xfer *xfer);
/* It was not made: the word goes back, if it has one. */
void mgds_rget_cancel(struct mgds_op *op);
/* Gives the word back if nobody looks at it any more. */
void mgds_rget_release(struct mgds_op *op);

/* The sender's stream has come to that message. */
void mgds_rget_reached(struct mgds_comm *comm, int source, unsigned to_index,
                       uint64_t number);
/* A receive has changed: is it to be fetched? */
void mgds_rget_consider(struct mgds_op *op);
/* Whether nobody but a fetch has still to do something for it. */
bool mgds_rget_may_be_fetched(const struct mgds_op *op);

#endif
