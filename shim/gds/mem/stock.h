/*
 * A stock: the fragments of a context for one direction (docs/fragments.md),
 * which are pinned ahead and stay, and who waits for one. Whoever holds the
 * fewest is served first, and of those the first that came; a quarter is left
 * to who holds none, where there are four or more. So a long message does not
 * keep a short one waiting; nor does one that never gives its fragments back,
 * since its peer is stopped: but as many of those as that quarter has, and one
 * more, do.
 *
 * One thread at a time has a stock, by a lock of its callers' (the engine's);
 * fill and empty are for who has it alone.
 */
#ifndef MGDS_MEM_STOCK_H
#define MGDS_MEM_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "shim/gds/mem/pool.h"

enum { MGDS_STOCK_MOST = 64 };

struct mgds_stock_waiter {
    TAILQ_ENTRY(mgds_stock_waiter) link;
    bool waits;
    unsigned held; /* fragments; the stock's to write */
    /* A fragment is its own, until it gives it back. False: it wants no more
     * of this call. */
    bool (*got)(struct mgds_stock_waiter *waiter, struct mgds_piece *fragment);
};

struct mgds_stock {
    size_t bytes;   /* of a fragment; 0: there are none */
    unsigned count; /* of fragments */
    unsigned idles;
    struct mgds_piece *fragment[MGDS_STOCK_MOST]; /* all of them */
    struct mgds_piece *idle[MGDS_STOCK_MOST];
    TAILQ_HEAD(mgds_stock_queue, mgds_stock_waiter)
    waiting[MGDS_STOCK_MOST + 1]; /* by how many they hold */
};

/* As many as the pool has, and `count` at most, those that it has included.
 * Nobody waits. */
void mgds_stock_fill(struct mgds_stock *stock, struct mgds_pool *pool,
                     size_t bytes, unsigned count);
/* Nobody has any. */
void mgds_stock_empty(struct mgds_stock *stock, struct mgds_pool *pool);

/* It gets some, now or later. Of one that waits: nothing. */
void mgds_stock_want(struct mgds_stock *stock,
                     struct mgds_stock_waiter *waiter);
/* It gets none any more. Not out of got. */
void mgds_stock_leave(struct mgds_stock *stock,
                      struct mgds_stock_waiter *waiter);
/* The waiter that got the fragment does not use it any more. */
void mgds_stock_give(struct mgds_stock *stock, struct mgds_stock_waiter *waiter,
                     struct mgds_piece *fragment);

#endif
