/*
 * Matching of one receiver on one stream communicator (one stream index of it):
 * which receive gets which message. Pure decisions over records of the owner;
 * no MPI, no wire, no memory of its own per call.
 *
 *   send      a message, known by its envelope (RTS); counted by `number` per
 *             source, arrives in any order, is considered in order of number
 *   receive   a call, in the order of the calls
 *
 * A send m and a receive r are matched when they are *mutually first*:
 *   - r is the earliest unmatched receive that accepts m,
 *   - m is the earliest unmatched send of its source that r accepts,
 *   - if r is from any source, m's stream has reached m.
 * This is repeated until nothing moves, so between two calls nothing that could
 * be matched is left over. Without MGDS_ANY_SOURCE the result depends on the
 * orders of the calls alone, whenever envelopes arrive; that is why it may be
 * computed ahead of the streams (protocols, section 2; tests/models/match.py).
 *
 *   send      GONE AHEAD -> WAITING -> matched, or taken by a matched probe
 *             (a smaller number is missing)
 *   receive   POSTED -> matched, or cancelled
 *
 * Records are the owner's; from arrive or post on until they are matched, taken
 * or cancelled, the members of the structs are the matcher's. All calls of one
 * matcher are under one lock of the owner's. `paired` is called inside them,
 * once for each pair, in the order in which the pairs are found; it must not
 * call the matcher.
 *
 * Costs: a call looks at a few records (mgds_match_looks), however many
 * sources, tags, waiting sends and posted receives there are, those from any
 * source among them: both sides are found by source and tag in hash tables
 * (posted.h, unexpected.h), and what an earlier receive holds back is looked at
 * again when that receive goes (rule.c). A cancelled receive, and a send that
 * is withdrawn, cost no more. That is so on the whole: the call with which a
 * receive goes looks at all that waited for it alone.
 */
#ifndef MGDS_MATCH_MATCH_H
#define MGDS_MATCH_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/match/fifos.h"
#include "shim/gds/match/heap.h"
#include "shim/gds/match/links.h"

/* As MPICH's, so that nothing needs to be translated. */
#define MGDS_ANY_SOURCE (-2)
#define MGDS_ANY_TAG (-1)

struct mgds_match_send {
    uint64_t number; /* of this source's messages to this receiver, from 0 */
    int source, tag; /* neither is any */
    bool reached;    /* may be set before arrive */
    /* the matcher's: unexpected.h */
    struct mgds_fifo_node arrived;
    struct mgds_fifo_node of_tag, of_source;
    struct mgds_fifo_node ready_tag, ready;
    struct mgds_heap_node held;
    bool is_due;
    TAILQ_ENTRY(mgds_match_send) due;
};

/* The receives of one kind that may be posted ahead of one of another. */
enum mgds_match_ahead {
    MGDS_AHEAD_ANY,    /* from any source, with any tag */
    MGDS_AHEAD_TAG,    /* from any source */
    MGDS_AHEAD_SOURCE, /* with any tag */
    MGDS_AHEAD_KINDS,
    MGDS_AHEAD_NONE = MGDS_AHEAD_KINDS /* of no other kind */
};

struct mgds_match_recv {
    int source, tag; /* or any */
    bool posted;
    /* the matcher's: posted.h */
    bool is_due;
    uint64_t stamp;
    struct mgds_fifo_node queue;
    struct mgds_link ahead[MGDS_AHEAD_KINDS];
    struct mgds_link behind;
    struct mgds_heap_node holds;
    TAILQ_ENTRY(mgds_match_recv) due;
};

typedef void mgds_match_paired(void *owner, struct mgds_match_recv *recv,
                               struct mgds_match_send *send);

struct mgds_match;

/* Sources are 0 .. sources - 1. -ENOMEM. */
int mgds_match_create(struct mgds_match **out, unsigned sources,
                      mgds_match_paired *paired, void *owner);

/* Records that are still in it stay the owner's. NULL is allowed. */
void mgds_match_destroy(struct mgds_match *match);

/* An envelope came. -EPROTO, and the record is not taken: there is no such
 * source or tag, or the number was seen before. */
int mgds_match_arrive(struct mgds_match *match, struct mgds_match_send *send);

/* A receive is called. Its source was checked. */
void mgds_match_post(struct mgds_match *match, struct mgds_match_recv *recv);

/* The source's stream has reached its message. false: that message has not
 * arrived, and the owner sets `reached` when it does. */
bool mgds_match_reached(struct mgds_match *match, int source, uint64_t number);

/* Where the source's message of that number is. COMING: it has not arrived, or
 * one ahead of it has not. WAITING: *out, for a receive. GONE: matched, or
 * taken. */
enum mgds_match_where {
    MGDS_MATCH_COMING,
    MGDS_MATCH_WAITING,
    MGDS_MATCH_GONE
};
enum mgds_match_where mgds_match_look(struct mgds_match *match, int source,
                                      uint64_t number,
                                      struct mgds_match_send **out);

/* True if the receive was still posted: now it is the owner's. */
bool mgds_match_cancel(struct mgds_match *match, struct mgds_match_recv *recv);

/* The send that a receive called now would be matched with, and that its
 * stream has reached; else NULL. */
struct mgds_match_send *mgds_match_probe(struct mgds_match *match, int source,
                                         int tag);

/* A send that waits will not be received: it is the owner's again. */
void mgds_match_withdraw(struct mgds_match *match,
                         struct mgds_match_send *send);

/* Takes out what a probe has just found: it will be received by its handle. */
void mgds_match_take(struct mgds_match *match, struct mgds_match_send *send);

/* Everything that is still in it, waiting sends first, then posted receives:
 * for messages that name what is unmatched, and to end them. The callee may
 * free the record. Either may be NULL. */
void mgds_match_clear(struct mgds_match *match,
                      void (*send)(void *owner, struct mgds_match_send *send),
                      void (*recv)(void *owner, struct mgds_match_recv *recv));

/* How many sends wait (those gone ahead included), how many receives are
 * posted. */
size_t mgds_match_waiting(const struct mgds_match *match);
size_t mgds_match_posted(const struct mgds_match *match);
/* Of the receives, those from any source. */
size_t mgds_match_wild(const struct mgds_match *match);

/* Records looked at so far: what the costs above are counted in. */
uint64_t mgds_match_looks(const struct mgds_match *match);

#endif
