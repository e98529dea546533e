/* Messages that did not get into a ring; see broken.h. */
#include "shim/gds/comm/broken.h"

#include "shim/gds/comm/admit.h"
#include "shim/gds/comm/fail.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/msg/am.h"

static const char did_not_come[] =
    "its bytes did not come: its sender's connection to here is broken";

static void tell_receiver(const struct mgds_op *op, int error)
{
    const struct mgds_comm *comm = op->comm;
    const struct mgds_broken head = {{comm->id, op->call->number, comm->rank,
                                      op->call->from_index, op->call->index, 0},
                                     error,
                                     0};

    mgds_am_tell(comm->member[op->call->rank].peer, MGDS_ENVELOPE_BROKEN, &head,
                 sizeof(head));
}

void mgds_broken_send(struct mgds_op *op, int error, const char *why)
{
    if (mgds_op_is_lost(op) || mgds_op_is_moved(op))
        return;
    if (op->state == MGDS_OP_CALLED) {
        tell_receiver(op, error);
        mgds_op_fail(op, error, why);
        return;
    }
    if (!op->error)
        op->error = error;
    op->fail->why = why;
    mgds_report_lost(op);
}

bool mgds_broken_fails(struct mgds_op *op)
{
    const struct mgds_message *message = mgds_op_message(op);

    if (!message || !message->broken)
        return false;
    mgds_op_fail(op, message->broken, did_not_come);
    return true;
}

/* What a kernel waits for may be there all the same: the kernel finds it. */
static void fail_recv(struct mgds_op *op, int error)
{
    if (mgds_op_is_lost(op) || mgds_op_is_quit(op))
        return;
    if (op->state == MGDS_OP_TAKEN) {
        op->fail->why = did_not_come;
        mgds_quit_begin(op, error);
    } else if (!mgds_op_is_moved(op)) {
        mgds_op_fail(op, error, did_not_come);
    }
}

static enum mgds_am_verdict take_broken(const struct mgds_comm *comm,
                                        const struct mgds_broken *broken)
{
    const struct mgds_tell *tell = &broken->message;
    int source = mgds_comm_source(comm, tell->rank, tell->index);
    struct mgds_match_send *send;
    struct mgds_op *op;

    switch (mgds_match_look(comm->match[tell->to_index], source, tell->number,
                            &send)) {
    case MGDS_MATCH_COMING:
        return MGDS_AM_EARLY;
    case MGDS_MATCH_WAITING:
        ((struct mgds_message *)(void *)send)->broken = broken->error;
        mgds_match_reached(comm->match[tell->to_index], source, tell->number);
        return MGDS_AM_DONE;
    case MGDS_MATCH_GONE:
        break;
    }
    op = mgds_message_recv(comm, source, tell->to_index, tell->number);
    if (op)
        fail_recv(op, broken->error);
    return MGDS_AM_DONE;
}

static enum mgds_am_verdict on_broken(const struct mgds_am *am)
{
    const struct mgds_broken *broken = &am->head.broken;
    enum mgds_am_verdict verdict;
    const struct mgds_comm *comm = mgds_admit(am, &verdict);

    if (!comm || comm->member[broken->message.rank].lost)
        return verdict;
    return take_broken(comm, broken);
}

void mgds_broken_init(void)
{
    mgds_am_handle(MGDS_ENVELOPE_BROKEN, on_broken);
}
