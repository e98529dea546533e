/* Fragments, and who waits for them; see stock.h. */
#include "shim/gds/mem/stock.h"

void mgds_stock_fill(struct mgds_stock *stock, struct mgds_pool *pool,
                     size_t bytes, unsigned count)
{
    unsigned most = count < MGDS_STOCK_MOST ? count : MGDS_STOCK_MOST;

    TAILQ_INIT(&stock->waiting);
    while (bytes > 0 && stock->count < most &&
           mgds_pool_take(&stock->fragment[stock->count], pool, bytes,
                          MGDS_POOL_FIXED) == 0) {
        stock->idle[stock->count] = stock->fragment[stock->count];
        stock->count++;
    }
    stock->idles = stock->count;
    stock->bytes = stock->count > 0 ? bytes : 0;
}

void mgds_stock_empty(struct mgds_stock *stock, struct mgds_pool *pool)
{
    while (stock->count > 0)
        mgds_pool_give(pool, stock->fragment[--stock->count]);
    stock->idles = 0;
    stock->bytes = 0;
}

static void end_waiting(struct mgds_stock *stock,
                        struct mgds_stock_waiter *waiter)
{
    TAILQ_REMOVE(&stock->waiting, waiter, link);
    waiter->waits = false;
}

/* Whoever gets one may give one back, or want some, meanwhile: each of these
 * serves, too, and the list is looked at afresh. */
static void serve_waiters(struct mgds_stock *stock)
{
    struct mgds_stock_waiter *first;

    while (stock->idles > 0 && (first = TAILQ_FIRST(&stock->waiting)) != NULL) {
        end_waiting(stock, first);
        if (!first->got(first, stock->idle[--stock->idles]) || first->waits)
            continue;
        TAILQ_INSERT_HEAD(&stock->waiting, first, link);
        first->waits = true;
    }
}

void mgds_stock_want(struct mgds_stock *stock, struct mgds_stock_waiter *waiter)
{
    if (waiter->waits)
        return;
    TAILQ_INSERT_TAIL(&stock->waiting, waiter, link);
    waiter->waits = true;
    serve_waiters(stock);
}

void mgds_stock_leave(struct mgds_stock *stock,
                      struct mgds_stock_waiter *waiter)
{
    if (waiter->waits)
        end_waiting(stock, waiter);
}

void mgds_stock_give(struct mgds_stock *stock, struct mgds_piece *fragment)
{
    stock->idle[stock->idles++] = fragment;
    serve_waiters(stock);
}
