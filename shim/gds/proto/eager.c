/* Messages in slots of their receivers' rings; see protocol.h. */
#include "shim/gds/msg/envelope.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/proto/slot.h"
#include "shim/gds/stream/gstream.h"

static bool eager_command(const struct mgds_op *op,
                          struct mgds_command *command)
{
    *command = (struct mgds_command){.kind = MGDS_COMMAND_PUSH,
                                     .user = mgds_op_user(op),
                                     .bytes = op->call->bytes,
                                     .units = op->ring->slot.address,
                                     .serial = op->ring->slot.serial};
    return true;
}

/* Who takes it sees it in the slot. */
static void eager_reached(struct mgds_op *op)
{
    (void)op;
}

static int eager_accept(struct mgds_message *message,
                        const struct mgds_rts *rts)
{
    return mgds_slot_accept(message, rts, rts->bytes);
}

const struct mgds_protocol mgds_eager = {
    .id = MGDS_PROTOCOL_EAGER,
    .slotted = true,
    .buffered = true,
    .describe = mgds_slot_describe,
    .command = eager_command,
    .reached = eager_reached,
    .answer = mgds_slot_answer,
    .accept = eager_accept,
    .record = mgds_slot_record,
};
