/* Operations in the hands of host calls: asked for, cancelled, given back; see
 * domain.h. */
#include "shim/gds/domain/domain_state.h"
#include "shim/gds/domain/exchange.h"
#include "shim/gds/domain/finish.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/orphan.h"
#include "shim/gds/domain/report.h"
#include "shim/gds/domain/watch.h"

static bool is_over(struct mgds_op *op)
{
    bool over;

    mgds_engine_enter();
    over = op->done;
    mgds_engine_leave();
    return over;
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
    if (!mgds_op_lift(op) || !is_over(op) || !mgds_op_lift(op))
        return 0;
    op->seen = true;
    return 1;
}

void mgds_op_status(const struct mgds_op *op, struct mgds_op_status *out)
{
    *out = op->status;
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
        mgds_op_step(op, MGDS_OP_ON_CANCEL);
        op->status.cancelled = true;
        mgds_op_finish(op, 0);
        mgds_op_leave_engine(op);
    }
    mgds_engine_leave();
    return taken;
}

/* Under the engine's lock. */
static bool needs_lift(const struct mgds_op *op)
{
    return !op->send && op->bounce && op->waiting == MGDS_OP_FREE &&
           op->state != MGDS_OP_CANCELLED && !op->direct && !op->error;
}

/* An error that nobody asked for is told by the domain. Bytes that nobody will
 * ask for are copied out all the same: that has the reference then. */
void mgds_op_put(struct mgds_op *op)
{
    if (!op)
        return;
    mgds_engine_enter();
    op->dropped = !op->seen;
    mgds_exchange_demand(op);
    if (op->dropped && needs_lift(op)) {
        op->orphan = true;
        if (op->done)
            mgds_work_add(&op->copy_out, MGDS_WORK_COPY_OUT);
    } else {
        if (op->done && op->dropped && op->error)
            mgds_report_debt(mgds_domain_debt(op->domain), op->error, op);
        mgds_op_put_later(op);
    }
    mgds_engine_leave();
}
