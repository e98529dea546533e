/*
 * A far way: from one stream of this process to one of a process on another
 * host, by an HCA. It has a mirror, memory of the own GPU in the likeness of
 * the region that the peer's ring has for it: the stream's kernels store units
 * there as they would in the region, and then WRITEs bring them over. The same
 * connection is for both directions, so the peer may write into the region that
 * the own ring has for it, and into nothing else.
 *
 *   written by       what                        read by
 *   the own stream   units of the mirror         the HCA, once a WRITE is
 *                                                posted: the stream has come
 *                                                behind them by then
 *   the peer's HCA   units of the own ring       the own stream, until the
 *                                                serial is there
 *
 * A unit is 16 bytes and brings its own serial, so nothing depends on the order
 * in which those of a WRITE, or of several, are placed (ring.h).
 *
 *   MADE --connect--> OPEN --a WRITE, or the queue pair, fails--> BROKEN
 *
 * Nothing of a broken one is used again: WRITEs that have not completed end
 * with an error, and so does each that is pushed.
 *
 * In a collective call: create, tell, connect, whatever the peer says of that,
 * destroy; without a lock. Else under the engine's lock.
 */
#ifndef MGDS_TRANSPORT_FAR_H
#define MGDS_TRANSPORT_FAR_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/hca/refusal.h"

struct mgds_context;
struct mgds_far;
struct mgds_ring;

enum { MGDS_FAR_END_BYTES = 136 };

/* What one end is told of the other. Plain; all 0: there is none. */
struct mgds_far_card {
    uint8_t end[MGDS_FAR_END_BYTES]; /* hca/end.h */
    uint64_t address;                /* of the first unit of the region */
    uint32_t rkey;
    uint32_t made; /* 1 */
};

/* How what was pushed ends: error is 0, or negative errno and why, in constant
 * text. Under the engine's lock. */
typedef void mgds_far_over(void *arg, int error, const char *why);

struct mgds_far_spec {
    struct mgds_context *ctx;
    const struct mgds_ring *ring; /* the own one, and the region of it that */
    uint32_t region;              /* is the peer's */
    uint32_t units;               /* of the region there */
    unsigned rank;                /* the peer's, for lines */
    mgds_far_over *over;
};

/* 0; or negative errno and why: any of hca/refusals.def. */
int mgds_far_create(struct mgds_far **out, const struct mgds_far_spec *spec,
                    struct mgds_refusal *refusal);
void mgds_far_tell(const struct mgds_far *far, struct mgds_far_card *out);
int mgds_far_connect(struct mgds_far *far, const struct mgds_far_card *there,
                     struct mgds_refusal *refusal);
/* NULL is allowed. What was pushed is over. */
void mgds_far_destroy(struct mgds_far *far);

/* The first unit of the mirror, and how many it has. */
char *mgds_far_mirror(const struct mgds_far *far);
uint32_t mgds_far_units(const struct mgds_far *far);

/* The stream has stored so many units, from that one on. 0: over follows, not
 * in this call; -ECONNRESET: it is broken; -ENOMEM. */
int mgds_far_push(struct mgds_far *far, uint32_t units, uint32_t count,
                  void *arg);
bool mgds_far_is_open(const struct mgds_far *far);

/* Is something under way? Any thread, without the lock. */
bool mgds_fars_due(void);
/* Looks for what is over: true if something is. */
bool mgds_fars_poll(void);

#endif
