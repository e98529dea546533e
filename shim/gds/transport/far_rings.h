/*
 * Rings of other processes that this one stores messages in, as mapped here;
 * and done words of theirs (dones.h). Told (RING_TOLD), this process alone says
 * what becomes of one, until it says that its mapping is closed.
 *
 *   COMING    being mapped, in a call of the program's or by the worker
 *   USED      a channel's: its messages take places in it
 *   DRAINING  a channel has left it: nothing new comes in; messages that are in
 *             it are taken by their receivers
 *   IDLE      nothing is in it: for the next channel of the pair
 *   CLOSING   its mapping is closed at the next safe point; then they are told
 *
 *   COMING -> USED        its channel waits for it
 *   COMING -> IDLE        that channel is gone, or has another one
 *   COMING -> (gone)      it cannot be mapped: they are told
 *   USED -> DRAINING      the channel has a larger one now, or ends
 *   USED -> IDLE          the same, when nothing is in it; or a safe point, if
 *                         it is a channel's own and was not used for a second,
 *                         or its owner is short of memory
 *   DRAINING -> IDLE      the last message in it was taken
 *   IDLE -> USED          a channel of the pair needs one
 *   IDLE -> CLOSING       a safe point, if it has grown, or is not the only one
 *                         of its pair, or its owner is short of memory
 *   CLOSING -> (gone)     RING_CLOSED
 *
 * Under the engine's lock, but init and fini.
 */
#ifndef MGDS_TRANSPORT_FAR_RINGS_H
#define MGDS_TRANSPORT_FAR_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/msg/work.h"
#include "shim/gds/proto/place.h"
#include "shim/gds/transport/ring_pair.h"

enum mgds_far_state {
    MGDS_FAR_COMING,
    MGDS_FAR_USED, /* one that is fixed is in no other */
    MGDS_FAR_DRAINING,
    MGDS_FAR_IDLE,
    MGDS_FAR_CLOSING,
};

struct mgds_far_ring {
    TAILQ_ENTRY(mgds_far_ring) link; /* USED, DRAINING; or IDLE */
    enum mgds_far_state state;
    struct mgds_ring_pair *pair;   /* a reference; NULL: it is fixed */
    struct mgds_far_ring **holder; /* in USED: where its channel has it */
    char *base;                    /* as mapped here */
    struct mgds_places places;     /* who has which place */
    uint32_t number;               /* there */
    uint32_t units;
    unsigned epoch; /* of the wire */
    uint64_t seen;  /* its next serial when unused ones were looked for */
    bool given;     /* when a communicator was made: nobody waits for it */
    uint64_t token; /* of who has asked; 0: they are done words */
    struct mgds_work work; /* in COMING */
    struct mgds_ring_handle handle;
    struct mgds_ring_view *view;
};

/* A ring of so many units, from now on, or later. Not in ASKED or GOT. */
void mgds_far_ask(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask,
                  uint32_t units);
/* The same, if one is idle. False: none is. */
bool mgds_far_reuse(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask,
                    uint32_t units);
/* A ring of theirs, or their done words, is mapped at once, in the call that
 * was told of it; the ring is idle then. Without the lock; makes driver calls.
 * Negative errno. */
int mgds_far_take(struct mgds_ring_pair *pair, uint32_t number,
                  const struct mgds_ring_handle *handle, bool dones);
/* Nobody is there to take it any more. */
void mgds_far_forget(struct mgds_ring_pair *pair, struct mgds_ring_ask *ask);

/* It is the channel's: holder is where that has it. */
void mgds_far_use(struct mgds_far_ring *ring, struct mgds_far_ring **holder);
/* The channel leaves it, and has none. */
void mgds_far_leave(struct mgds_far_ring *ring);
/* One that is nobody's memory but the caller's, and a channel's as long as that
 * is there: it is of no pair, and its number is 0. Without the lock. -ENOMEM.
 */
int mgds_far_fix(struct mgds_far_ring **out, char *base, uint32_t units);
void mgds_far_unfix(struct mgds_far_ring *ring);

/* A place in it comes back: 0, or -EINVAL: it was not out. */
int mgds_far_give(struct mgds_far_ring *ring, uint64_t serial);

/* The process is lost: nobody waits for it. */
void mgds_far_lose(uint64_t process);

/* Ahead of a safe point: those that are not worth their memory leave their
 * channels, and are closed. */
void mgds_far_trim(void);

/* Registers the handlers, before the wire is opened. */
void mgds_far_rings_init(void);
/* The wire is closed: what is idle is closed at the next safe point. */
void mgds_far_rings_fini(void);

#endif
