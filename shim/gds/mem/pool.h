/*
 * Pinned memory of one context, in pieces that are used again: pinning takes
 * a millisecond, a message some microseconds.
 *
 *   class     bytes of a piece: powers of two from 4 KiB to 1 MiB, above that
 *             four steps a doubling, so that at most a quarter is wasted
 *   slab      what is pinned at once: 2 MiB of small pieces (a huge page), or
 *             one large one
 *   budget    MPIX_GDS_STAGE_POOL bytes a context; beyond it an idle slab of
 *             small pieces is divided again, or a larger idle piece serves;
 *             then ordinary memory does, which is copied more slowly
 *
 * The piece given back last is taken first: it may still be in a cache.
 *
 * It grows by need and shrinks by itself: when slabs were not needed while many
 * messages were served, or others lack memory, all idle ones are given up at
 * the next safe point (defer.h); until then they serve who needs them.
 *
 * Concurrency. All is under the pool's lock (LEAF), never held across a driver
 * call. A piece belongs to who took it.
 */
#ifndef MGDS_MEM_POOL_H
#define MGDS_MEM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"

struct mgds_pool;

struct mgds_piece {
    void *addr; /* aligned to 256 */
    size_t bytes;
    bool pinned; /* false: ordinary memory */
    /* for copyqueue.c, while it is late */
    struct mgds_piece *late;
    uint64_t ticket;
};

/* Takes a reference to ctx. budget: the most bytes to pin. -ENOMEM. */
int mgds_pool_create(struct mgds_pool **out, struct mgds_context *ctx,
                     size_t budget);

/* All pieces have come back. The memory goes at the next safe point. */
void mgds_pool_destroy(struct mgds_pool *pool);

/* What a piece is for: all but ANY is pinned. */
enum mgds_pool_use {
    MGDS_POOL_ANY,   /* ordinary memory, if no more may be pinned */
    MGDS_POOL_FIXED, /* fragments (stock.h): for ever */
    MGDS_POOL_HELD,  /* for as long as a stream may stand: all HELD and SPARE
                      * pieces together leave a quarter of the budget, unless
                      * there is only one */
    MGDS_POOL_SPARE, /* the same, and it may not be needed: all of these have a
                      * quarter of the budget at most */
};

/* A piece of at least so many bytes, the content undefined. May pin memory,
 * so only where a call starts something, never where one waits. -ENOMEM:
 * there is none. */
int mgds_pool_take(struct mgds_piece **out, struct mgds_pool *pool,
                   size_t bytes, enum mgds_pool_use use);

/* Any thread; no driver call. No copy may use it any more. */
void mgds_pool_give(struct mgds_pool *pool, struct mgds_piece *piece);

/* Gives up all that is idle: for safe points, and when memory is short. */
void mgds_pool_trim(struct mgds_pool *pool);

/* Pieces are idle that nobody needs, or that are of other sizes than somebody
 * needed. Giving them up waits for the device, so it is done at a safe point.
 * Relieved once all pools are trimmed there. */
bool mgds_pools_short(void);
void mgds_pools_relieve(void);

/* Bytes pinned now, given up ones that still wait for a safe point included. */
size_t mgds_pool_pinned(struct mgds_pool *pool);

#endif
