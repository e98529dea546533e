/* The host callers of operations; see caller.h. */
#include "shim/gds/comm/caller.h"

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/msg/work.h"

void mgds_caller_sees(struct mgds_op *op)
{
    op->caller->asking = MGDS_OP_SEEN;
}

void mgds_caller_drops(struct mgds_op *op)
{
    if (op->caller->asking == MGDS_OP_OWNED)
        op->caller->asking = MGDS_OP_DROPPED;
}

static bool needs_lift(const struct mgds_op *op)
{
    return op->recv && op->bounce && op->waiting == MGDS_OP_FREE &&
           op->state != MGDS_OP_CANCELLED && !op->recv->direct && !op->error;
}

/* Its error is for nobody but the communicator. */
static void owe_error(const struct mgds_op *op)
{
    if (op->error)
        mgds_report_debt(mgds_comm_debt(op->comm), op->error, op);
}

bool mgds_caller_orphans(struct mgds_op *op)
{
    if (op->caller->asking != MGDS_OP_DROPPED)
        return false;
    if (!needs_lift(op)) {
        if (mgds_op_is_done(op))
            owe_error(op);
        return false;
    }
    op->caller->asking = MGDS_OP_ORPHANED;
    if (mgds_op_is_done(op))
        mgds_work_add(&op->copying, MGDS_WORK_COPY_OUT);
    return true;
}

void mgds_caller_done(struct mgds_op *op)
{
    owe_error(op);
    if (op->caller->asking == MGDS_OP_ORPHANED)
        mgds_work_add(&op->copying, MGDS_WORK_COPY_OUT);
}
