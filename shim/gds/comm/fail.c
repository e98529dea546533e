/* Operations fail; see fail.h. */
#include "shim/gds/comm/fail.h"

#include <errno.h>

#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/proto/flow.h"

static void fail_recv(struct mgds_op *op, int error)
{
    if (op->recv->match.posted)
        mgds_match_cancel(op->comm->match[op->call->index], &op->recv->match);
    mgds_exchange_unread(op, error);
    mgds_exchange_recv_lost(op, error);
}

/* A send whose stream has seen that it was copied is well. */
static void fail_send(struct mgds_op *op, int error)
{
    mgds_exchange_send_moved(op, MGDS_OP_ON_LOSE,
                             op->state == MGDS_OP_COPIED ? 0 : error);
}

static bool is_standing(const struct mgds_op *op)
{
    return mgds_op_is_taken(op) ||
           (op->waiting == MGDS_OP_AWAITING && !mgds_op_is_moved(op));
}

/* A stream may stand in the kernel that waits for the message, or until it was
 * copied: then how it ends is known when the stream is through. A message whose
 * sender's stream came to it is there. */
static void fail_standing(struct mgds_op *op, int error)
{
    if (op->send || !op->recv->message->match.reached)
        mgds_quit_begin(op, error);
}

/* An operation whose bytes the wire is at work on ends by itself. */
static void fail_op(struct mgds_op *op, int error)
{
    if (is_standing(op))
        fail_standing(op, error);
    else if (mgds_flow_is_on(op))
        mgds_flow_fail(op, error);
    else if (!mgds_op_may(op, MGDS_OP_ON_LOSE))
        return;
    else if (op->send)
        fail_send(op, error);
    else if (!op->recv->fetch)
        fail_recv(op, error);
}

const char *mgds_op_why_lost(const struct mgds_op *op)
{
    return mgds_op_peer(op) < 0
               ? "the processes of all other ranks have ended, or "
                 "cannot be reached any more"
               : "the process of that rank has ended, or cannot be "
                 "reached any more";
}

void mgds_op_mark_lost(struct mgds_op *op)
{
    op->latches |= MGDS_OP_LOST;
    mgds_op_get(op);
}

void mgds_op_fail_marked(struct mgds_op *op, int error, const char *why)
{
    if (why) {
        op->fail->why = why;
        mgds_report_lost(op);
    }
    fail_op(op, error);
    mgds_op_put_later(op);
}

void mgds_op_fail(struct mgds_op *op, int error, const char *why)
{
    if (mgds_op_is_lost(op))
        return;
    mgds_op_mark_lost(op);
    mgds_op_fail_marked(op, error, why);
}

bool mgds_op_fail_if_lost(struct mgds_op *op)
{
    if (mgds_comm_lost(op->comm, mgds_op_peer(op)) == 0)
        return false;
    mgds_op_fail(op, -ENOTCONN, mgds_op_why_lost(op));
    return true;
}
