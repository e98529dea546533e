/*
 * Pairs of contexts, one of this process and one of a process of its host (or
 * this one), between which kernels move messages: what all channels between
 * them have together. docs/rings.md has the whole of it.
 *
 *   what                        made by, in memory of  used by     ends by
 *   rings of theirs (far_rings) them                   channels    our CLOSED
 *   rings of ours (own_rings)   us                     their       their CLOSED
 *                                                      channels
 *   done words of ours (dones)  us                     channels    the end
 *   done words of theirs        them                   receives    the end
 *
 * A pair is there as long as a channel, or a ring, is between the two. All
 * under the engine's lock.
 */
#ifndef MGDS_TRANSPORT_RING_PAIR_H
#define MGDS_TRANSPORT_RING_PAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/msg/envelope.h"
#include "shim/gds/transport/ring_ask.h"

struct mgds_am;
struct mgds_context;
struct mgds_far_ring;
struct mgds_own_ring;
struct mgds_wire_peer;

/* NONE -> MAKING -> TOLD -> READY; or REFUSED: they cannot be had, not now. */
enum mgds_dones_state {
    MGDS_DONES_NONE,
    MGDS_DONES_MAKING, /* the driver is at it */
    MGDS_DONES_TOLD,
    MGDS_DONES_READY,
    MGDS_DONES_REFUSED,
};

/* Words that say what was copied: as many messages can be under way. */
enum { MGDS_DONES = 256 };

#define MGDS_GIVING UINT32_MAX

/* What the channels of a pair have together (base_ring.h). */
struct mgds_base_ring {
    unsigned channels; /* how many there are */
    uint32_t given;    /* the number of the one of ours that they were given;
                          0: none, MGDS_GIVING: it is being made */
    struct mgds_ring_ask ask;
    struct mgds_far_ring *ring; /* NULL: not yet */
};

TAILQ_HEAD(mgds_far_rings, mgds_far_ring);
TAILQ_HEAD(mgds_ring_asks, mgds_ring_ask);

struct mgds_ring_pair {
    LIST_ENTRY(mgds_ring_pair) link;
    unsigned refs;
    uint64_t process;            /* as the wire knows it */
    uint64_t there;              /* the id of the context there */
    struct mgds_context *here;   /* a reference */
    bool self;                   /* both are of this process, and the same */
    struct mgds_wire_peer *peer; /* a reference; NULL: the wire has ended */
    struct mgds_far_rings used, idle;
    struct mgds_ring_asks asks; /* those that wait for an answer */
    struct mgds_base_ring base;
    uint64_t looked; /* when unused ones were last looked for, ns */
    bool scarce;     /* the process there is short of memory */
    /* done words */
    enum mgds_dones_state state;
    uint64_t since; /* when it was entered, ns */
    struct mgds_own_ring *dones;
    uint16_t free[MGDS_DONES]; /* those that nobody has */
    unsigned frees;
    struct mgds_far_ring *their_dones; /* mapped; NULL: not yet */
};

LIST_HEAD(mgds_ring_pairs, mgds_ring_pair);
const struct mgds_ring_pairs *mgds_ring_pairs_all(void);

/* Makes it if need be, with a reference. The peer is the process there; its
 * reference is the pair's. NULL: no memory. */
struct mgds_ring_pair *mgds_ring_pair_open(struct mgds_context *here,
                                           struct mgds_wire_peer *peer,
                                           uint64_t there, bool self);
/* Without a reference, or NULL. */
struct mgds_ring_pair *mgds_ring_pair_find(uint64_t here, uint64_t process,
                                           uint64_t there);
void mgds_ring_pair_get(struct mgds_ring_pair *pair);
void mgds_ring_pair_put(struct mgds_ring_pair *pair);

/* As what is said of the pair begins. */
struct mgds_ring_ends mgds_ring_pair_ends(const struct mgds_ring_pair *pair);
/* Says it to the process. Negative errno: that does not hear it. */
int mgds_ring_pair_tell(struct mgds_ring_pair *pair, enum mgds_envelope kind,
                        const void *head, size_t bytes);
void mgds_ring_pair_say(struct mgds_ring_pair *pair, enum mgds_envelope kind,
                        uint32_t number, int error);
/* The pair that an envelope is of, or NULL. */
struct mgds_ring_pair *mgds_ring_pair_of(const struct mgds_ring_ends *ends,
                                         uint64_t from);

/* Might a ring, or done words, be had another time, of which that was said? */
bool mgds_ring_error_passes(int error);

/* Whether there was such a pair, which is gone with all that the two had: who
 * frees a communicator later may still say something of it. */
bool mgds_ring_pair_is_gone(const struct mgds_ring_ends *ends, uint64_t from);
/* Says it to a process that the wire knows, of which there may be no pair. */
void mgds_ring_pair_reply(uint64_t process, enum mgds_envelope kind,
                          const void *head, size_t bytes);
/* Nobody here has anything to do with a ring, or done words, that the process
 * told of: it has them again. The ends are as it said them. */
void mgds_ring_pair_return(uint64_t process, const struct mgds_ring_ends *ends,
                           uint32_t number, bool dones);

/* The wire has ended: no pair has a peer any more. */
void mgds_ring_pairs_part(void);

#endif
