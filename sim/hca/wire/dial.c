/* Calls of DCIs, both ends. */
#include "sim/hca/wire/dial.h"

#include "sim/hca/dct.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire.h"
#include "sim/hca/wire/flow.h"
#include "sim/hca/wire/packet.h"

enum { QPN_MASK = 0xffffff };

static bool send_bare(const struct mgds_hca_flow *flow, uint16_t lid,
                      struct mgds_hca_packet *packet)
{
    struct mgds_hca_list nothing;

    mgds_hca_list_init(&nothing);
    return mgds_hca_flow_send(flow, lid, packet, &nothing);
}

void mgds_hca_dial_end(struct mgds_hca_flow *flow)
{
    struct mgds_hca_packet packet = {.opcode = MGDS_PACKET_DC_HANG_UP};

    if (flow->qp->attr.service != MGDS_SERVICE_DCI)
        return;
    if (flow->peer)
        send_bare(flow, flow->lid, &packet);
    flow->peer = 0;
    flow->dial.waiting = false;
}

void mgds_hca_dial_begin(struct mgds_hca_flow *flow,
                         const struct mgds_hca_request *request)
{
    mgds_hca_dial_end(flow);
    flow->lid =
        mgds_hca_fabric_find(flow->outlet->fabric, &request->av->address);
    flow->dial = (struct mgds_hca_dial){
        .waiting = true,
        .dct = request->to,
        .key = request->av->dc_key,
        .epoch = request->call,
    };
}

bool mgds_hca_dial_run(struct mgds_hca_flow *flow)
{
    struct mgds_hca_dial *dial = &flow->dial;
    struct mgds_hca_packet packet = {
        .opcode = MGDS_PACKET_DC_CALL,
        .qpn = dial->dct,
        .psn = flow->sender.una,
        .rkey = flow->qp->number,
        .address = dial->key,
        .atomic = {.operand = dial->epoch},
    };

    if (!dial->waiting || dial->sent)
        return false;
    dial->sent = send_bare(flow, flow->lid, &packet);
    return dial->sent;
}

/* The DCT takes a call. Without an answer, or without room for it, the call
 * comes again. */
static void take_call(const struct mgds_hca_flow *flow,
                      const struct mgds_hca_packet *packet)
{
    struct mgds_hca_call call = {
        .lid = packet->from,
        .from = packet->rkey & QPN_MASK,
        .key = packet->address,
        .epoch = packet->atomic.operand,
        .psn = packet->psn & MGDS_HCA_PSN_MASK,
    };
    struct mgds_hca_packet answer = {
        .opcode = MGDS_PACKET_DC_ACCEPT,
        .qpn = call.from,
        .atomic = {.operand = call.epoch},
    };
    struct mgds_hca_address caller = {.lid = call.lid};
    struct mgds_hca_qp *connection;
    struct mgds_hca_flow *made;
    enum mgds_hca_cause cause;

    if (mgds_hca_fabric_find(flow->outlet->fabric, &caller) == 0)
        return; /* it is gone; otherwise the way there is open now */
    cause = mgds_hca_dct_accept(flow->qp, &call, &connection);
    made = connection ? connection->flow : NULL;
    if (cause) {
        answer.opcode = MGDS_PACKET_DC_REFUSE;
        answer.aeth = mgds_hca_nak_of(cause);
    } else if (made) {
        made->lid = call.lid;
        answer.rkey = connection->number;
    } else {
        return;
    }
    send_bare(flow, call.lid, &answer);
}

/* The DCI takes an answer. Copies that are late change nothing. */
static void take_answer(struct mgds_hca_flow *flow,
                        const struct mgds_hca_packet *packet)
{
    if (!flow->dial.waiting || flow->dial.epoch != packet->atomic.operand)
        return;
    if (packet->opcode == MGDS_PACKET_DC_REFUSE) {
        mgds_hca_sender_fail(flow, mgds_hca_nak_cause(packet->aeth));
        return;
    }
    flow->dial.waiting = false;
    flow->peer = packet->rkey;
    mgds_hca_sender_reached(flow);
}

bool mgds_hca_dial_take(struct mgds_hca_flow *flow,
                        const struct mgds_hca_packet *packet)
{
    struct mgds_hca_qp *qp = flow->qp;
    bool is_target = mgds_hca_is_target(qp);

    if (is_target && packet->opcode == MGDS_PACKET_DC_CALL)
        take_call(flow, packet);
    else if (qp->dc.dct && packet->opcode == MGDS_PACKET_DC_HANG_UP)
        mgds_hca_dct_hang_up(qp);
    else if (qp->attr.service == MGDS_SERVICE_DCI &&
             (packet->opcode == MGDS_PACKET_DC_ACCEPT ||
              packet->opcode == MGDS_PACKET_DC_REFUSE))
        take_answer(flow, packet);
    else /* those belong nowhere else, and a DCT has no others */
        return is_target || (packet->opcode >= MGDS_PACKET_DC_CALL &&
                             packet->opcode <= MGDS_PACKET_DC_HANG_UP);
    return true;
}
