/* Bytes out of ordinary memory; see lift.h. */
#include "shim/gds/proto/lift.h"

#include "shim/gds/msg/copying.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/work.h"

/* 1: they are there; 0: not yet; or negative errno. The bounce is the item's
 * alone. */
static int copy_up(struct mgds_op *op)
{
    int rc = 0;

    if (!op->recv->lifted)
        rc = mgds_bounce_up(op->bounce, 0, op->recv->got);
    op->recv->lifted = true;
    return rc < 0 ? rc : mgds_bounce_poll(op->bounce);
}

static bool run_copy_up(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_op *op = mgds_copying_op(work);
    int rc = copy_up(op);

    (void)by;
    mgds_engine_enter();
    if (rc != 0)
        mgds_exchange_lifted(op, rc < 0 ? rc : 0);
    mgds_copying_end(op, rc != 0);
    mgds_engine_leave();
    return true;
}

void mgds_lift_init(void)
{
    static const struct mgds_work_handler handler = {run_copy_up,
                                                     mgds_copying_drop};

    mgds_work_handle(MGDS_WORK_COPY_UP, &handler);
}
