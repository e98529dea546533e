/*
 * A far way: from one stream of this process to one of a process on another
 * host, by an HCA. It has a ring, memory of the own GPU that the peer may write
 * into, and into nothing else; and a mirror, memory in the likeness of the
 * peer's ring: the stream's kernels store units there as they would in the
 * ring, and then WRITEs bring them over. The same connection is for both
 * directions. Ring and mirror are registered when the way is made, so they stay
 * what they are, and where, as long as it is there (docs/rings.md).
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
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/hca/refusal.h"

struct mgds_context;
struct mgds_far;

enum { MGDS_FAR_END_BYTES = 136 };

/* What one end is told of the other. Plain; all 0: there is none. */
struct mgds_far_card {
    uint8_t end[MGDS_FAR_END_BYTES]; /* hca/end.h */
    uint64_t address;                /* of the first unit of the ring */
    uint32_t rkey;
    uint32_t made; /* 1 */
};

/* How what was pushed ends: error is 0, or negative errno and why, in constant
 * text. Under the engine's lock. */
typedef void mgds_far_over(void *arg, int error, const char *why);

struct mgds_far_spec {
    struct mgds_context *ctx;
    uint32_t units; /* of both rings, and so of the mirrors */
    unsigned rank;  /* the peer's, for lines */
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

/* The address of a place in the own ring that begins at that unit, and has so
 * many; 0: there is no such place. Constant, any thread. */
uint64_t mgds_far_place(const struct mgds_far *far, uint32_t units,
                        size_t count);

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
