/* What a wait makes of its operations when it is put on a stream, and what is
 * left when the stream has passed it; see wait.h and timeline.h. */
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/finish.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/stream/gstream.h"

static void settle_op(struct mgds_op *op, const struct mgds_wait *wait)
{
    bool takes = op->state == MGDS_OP_TAKEN;
    bool awaits = op->waiting == MGDS_OP_AWAITING;
    int error = takes || awaits ? mgds_quit_settle(op) : 0;

    if (takes)
        mgds_exchange_taken(op, error || wait->timeline->released);
    if (awaits)
        mgds_exchange_awaited(op, !wait->broken && !wait->timeline->released,
                              error);
}

static void tell_over(const struct mgds_op *op)
{
    if (op->waited->sink.over)
        op->waited->sink.over(op->waited->sink.arg);
}

/* The stream has passed the wait and the copies behind it. */
static void pass_wait(struct mgds_fence *fence)
{
    struct mgds_wait *wait = (struct mgds_wait *)(void *)fence;

    mgds_gstream_passed(wait->timeline->stream, wait->takes);
    for (unsigned i = 0; i < wait->count; i++) {
        settle_op(wait->op[i], wait);
        tell_over(wait->op[i]);
    }
    mgds_wait_put(wait);
}

/* A send whose bytes the same stream has staged is done where the stream has
 * come to: nothing is to be waited for. */
static bool is_in_order(const struct mgds_op *op,
                        const struct mgds_timeline *timeline)
{
    return op->send && op->state != MGDS_OP_REFUSED && !mgds_op_is_lean(op) &&
           (op->bounce || op->call->bytes == 0 ||
            op->send->protocol->slotted) &&
           op->timeline == timeline && !mgds_op_is_sync(op) && !op->error;
}

/* A stream whose kernels see the word that says that it was copied, which was
 * not seen yet, waits for that itself. */
static bool can_await(const struct mgds_op *op,
                      const struct mgds_timeline *timeline)
{
    return op->send && op->send->protocol->copied && !mgds_op_is_moved(op) &&
           !op->error &&
           mgds_gstream_context(op->timeline->stream) ==
               mgds_gstream_context(timeline->stream);
}

/* How it will end is known, or finish tells. */
static void miss_op(struct mgds_op *op, struct mgds_wait *wait)
{
    op->waited->wait = wait;
    wait->missing++;
}

/* By its own stream, as far as that is known now. */
static bool can_take(const struct mgds_op *op,
                     const struct mgds_timeline *timeline)
{
    return mgds_op_can_take(op) && (!op->recv->demanded || op->recv->claim) &&
           op->timeline == timeline;
}

static void take_message(struct mgds_op *op, struct mgds_wait *wait)
{
    bool known = op->state == MGDS_OP_HELD;

    mgds_op_wait_step(op, known ? MGDS_OP_WAIT_ON_KNOW : MGDS_OP_WAIT_ON_TAKE);
    miss_op(op, wait);
    if (known)
        mgds_exchange_take(op);
}

/* The CPU lets the stream pass. */
static void hold_op(struct mgds_op *op, struct mgds_wait *wait)
{
    mgds_op_wait_step(op, MGDS_OP_WAIT_ON_HOLD);
    if (mgds_op_is_done(op)) {
        mgds_op_keep_error(op, wait->timeline);
    } else if (!is_in_order(op, wait->timeline)) {
        mgds_exchange_demand(op);
        miss_op(op, wait);
        wait->put = true;
    }
}

static void take_op(struct mgds_op *op, struct mgds_wait *wait)
{
    struct mgds_op_waited *waited = op->waited;

    __atomic_fetch_add(&op->comm->waited, 1, __ATOMIC_RELAXED);
    waited->stood = wait->timeline;
    if (waited->at == 0)
        waited->at = mgds_gstream_name(wait->timeline->stream);
    if (!mgds_op_is_done(op) && can_take(op, wait->timeline))
        take_message(op, wait);
    else if (!mgds_op_is_done(op) && can_await(op, wait->timeline))
        mgds_op_wait_step(op, MGDS_OP_WAIT_ON_AWAIT);
    else
        hold_op(op, wait);
}

void mgds_wait_fill(struct mgds_wait *wait, struct mgds_timeline *timeline)
{
    wait->timeline = timeline;
    wait->fence.passed = pass_wait;
    wait->fence.of_wait = true;
    for (unsigned i = 0; i < wait->count; i++)
        take_op(wait->op[i], wait);
    wait->put = wait->put && wait->missing > 0;
    wait->refs++;
    mgds_timeline_wait(timeline, wait);
}
