/* What is late goes on; see late.h. */
#include "shim/gds/domain/hasten.h"

#include "shim/base/clock.h"
#include "shim/gds/domain/exchange.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/late.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/proto/rget.h"

/* One whose stream has gone on meanwhile has time again. */
static void look_at(struct mgds_op *op)
{
    if (!mgds_rget_may_be_fetched(op))
        return;
    if (op->late.passes != op->line->passes) {
        op->late.passes = op->line->passes;
        mgds_late_add(op);
    } else {
        mgds_fetch_add(op);
    }
}

void mgds_hasten_late(void)
{
    uint64_t now = mgds_clock_ns();
    struct mgds_op *op;

    while ((op = mgds_late_take_send(now)) != NULL)
        mgds_exchange_tell(op, true);
    while ((op = mgds_late_take_recv(now)) != NULL)
        look_at(op);
}
