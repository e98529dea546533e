/* Slots of messages; see slot.h. */
#include "shim/gds/proto/slot.h"

#include <errno.h>

#include "device/abi.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/envelope.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/transport/own_rings.h"
#include "shim/gds/wire/wire.h"

void mgds_slot_describe(const struct mgds_op *op, struct mgds_rts *rts)
{
    rts->serial = op->ring->slot.serial;
    rts->units = op->ring->slot.units;
    rts->ring = mgds_channel_ring_number(&op->ring->slot);
}

/* Where it is in a ring of ours, which has a number unless it is of a far way;
 * 0: nowhere. */
static uint64_t place_of(const struct mgds_message *message,
                         const struct mgds_rts *rts, size_t bytes)
{
    const struct mgds_comm *comm = message->comm;
    const struct mgds_wire_peer *peer = comm->member[rts->rank].peer;
    const struct mgds_gstream *stream =
        comm->streams > 0 ? comm->stream[rts->to_index] : NULL;

    if (rts->serial == 0 || !stream)
        return 0;
    if (rts->ring == 0)
        return mgds_channels_far_place(
            comm->channels, rts->to_index, (unsigned)message->match.source,
            rts->units, mgds_channel_units_of(bytes));
    return mgds_own_rings_place(rts->ring, mgds_wire_peer_process(peer),
                                mgds_gstream_context(stream), rts->units,
                                mgds_channel_units_of(bytes));
}

int mgds_slot_accept(struct mgds_message *message, const struct mgds_rts *rts,
                     size_t bytes)
{
    message->units = place_of(message, rts, bytes);
    if (message->units == 0) {
        mgds_envelope_refuse(MGDS_ENVELOPE_RTS, rts->rank,
                             "its place is not in the ring");
        return -EPROTO;
    }
    message->serial = rts->serial;
    message->ring = rts->ring;
    mgds_own_rings_hold(rts->ring);
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
