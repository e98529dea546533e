/*
 * Done words: memory of the sender of long messages, in which their receiver
 * says that it has copied one. There are MGDS_DONES of them for a pair of
 * contexts (ring_pair.h), made with their first communicator, and kept until
 * the end. A message names its word by the number of the ring of such words and
 * the word's own.
 *
 *   written by        what                       read by
 *   who copies a      the serial of the message  the sender's stream (AWAIT)
 *   long message
 *
 * Under the engine's lock.
 */
#ifndef MGDS_TRANSPORT_DONES_H
#define MGDS_TRANSPORT_DONES_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/transport/ring_pair.h"

/* Of the sender. Has the receiver mapped them? If not they are made, and told;
 * READY comes later. */
enum mgds_dones_state mgds_dones_open(struct mgds_ring_pair *pair);
/* One that nobody has. False: there is none. */
bool mgds_dones_take(struct mgds_ring_pair *pair, uint32_t *done);
void mgds_dones_give(struct mgds_ring_pair *pair, uint32_t done);
/* Where the sender's stream waits for it. */
uint64_t *mgds_dones_here(const struct mgds_ring_pair *pair, uint32_t done);
/* What the message says. */
uint32_t mgds_dones_name(const struct mgds_ring_pair *pair, uint32_t done);

/* Of the receiver: where a message's word is as mapped here; NULL: nowhere. */
uint64_t *mgds_dones_there(const struct mgds_ring_pair *pair, uint32_t name);

#endif
