/* The end of operations; see finish.h. */
#include "shim/gds/domain/finish.h"

#include "shim/gds/domain/domain_state.h"
#include "shim/gds/mem/hostcopy.h"
#include "shim/gds/domain/note.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/report.h"

void mgds_op_leave_engine(struct mgds_op *op)
{
    mgds_op_forget(op);
    LIST_REMOVE(op, link);
    mgds_note_over(op);
    mgds_work_cancel(&op->late.work);
    mgds_message_unlink(op->message);
    mgds_op_put_later(op);
}

/* What a stream will pass, or a freed request left, no host call was told of:
 * the domain keeps it until one is. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_line *line)
{
    if (!op->error)
        return;
    mgds_report_debt(mgds_domain_debt(op->domain), op->error, op);
    if (line)
        mgds_report_debt(&line->owed, op->error, op);
}

void mgds_op_finish(struct mgds_op *op, int error)
{
    op->done = true;
    op->error = error;
    op->status.error = error;
    op->status.bytes = op->send ? 0 : op->got;
    mgds_note_done(op);
    if (!op->send && op->copy && op->got > 0)
        mgds_host_unpack(&op->user, op->copy, op->got);
    if (op->words) /* what its stream is to copy up */
        __atomic_store_n(&op->words[MGDS_OP_COUNT], op->direct ? 0 : op->got,
                         __ATOMIC_RELEASE);
    if (op->dropped && error)
        mgds_report_debt(mgds_domain_debt(op->domain), error, op);
    if (op->orphan)
        mgds_work_add(&op->copying, MGDS_WORK_COPY_OUT);
    if (op->wait) {
        mgds_op_keep_error(op, op->wait->line);
        mgds_wait_less(op->wait);
    } else if (op->waiting != MGDS_OP_FREE && op->stood &&
               !op->quit.told) { /* its stream waits for nothing */
        mgds_op_keep_error(op, op->stood);
    }
}
