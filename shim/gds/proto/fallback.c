/* Sends that their receiver cannot copy; see fallback.h. */
#include "shim/gds/proto/fallback.h"

#include <errno.h>

#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/msg/copying.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/comm/require.h"
#include "shim/gds/msg/work.h"

/* The program may have used its buffer again. */
static void fail_send(struct mgds_op *op, int reason)
{
    if (!op->error)
        op->error = reason;
}

void mgds_fallback_refused(struct mgds_op *op, int reason)
{
    if (op->send->protocol->buffered) {
        fail_send(op, reason);
        return;
    }
    mgds_warn_once("rank %d cannot read memory of a GPU of this process (errno "
                   "%d): its messages from there are staged",
                   op->call->rank, -reason);
    mgds_count(pull_refused);
    mgds_op_step(op, MGDS_OP_ON_REFUSE);
    op->send->transport->unreachable(op->ring->words_of, op);
    op->send->protocol = &mgds_fragments;
    op->send->may = 1u << MGDS_PROTOCOL_FRAGMENTS;
    if (mgds_require_forbids_host(op))
        op->error = -EPROTONOSUPPORT;
}

/* Nothing is to be copied: it has failed, or was given up. */
static bool is_over(const struct mgds_op *op)
{
    bool over;

    mgds_engine_enter();
    over = op->error || op->state != MGDS_OP_REFUSED;
    mgds_engine_leave();
    return over;
}

static int begin_copy(struct mgds_op *op)
{
    struct mgds_bounce *bounce;
    int rc = mgds_bounce_create(&bounce, &op->call->user, MGDS_BOUNCE_PACKED);

    if (rc < 0)
        return rc;
    rc = mgds_bounce_check(bounce);
    if (rc == 0)
        rc = mgds_bounce_down(bounce, 0, op->call->bytes);
    mgds_engine_enter();
    op->bounce = bounce;
    mgds_engine_leave();
    return rc;
}

/* 1: all bytes are in the bounce; 0: not yet; or negative errno. */
static int copy_in(struct mgds_op *op)
{
    int rc = 0;

    if (is_over(op))
        return 1;
    if (!op->bounce)
        rc = begin_copy(op);
    return rc < 0 ? rc : mgds_bounce_poll(op->bounce);
}

/* The rest is under the engine's lock. */

/* False: what tells the kernel so is not to be had just now. */
static bool let_kernel_pass(struct mgds_op *op)
{
    if (op->waiting != MGDS_OP_AWAITING)
        return true;
    if (op->error)
        mgds_quit_begin(op, op->error);
    return op->error || mgds_quit_release(op);
}

/* False: once more. */
static bool end_copy(struct mgds_op *op, int rc)
{
    if (rc == 0)
        return false;
    if (op->state != MGDS_OP_REFUSED)
        return true;
    if (rc < 0 && !op->error)
        op->error = rc;
    if (!let_kernel_pass(op))
        return false;
    mgds_exchange_staged(op);
    return true;
}

static bool run_copy_in(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_op *op = mgds_copying_op(work);
    int rc = copy_in(op);

    (void)by;
    mgds_engine_enter();
    mgds_copying_end(op, end_copy(op, rc));
    mgds_engine_leave();
    return true;
}

void mgds_fallback_init(void)
{
    static const struct mgds_work_handler handler = {run_copy_in,
                                                     mgds_copying_drop};

    mgds_work_handle(MGDS_WORK_COPY_IN, &handler);
}
