/* Copies up of what receives have got, where no stream makes them; see
 * orphan.h. */
#include "shim/gds/domain/orphan.h"

#include "shim/gds/domain/domain_state.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/report.h"

static bool claims_lift(struct mgds_op *op)
{
    bool mine;

    mgds_engine_enter();
    mine = op->done && !op->send && op->bounce && op->got > 0 && !op->lifting &&
           op->waiting == MGDS_OP_FREE && !op->direct;
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

int mgds_op_lift(struct mgds_op *op)
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

/* Under the engine's lock. */
static LIST_HEAD(, mgds_op) orphans = LIST_HEAD_INITIALIZER(orphans);

void mgds_orphan_add(struct mgds_op *op)
{
    op->orphan.listed = true;
    LIST_INSERT_HEAD(&orphans, op, orphan.link);
}

unsigned mgds_orphans(const struct mgds_gstream *stream,
                      const struct mgds_domain *domain)
{
    const struct mgds_op *op;
    unsigned count = 0;

    mgds_engine_enter();
    LIST_FOREACH(op, &orphans, orphan.link)
    {
        count += (!domain || op->domain == domain) &&
                 (!stream || (op->line && op->line->stream == stream));
    }
    mgds_engine_leave();
    return count;
}

/* Under the engine's lock. */
static void leave_orphans(struct mgds_op *op)
{
    if (!op->orphan.listed)
        return;
    op->orphan.listed = false;
    LIST_REMOVE(op, orphan.link);
    mgds_op_put_later(op);
}

void mgds_orphans_forget(void)
{
    struct mgds_op *op;

    while ((op = LIST_FIRST(&orphans)) != NULL) {
        op->orphan.listed = false;
        LIST_REMOVE(op, orphan.link);
    }
}

/* Those that are done and that no other thread looks after. */
static unsigned take_some(struct mgds_op *some[], unsigned most)
{
    struct mgds_op *op;
    unsigned n = 0;

    mgds_engine_enter();
    LIST_FOREACH(op, &orphans, orphan.link)
    {
        if (n == most)
            break;
        if (!op->done || op->orphan.cared)
            continue;
        op->orphan.cared = true;
        some[n++] = mgds_op_get(op);
    }
    mgds_engine_leave();
    return n;
}

static void look_after(struct mgds_op *op)
{
    bool over = mgds_op_lift(op) != 0;

    mgds_engine_enter();
    op->orphan.cared = false;
    if (over && op->error)
        mgds_report_debt(mgds_domain_debt(op->domain), op->error, op);
    if (over)
        leave_orphans(op);
    mgds_op_put_later(op);
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
