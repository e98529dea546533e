/* Who waits for a ring of another process: a channel, or a pair (far_rings.h).
 * Under the engine's lock. */
#ifndef MGDS_TRANSPORT_RING_ASK_H
#define MGDS_TRANSPORT_RING_ASK_H

#include <stdint.h>
#include <sys/queue.h>

struct mgds_far_ring;

/* NONE -> ASKED -> GOT, or REFUSED; the owner takes what it got. */
enum mgds_ask_state {
    MGDS_ASK_NONE,
    MGDS_ASK_ASKED,
    MGDS_ASK_GOT,
    MGDS_ASK_REFUSED,
};

/* What could not be had is asked for again after so long, ns; done words, too.
 */
enum { MGDS_RING_AGAIN_NS = 1000000000 };

/* What a channel, or a pair, asks for: one ring at a time. */
struct mgds_ring_ask {
    TAILQ_ENTRY(mgds_ring_ask) link; /* in ASKED */
    enum mgds_ask_state state;
    int error; /* in REFUSED: negative errno */
    uint64_t token;
    uint64_t since;             /* when the state was entered, ns */
    struct mgds_far_ring *ring; /* in GOT */
};

#endif
