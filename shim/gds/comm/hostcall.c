/* Operations in the hands of host calls: asked for, cancelled, given back; see
 * comm.h. */
#include "shim/gds/comm/caller.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/msg/finish.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/orphan.h"
#include "shim/gds/comm/watch.h"

static bool is_over(struct mgds_op *op)
{
    bool over;

    mgds_engine_enter();
    over = mgds_op_is_done(op);
    mgds_engine_leave();
    return over;
}

static void demand_op(struct mgds_op *op)
{
    mgds_engine_enter();
    mgds_exchange_demand(op);
    if (!mgds_op_is_done(op))
        mgds_watch_op(op);
    mgds_engine_leave();
}

int mgds_op_test(struct mgds_op *op)
{
    demand_op(op);
    mgds_op_progress();
    if (!mgds_op_lift(op) || !is_over(op) || !mgds_op_lift(op))
        return 0;
    mgds_caller_sees(op);
    return 1;
}

void mgds_op_status(const struct mgds_op *op, struct mgds_op_status *out)
{
    *out = op->status;
}

void mgds_op_failure(const struct mgds_op *op, struct mgds_failure *out)
{
    mgds_engine_enter();
    mgds_report_failure(out, op);
    mgds_engine_leave();
}

int mgds_op_cancel(struct mgds_op *op)
{
    bool taken = false;

    if (op->send)
        return 0;
    mgds_engine_enter();
    if (!mgds_op_is_done(op) && op->recv->match.posted)
        taken = mgds_match_cancel(op->comm->match[op->call->index],
                                  &op->recv->match);
    if (taken) {
        mgds_op_step(op, MGDS_OP_ON_CANCEL);
        op->status.cancelled = true;
        mgds_op_finish(op, 0);
        mgds_op_leave_engine(op);
    }
    mgds_engine_leave();
    return taken;
}

/* An error that nobody asked for is told by the communicator. */
void mgds_op_put(struct mgds_op *op)
{
    if (!op)
        return;
    mgds_engine_enter();
    mgds_caller_drops(op);
    mgds_exchange_demand(op);
    if (!mgds_caller_orphans(op))
        mgds_op_put_later(op);
    mgds_engine_leave();
}
