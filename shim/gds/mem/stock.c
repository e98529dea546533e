/* Fragments, and who waits for them; see stock.h. */
#include "shim/gds/mem/stock.h"

void mgds_stock_fill(struct mgds_stock *stock, struct mgds_pool *pool,
                     size_t bytes, unsigned count)
{
    unsigned most = count < MGDS_STOCK_MOST ? count : MGDS_STOCK_MOST;

    for (unsigned held = 0; held <= MGDS_STOCK_MOST; held++)
        TAILQ_INIT(&stock->waiting[held]);
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

static void begin_waiting(struct mgds_stock *stock,
                          struct mgds_stock_waiter *waiter)
{
    TAILQ_INSERT_TAIL(&stock->waiting[waiter->held], waiter, link);
    waiter->waits = true;
}

static void end_waiting(struct mgds_stock *stock,
                        struct mgds_stock_waiter *waiter)
{
    TAILQ_REMOVE(&stock->waiting[waiter->held], waiter, link);
    waiter->waits = false;
}

/* NULL: nobody may have one now. */
static struct mgds_stock_waiter *next_waiter(const struct mgds_stock *stock)
{
    bool any = stock->idles > stock->count / 4;
    struct mgds_stock_waiter *waiter;

    if (stock->idles == 0)
        return NULL;
    waiter = TAILQ_FIRST(&stock->waiting[0]);
    for (unsigned held = 1; any && held <= stock->count && !waiter; held++)
        waiter = TAILQ_FIRST(&stock->waiting[held]);
    return waiter;
}

/* Whoever gets one may give one back, or want some, meanwhile: each of these
 * serves, too, and the queues are looked at afresh. */
static void serve_waiters(struct mgds_stock *stock)
{
    struct mgds_stock_waiter *next;

    while ((next = next_waiter(stock)) != NULL) {
        end_waiting(stock, next);
        next->held++;
        if (next->got(next, stock->idle[--stock->idles]) && !next->waits)
            begin_waiting(stock, next);
    }
}

void mgds_stock_want(struct mgds_stock *stock, struct mgds_stock_waiter *waiter)
{
    if (waiter->waits)
        return;
    begin_waiting(stock, waiter);
    serve_waiters(stock);
}

void mgds_stock_leave(struct mgds_stock *stock,
                      struct mgds_stock_waiter *waiter)
{
    if (waiter->waits)
        end_waiting(stock, waiter);
}

/* A waiter that wants more changes its queue. */
void mgds_stock_give(struct mgds_stock *stock, struct mgds_stock_waiter *waiter,
                     struct mgds_piece *fragment)
{
    bool waits = waiter->waits;

    mgds_stock_leave(stock, waiter);
    waiter->held--;
    if (waits)
        begin_waiting(stock, waiter);
    stock->idle[stock->idles++] = fragment;
    serve_waiters(stock);
}
