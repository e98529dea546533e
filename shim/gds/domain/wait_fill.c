/* What a wait makes of its operations when it is put on a stream, and what is
 * left when the stream has passed it; see wait.h and line.h. */
#include "shim/gds/domain/exchange.h"
#include "shim/gds/domain/finish.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/quit.h"
#include "shim/gds/domain/wait.h"
#include "shim/gds/queue/gstream.h"

static void settle(struct mgds_op *op, const struct mgds_wait *wait)
{
    bool takes = op->state == MGDS_OP_TAKEN;
    bool awaits = op->waiting == MGDS_OP_AWAITING;
    int error = takes || awaits ? mgds_quit_settle(op) : 0;

    if (takes)
        mgds_exchange_taken(op, error || wait->line->released);
    if (awaits)
        mgds_exchange_awaited(op, !wait->broken && !wait->line->released,
                              error);
}

static void tell_over(const struct mgds_op *op)
{
    if (op->sink.over)
        op->sink.over(op->sink.arg);
}

/* The stream has passed the wait and the copies behind it. */
static void passed(struct mgds_mark *mark)
{
    struct mgds_wait *wait = (struct mgds_wait *)(void *)mark;

    mgds_gstream_passed(wait->line->stream, wait->takes);
    for (unsigned i = 0; i < wait->count; i++) {
        settle(wait->op[i], wait);
        tell_over(wait->op[i]);
    }
    mgds_wait_put(wait);
}

/* A send whose bytes the same stream has staged is done where the stream has
 * come to: nothing is to be waited for. */
static bool is_in_order(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send && op->state != MGDS_OP_REFUSED &&
           (op->bounce || op->bytes == 0 || op->protocol->slotted) &&
           op->line == line && !op->sync && !op->error;
}

/* A stream whose kernels see the word that says that it was copied, which was
 * not seen yet, waits for that itself. */
static bool can_await(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send && op->protocol->copied && !mgds_op_is_moved(op) &&
           !op->error &&
           mgds_gstream_context(op->line->stream) ==
               mgds_gstream_context(line->stream);
}

/* How it will end is known, or finish tells. */
static void miss(struct mgds_op *op, struct mgds_wait *wait)
{
    op->wait = wait;
    wait->missing++;
}

/* By its own stream, as far as that is known now. */
static bool can_take(const struct mgds_op *op, const struct mgds_line *line)
{
    return mgds_op_can_take(op) && (!op->demanded || op->claim) &&
           op->line == line;
}

static enum mgds_op_wait_event event_of(const struct mgds_op *op,
                                        const struct mgds_line *line)
{
    if (op->done)
        return MGDS_OP_WAIT_ON_HOLD;
    if (can_take(op, line))
        return op->state == MGDS_OP_HELD ? MGDS_OP_WAIT_ON_KNOW
                                         : MGDS_OP_WAIT_ON_TAKE;
    return can_await(op, line) ? MGDS_OP_WAIT_ON_AWAIT : MGDS_OP_WAIT_ON_HOLD;
}

/* The CPU lets the stream pass. */
static void hold(struct mgds_op *op, struct mgds_wait *wait)
{
    if (op->done) {
        mgds_op_keep_error(op, wait->line);
    } else if (!is_in_order(op, wait->line)) {
        mgds_exchange_demand(op);
        miss(op, wait);
        wait->put = true;
    }
}

static void take(struct mgds_op *op, struct mgds_wait *wait)
{
    mgds_op_wait_step(op, event_of(op, wait->line));
    __atomic_fetch_add(&op->domain->waited, 1, __ATOMIC_RELAXED);
    op->stood = wait->line;
    if (op->at == 0)
        op->at = mgds_gstream_name(wait->line->stream);
    if (op->waiting == MGDS_OP_WAITED)
        hold(op, wait);
    if (mgds_op_waiting_takes(op->waiting))
        miss(op, wait);
    if (op->waiting == MGDS_OP_KNOWN)
        mgds_exchange_take(op);
}

void mgds_wait_fill(struct mgds_wait *wait, struct mgds_line *line)
{
    wait->line = line;
    wait->mark.passed = passed;
    wait->mark.of_wait = true;
    for (unsigned i = 0; i < wait->count; i++)
        take(wait->op[i], wait);
    wait->put = wait->put && wait->missing > 0;
    wait->refs++;
    mgds_line_wait(line, wait);
}
