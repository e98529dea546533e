/* The end of operations; see finish.h. */
#include "shim/gds/msg/finish.h"

#include "shim/gds/comm/caller.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/mem/hostcopy.h"
#include "shim/gds/comm/note.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/report.h"

void mgds_op_leave_engine(struct mgds_op *op)
{
    mgds_op_forget(op);
    LIST_REMOVE(op, link);
    mgds_note_over(op);
    if (op->queued)
        mgds_work_cancel(&op->queued->late.work);
    mgds_message_unlink(mgds_op_message(op));
    mgds_op_put_later(op);
}

/* What a stream will pass, or a freed request left, no host call was told of:
 * the communicator keeps it until one is. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_timeline *timeline)
{
    if (!op->error)
        return;
    mgds_report_debt(mgds_comm_debt(op->comm), op->error, op);
    if (timeline)
        mgds_report_debt(&timeline->owed, op->error, op);
}

/* The bytes of a receive, for who wants them. */
static void deliver_bytes(const struct mgds_op *op)
{
    const struct mgds_op_receiver *recv = op->recv;

    if (op->copy && recv->got > 0)
        mgds_host_unpack(&op->call->user, op->copy, recv->got);
    if (recv->words) /* what its stream is to copy up */
        __atomic_store_n(&recv->words[MGDS_OP_COUNT],
                         recv->direct ? 0 : recv->got, __ATOMIC_RELEASE);
}

/* Those who wait for it are told. */
static void tell_waiting(struct mgds_op *op)
{
    const struct mgds_op_waited *waited = op->waited;

    if (waited->wait) {
        mgds_op_keep_error(op, waited->wait->timeline);
        mgds_wait_less(waited->wait);
    } else if (op->waiting != MGDS_OP_FREE && waited->stood &&
               !mgds_op_quit_error(op)) { /* its stream waits for nothing */
        mgds_op_keep_error(op, waited->stood);
    }
}

void mgds_op_finish(struct mgds_op *op, int error)
{
    op->latches |= MGDS_OP_DONE;
    op->error = error;
    op->status.error = error;
    op->status.bytes = op->send ? 0 : op->recv->got;
    mgds_note_done(op);
    if (op->recv)
        deliver_bytes(op);
    if (op->caller->asking >= MGDS_OP_DROPPED)
        mgds_caller_done(op);
    tell_waiting(op);
}
