/* Ends of work items that copy; see copying.h. */
#include "shim/gds/msg/copying.h"

#include "shim/base/container.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/work.h"

struct mgds_op *mgds_copying_op(const struct mgds_work *work)
{
    return MGDS_CONTAINER_OF(work, struct mgds_op, copying);
}

void mgds_copying_end(struct mgds_op *op, bool over)
{
    if (!over) {
        mgds_work_again(&op->copying);
        return;
    }
    mgds_work_done(&op->copying);
    mgds_op_put_later(op);
}

void mgds_copying_drop(struct mgds_work *work)
{
    (void)work;
}
