/*
 * Pinned memory of one context, in pieces that are used again: pinning takes
 * a millisecond, a message some microseconds.
 *
 *   class     bytes of a piece: powers of two from 4 KiB to 1 MiB, above that
 *             four steps a doubling, so that at most a quarter is wasted
 *   slab      what is pinned at once: 2 MiB of small pieces (a huge page), or
 *             one large one
 *   budget    MPIX_GDS_STAGE_POOL bytes a context; beyond it a larger idle
 *             piece serves, then ordinary memory, which is copied more slowly
 *
 * The piece given back last is taken first: it may still be in a cache.
 *
 * It grows by need and shrinks by itself: slabs that no message needed while
 * many others were served are given up, at the next safe point (defer.h).
 *
 * Concurrency. All is under the pool's lock (LEAF), never held across a driver
 * call. A piece belongs to who took it.
 */
#ifndef MGDS_STAGE_POOL_H
#define MGDS_STAGE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/gds/cuda/context.h"

struct mgds_pool;

struct mgds_piece {
    void *addr; /* aligned to 256 */
    size_t bytes;
    bool pinned; /* false: ordinary memory */
};

/* Takes a reference to ctx. budget: the most bytes to pin. -ENOMEM. */
int mgds_pool_create(struct mgds_pool **out, struct mgds_context *ctx,
                     size_t budget);

/* All pieces have come back. The memory goes at the next safe point. */
void mgds_pool_destroy(struct mgds_pool *pool);

/* A piece of at least so many bytes, the content undefined. May pin memory,
 * so only where a call starts something, never where one waits. -ENOMEM:
 * there is no ordinary memory either. */
int mgds_pool_take(struct mgds_piece **out, struct mgds_pool *pool,
                   size_t bytes);

/* The same, pinned or not at all. After -ENOMEM who asks again behind a safe
 * point finds room where pieces of other sizes were idle. */
int mgds_pool_take_pinned(struct mgds_piece **out, struct mgds_pool *pool,
                          size_t bytes);

/* The same for what is not known to be needed: pinned, and from a quarter of
 * the budget. NULL if that has none left. Never fails. */
struct mgds_piece *mgds_pool_spare(struct mgds_pool *pool, size_t bytes);

/* Any thread; no driver call. No copy may use it any more. */
void mgds_pool_give(struct mgds_pool *pool, struct mgds_piece *piece);

/* Gives up all that is idle: for safe points, and when memory is short. */
void mgds_pool_trim(struct mgds_pool *pool);

/* Bytes pinned now, given up ones that still wait for a safe point included. */
size_t mgds_pool_pinned(struct mgds_pool *pool);

#endif
