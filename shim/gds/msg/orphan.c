/* Copies up of what receives have got, where no stream makes them; see
 * orphan.h. */
#include "shim/gds/msg/orphan.h"

#include "shim/gds/msg/copying.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/msg/work.h"

static bool claims_lift(struct mgds_op *op)
{
    bool mine;

    mgds_engine_enter();
    mine = mgds_op_is_done(op) && !op->send && op->bounce &&
           op->recv->got > 0 && !op->caller->lifting &&
           op->waiting == MGDS_OP_FREE && !op->recv->direct;
    if (mine)
        op->caller->lifting = true;
    mgds_engine_leave();
    return mine;
}

static void fail_op(struct mgds_op *op, int rc)
{
    mgds_engine_enter();
    if (!op->error)
        op->error = op->status.error = rc;
    mgds_engine_leave();
}

int mgds_op_lift(struct mgds_op *op)
{
    int rc = 1;

    if (claims_lift(op)) {
        rc = mgds_bounce_up(op->bounce, 0, op->recv->got);
        rc = rc < 0 ? rc : 1;
    }
    if (rc > 0 && op->caller->lifting)
        rc = mgds_bounce_poll(op->bounce);
    if (rc < 0) {
        fail_op(op, rc);
        return 1;
    }
    return rc;
}

struct scope {
    const struct mgds_gstream *stream;
    const struct mgds_comm *comm;
};

static bool is_in(const struct mgds_work *work, const void *arg)
{
    const struct scope *scope = (const struct scope *)arg;
    const struct mgds_op *op = mgds_copying_op(work);

    return (!scope->comm || op->comm == scope->comm) &&
           (!scope->stream ||
            (op->timeline && op->timeline->stream == scope->stream));
}

unsigned mgds_orphans(const struct mgds_gstream *stream,
                      const struct mgds_comm *comm)
{
    const struct scope scope = {stream, comm};
    unsigned count;

    mgds_engine_enter();
    count = mgds_works_count(MGDS_WORK_COPY_OUT, is_in, &scope);
    mgds_engine_leave();
    return count;
}

/* Nobody else copies it out: the last reference of a caller is the item's. */
static bool run_copy_out(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_op *op = mgds_copying_op(work);
    bool over = mgds_op_lift(op) != 0;

    (void)by;
    mgds_engine_enter();
    if (over && op->error)
        mgds_report_debt(mgds_comm_debt(op->comm), op->error, op);
    mgds_copying_end(op, over);
    mgds_engine_leave();
    return true;
}

void mgds_orphan_init(void)
{
    static const struct mgds_work_handler handler = {run_copy_out,
                                                     mgds_copying_drop};

    mgds_work_handle(MGDS_WORK_COPY_OUT, &handler);
}
