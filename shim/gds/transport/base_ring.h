/*
 * The ring that all channels of a pair have together: as large as a first one
 * (own_rings.h), there when the first of them is made (offer.h), and not given
 * back before the last is gone. So a message has a place to go to also when the
 * driver makes and maps nothing for anybody, since a thread of the program's
 * sits in cuMemFree. Its places are given out to whoever asks; a
 * channel for which they are too few, or too small, gets a ring of its own.
 *
 * All under the engine's lock.
 */
#ifndef MGDS_TRANSPORT_BASE_RING_H
#define MGDS_TRANSPORT_BASE_RING_H

#include <stdbool.h>

#include "shim/gds/transport/ring_pair.h"

/* Units of a pair's ring. */
uint32_t mgds_base_ring_units(void);

/* The pair has one channel more, or one less; the last gives the ring back. A
 * pair that has kept its ring has it again. */
void mgds_base_ring_join(struct mgds_ring_pair *pair);
void mgds_base_ring_part(struct mgds_ring_pair *pair);

/* A ring was mapped for the pair (offer.h), or could not be. */
void mgds_base_ring_settle(struct mgds_ring_pair *pair, int error);

/* Asks for it, unless it is there, or was refused. Is it coming? */
bool mgds_base_ring_open(struct mgds_ring_pair *pair);
/* Why it will never come: negative errno; or 0. */
int mgds_base_ring_error(const struct mgds_ring_pair *pair);

#endif
