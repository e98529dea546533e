/*
 * Rings in memory of this process, each for one pair (ring_pair.h): made when
 * the other process asks for one, and freed when it has said that it has closed
 * its mapping. What it does with a ring meanwhile is its own business: it may
 * give the ring to one channel after another.
 *
 *   MAKING    the driver is at it, in a call of the program's or the worker
 *   KEPT      nobody was told of it yet: it goes with a communicator (offer.h)
 *   TOLD      the other process may have it mapped, and may write to it
 *   DECLINED  done words: it could not map them, and is told of them again
 *   CLOSED    it says that it has not, any more
 *   (gone)    freed at the next safe point, unless a message is in it yet
 *
 *   (asked, or done words are needed) -> MAKING -> TOLD
 *   (a communicator is made) -> MAKING -> KEPT -> TOLD
 *   TOLD -> CLOSED   RING_CLOSED
 *   TOLD -> KEPT     the same, or RING_MAPPED of done words, with an error: it
 *                    was not mapped, and goes with the next communicator
 *   TOLD -> DECLINED RING_MAPPED, with an error that passes
 *   DECLINED -> TOLD they are needed, a second later, or go with a communicator
 *   CLOSED -> gone   a call that frees
 *   MAKING -> gone   no memory: who asked is told
 *
 * A ring is told of once, by RING_TOLD or by the offer of one communicator,
 * until that is answered. So RING_CLOSED is the last that is said of a ring,
 * although it goes by another way than offers do: were a ring offered again,
 * its sender might have closed it meanwhile, and would have mapped it once more
 * when that is heard here.
 *
 * All rings of the process together have MPIX_GDS_RING_TOTAL bytes at most.
 * What does not fit is made smaller, down to MGDS_RING_LEAST units; a ring that
 * was to be larger than the first one does not get what is left for first ones.
 * Where nothing is left RING_SHORT asks for what others do not use.
 *
 * Under the engine's lock, but init and fini.
 */
#ifndef MGDS_TRANSPORT_OWN_RINGS_H
#define MGDS_TRANSPORT_OWN_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/transport/ring_pair.h"

/* Units that the first ring of a channel has, and the least that any has. */
enum { MGDS_RING_FIRST = 4096, MGDS_RING_LEAST = 256 };

struct mgds_own_ring;

/* May this process have rings at all? Constant, any thread. */
bool mgds_own_rings_may_be(void);

/* Units of the largest ring that a channel may have, in memory of this process
 * or for its messages. Constant, any thread. */
uint32_t mgds_ring_units_most(void);

/* Bytes that rings may yet have that are larger than a first one. Any thread.
 */
uint64_t mgds_own_rings_left(void);

/* The address of a place that begins at that unit, and has so many, in a ring
 * of that number, of a pair with that process in that context; 0: there is no
 * such place. */
uint64_t mgds_own_rings_place(uint32_t number, uint64_t process,
                              const struct mgds_context *ctx, uint32_t units,
                              size_t count);

/* A message is in a ring, and is over: meanwhile the ring is not freed,
 * whatever its sender says. 0, or the number of one that is gone: nothing. */
void mgds_own_rings_hold(uint32_t number);
void mgds_own_rings_let_go(uint32_t number);

/* A ring for a pair with this process itself. Without the lock; makes driver
 * calls. Negative errno. */
int mgds_own_rings_make(struct mgds_ring_pair *pair, uint32_t units,
                        uint32_t *number, struct mgds_ring_handle *handle);
/* That one is not used any more. */
void mgds_own_rings_close(uint32_t number);

/* What another process is given when a communicator is made (offer.h), if it
 * has not got it. Without the lock; makes driver calls. Is it there to be told
 * of? */
bool mgds_own_rings_give_base(struct mgds_ring_pair *pair, uint32_t units);
bool mgds_own_rings_give_dones(struct mgds_ring_pair *pair);
/* In KEPT, and for the last time: the number again; 0: it is not. Done words
 * are READY then: the call that makes the communicator ends when the other
 * process has mapped them. */
uint32_t mgds_own_rings_tell(uint32_t number, struct mgds_ring_handle *handle);

/* The pair gets done words, later, or is told again of those that were
 * DECLINED: dones.h. */
void mgds_own_rings_add_dones(struct mgds_ring_pair *pair);
uint32_t mgds_own_ring_number(const struct mgds_own_ring *own);
uint64_t mgds_own_ring_address(const struct mgds_own_ring *own);

/* Those that are CLOSED, and that no message holds, are freed at the next safe
 * point. */
void mgds_own_rings_trim(void);

/* Registers the handlers, before the wire is opened. */
void mgds_own_rings_init(void);
/* No process has any of them mapped any more. */
void mgds_own_rings_fini(void);

#endif
