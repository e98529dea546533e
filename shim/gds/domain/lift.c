/* Operations in the hands of host calls: asked for, copied up, cancelled, given
 * back; see domain.h and engine.h. */
#include <errno.h>

#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"

static bool claims_lift(struct mgds_op *op)
{
    bool mine;

    mgds_engine_enter();
    mine = op->done && !op->send && op->bounce && op->got > 0 && !op->lifting &&
           !op->waited && !op->direct;
    if (mine)
        op->lifting = true;
    mgds_engine_leave();
    return mine;
}

static void fail(struct mgds_op *op, int rc)
{
    mgds_engine_enter();
    if (!op->error)
        op->error = op->status.error = rc;
    mgds_engine_leave();
}

static bool is_over(struct mgds_op *op)
{
    bool over;

    mgds_engine_enter();
    over = op->done;
    mgds_engine_leave();
    return over;
}

/* The copy up of what arrived: 1 it is over, or there is none (yet). */
static int lift(struct mgds_op *op)
{
    int rc = 1;

    if (claims_lift(op)) {
        rc = mgds_bounce_up(op->bounce, 0, op->got);
        rc = rc < 0 ? rc : 1;
    }
    if (rc > 0 && op->lifting)
        rc = mgds_bounce_poll(op->bounce);
    if (rc < 0) {
        fail(op, rc);
        return 1;
    }
    return rc;
}

static void demand(struct mgds_op *op)
{
    mgds_engine_enter();
    mgds_exchange_demand(op);
    if (!op->done)
        mgds_watch_op(op);
    mgds_engine_leave();
}

int mgds_op_test(struct mgds_op *op)
{
    demand(op);
    mgds_op_progress();
    if (!lift(op) || !is_over(op) || !lift(op))
        return 0;
    op->seen = true;
    return 1;
}

void mgds_op_status(const struct mgds_op *op, struct mgds_op_status *out)
{
    *out = op->status;
    out->cancelled = op->cancelled;
}

int mgds_op_cancel(struct mgds_op *op)
{
    bool taken = false;

    if (op->send)
        return 0;
    mgds_engine_enter();
    if (!op->done && op->match.posted)
        taken = mgds_match_cancel(op->domain->match[op->index], &op->match);
    if (taken) {
        op->cancelled = op->status.cancelled = true;
        mgds_op_finish(op, 0);
        mgds_op_leave_engine(op);
    }
    mgds_engine_leave();
    return taken;
}

/* Requests that were freed: receives whose bytes have still to be copied up. */

struct mgds_op *mgds_orphan;

/* Under the engine's lock. */
static bool needs_lift(const struct mgds_op *op)
{
    return !op->send && op->bounce && !op->waited && !op->cancelled &&
           !op->direct && !op->error;
}

unsigned mgds_orphans(const struct mgds_gstream *stream,
                      const struct mgds_domain *domain)
{
    unsigned count = 0;

    mgds_engine_enter();
    for (struct mgds_op *op = mgds_orphan; op; op = op->orphan)
        count += (!domain || op->domain == domain) &&
                 (!stream || (op->line && op->line->stream == stream));
    mgds_engine_leave();
    return count;
}

/* Under the engine's lock. */
static void leave_orphans(struct mgds_op *op)
{
    struct mgds_op **at = &mgds_orphan;

    while (*at && *at != op)
        at = &(*at)->orphan;
    if (!*at)
        return;
    *at = op->orphan;
    mgds_engine_put_later(op);
}

/* Those that are done and that no other thread looks after. */
static unsigned take_some(struct mgds_op *some[], unsigned most)
{
    unsigned n = 0;

    mgds_engine_enter();
    for (struct mgds_op *op = mgds_orphan; op && n < most; op = op->orphan) {
        if (!op->done || op->cared)
            continue;
        op->cared = true;
        some[n++] = mgds_op_get(op);
    }
    mgds_engine_leave();
    return n;
}

static void look_after(struct mgds_op *op)
{
    bool over = lift(op) != 0;

    mgds_engine_enter();
    op->cared = false;
    if (over && op->error)
        mgds_debt_add(mgds_domain_debt(op->domain), op->error, op);
    if (over)
        leave_orphans(op);
    mgds_engine_put_later(op);
    mgds_engine_leave();
}

void mgds_orphans_poll(void)
{
    enum { SOME = 16 };
    struct mgds_op *some[SOME];
    unsigned n = take_some(some, SOME);

    for (unsigned i = 0; i < n; i++)
        look_after(some[i]);
}

/* An error that nobody asked for is told by the domain. */
void mgds_op_put(struct mgds_op *op)
{
    if (!op)
        return;
    mgds_engine_enter();
    op->dropped = !op->seen;
    mgds_exchange_demand(op);
    if (op->dropped && needs_lift(op)) {
        op->orphan = mgds_orphan;
        mgds_orphan = op;
    } else {
        if (op->done && op->dropped && op->error)
            mgds_debt_add(mgds_domain_debt(op->domain), op->error, op);
        mgds_engine_put_later(op);
    }
    mgds_engine_leave();
}
