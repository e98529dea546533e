/* Messages whose bytes the CPUs move; see protocol.h. */
#include "shim/gds/proto/fragments.h"

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/proto/flow.h"
#include "shim/gds/stream/gstream.h"

/* The common part says all. */
static void fragments_describe(const struct mgds_op *op, struct mgds_rts *rts)
{
    (void)op;
    (void)rts;
}

static bool fragments_command(const struct mgds_op *op,
                              struct mgds_command *command)
{
    *command =
        (struct mgds_command){.kind = MGDS_COMMAND_PACK, .bounce = op->bounce};
    return op->bounce != NULL && !mgds_op_is_lean(op);
}

/* The answer waits for the PULL, too. */
static void fragments_reached(struct mgds_op *op)
{
    (void)op;
}

/* The wire is done with the bytes of a send. */
static void data_done(void *arg, int rc)
{
    mgds_engine_enter();
    mgds_exchange_send_moved((struct mgds_op *)arg,
                             rc < 0 ? MGDS_OP_ON_FAIL : MGDS_OP_ON_SENT, rc);
    mgds_engine_leave();
}

/* In parts if an end has no memory for all of it. */
static bool is_flow(const struct mgds_op *op)
{
    return !op->error && op->send->wanted > 0 &&
           (op->send->part > 0 || mgds_op_is_lean(op));
}

static void send_all(struct mgds_op *op)
{
    const struct mgds_data head = {
        .answer = op->send->answer, .error = op->error, .rank = op->comm->rank};
    struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_DATA,
                                        .head = &head,
                                        .head_bytes = sizeof(head),
                                        .done = data_done,
                                        .arg = op};
    int rc;

    mgds_op_step(op, MGDS_OP_ON_SEND);
    if (!op->error && op->send->wanted > 0) {
        message.body = mgds_op_place(op);
        message.body_bytes = op->send->wanted;
    }
    rc = op->send->transport->post(op->comm->member[op->call->rank].peer,
                                   &message);
    if (rc < 0)
        mgds_exchange_send_moved(op, MGDS_OP_ON_FAIL, rc);
}

void mgds_fragments_answer(struct mgds_op *op)
{
    if (is_flow(op)) {
        mgds_op_step(op, MGDS_OP_ON_FLOW);
        mgds_flow_send(op, op->send->part);
    } else {
        send_all(op);
    }
}

static int fragments_accept(struct mgds_message *message,
                            const struct mgds_rts *rts)
{
    (void)message;
    (void)rts;
    return 0;
}

const struct mgds_protocol mgds_fragments = {
    .id = MGDS_PROTOCOL_FRAGMENTS,
    .carried = true,
    .describe = fragments_describe,
    .command = fragments_command,
    .reached = fragments_reached,
    .answer = mgds_fragments_answer,
    .accept = fragments_accept,
};
