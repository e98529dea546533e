/* Operations that are late; see hasten.h. */
#include "shim/gds/msg/hasten.h"

#include "shim/base/container.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/proto/fetch.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/proto/rget.h"

static struct mgds_op *op_of(struct mgds_work *work)
{
    return MGDS_CONTAINER_OF(work, struct mgds_op_queued, late.work)->op;
}

static bool hasten_send(struct mgds_work *work, enum mgds_work_by by)
{
    (void)by;
    mgds_work_done(work);
    mgds_exchange_tell(op_of(work), true);
    return true;
}

/* One whose stream has gone on meanwhile has time again. */
static bool hasten_recv(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_op *op = op_of(work);
    bool moves = op->queued->late.passes != op->timeline->passes;

    (void)by;
    op->queued->late.passes = op->timeline->passes;
    if (moves && mgds_rget_may_be_fetched(op)) {
        mgds_work_again(work);
        return true;
    }
    mgds_work_done(work);
    if (mgds_rget_may_be_fetched(op))
        mgds_fetch_add(op);
    return true;
}

void mgds_hasten_init(void)
{
    static const struct mgds_work_handler sends = {.run = hasten_send};
    static const struct mgds_work_handler receives = {.run = hasten_recv};

    mgds_work_handle(MGDS_WORK_LATE_SEND, &sends);
    mgds_work_handle(MGDS_WORK_LATE_RECV, &receives);
}
