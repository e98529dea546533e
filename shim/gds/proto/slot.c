/* Slots of messages; see slot.h. */
#include "shim/gds/proto/slot.h"

#include <errno.h>

#include "device/abi.h"
#include "shim/gds/msg/envelope.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/am.h"

void mgds_slot_describe(const struct mgds_op *op, struct mgds_rts *rts)
{
    rts->serial = op->ring->slot.serial;
    rts->units = op->ring->slot.units;
}

int mgds_slot_accept(struct mgds_message *message, const struct mgds_rts *rts,
                     size_t bytes)
{
    if (rts->serial == 0 ||
        !mgds_channels_hold(message->comm->channels, rts->to_index,
                            (unsigned)message->match.source, rts->units,
                            bytes)) {
        mgds_envelope_refuse(MGDS_ENVELOPE_RTS, rts->rank,
                             "its place is not in the ring");
        return -EPROTO;
    }
    message->serial = rts->serial;
    message->units = rts->units;
    return 0;
}

void mgds_slot_answer(struct mgds_op *op)
{
    const struct mgds_data head = {
        .answer = op->send->answer, .error = op->error, .rank = op->comm->rank};

    mgds_op_step(op, MGDS_OP_ON_ANSWER);
    mgds_am_tell(op->comm->member[op->call->rank].peer, MGDS_ENVELOPE_DATA,
                 &head, sizeof(head));
}

void mgds_slot_record(const struct mgds_op *op, struct mgds_take_record *record)
{
    *record = (struct mgds_take_record){.serial = op->recv->message->serial,
                                        .address = mgds_op_units(op),
                                        .length = op->recv->message->bytes,
                                        .form = MGDS_TAKE_UNITS};
}
