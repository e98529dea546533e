/* The responder's half of a flow. */
#include "sim/hca/wire/receiver.h"

#include <string.h>

#include "sim/hca/digest.h"
#include "sim/hca/engine.h"
#include "sim/hca/opcode.h"
#include "sim/hca/qp.h"
#include "sim/hca/transit.h"
#include "sim/hca/wire/flow.h"
#include "sim/hca/wire/packet.h"
#include "sim/hca/wire/placing.h"
#include "sim/hca/wqe.h"

void mgds_hca_receiver_open(struct mgds_hca_flow *flow)
{
    flow->receiver = (struct mgds_hca_receiver){
        .psn = flow->qp->set.receive_psn, .open = true};
}

void mgds_hca_receiver_settle(struct mgds_hca_flow *flow,
                              const struct mgds_hca_answer *answer)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;

    receiver->outcome = *answer;
    if (answer->data.at && answer->data.bytes <= sizeof(receiver->job.old))
        memcpy(&receiver->job.old, answer->data.at, answer->data.bytes);
}

static void owe_nak(struct mgds_hca_flow *flow, uint8_t aeth, uint32_t psn)
{
    if (!flow->reliable)
        return;
    flow->receiver.nak = aeth;
    flow->receiver.nak_psn = psn;
    flow->receiver.nak_sent = true;
}

/* Has the engine do a part of a request. False: it does not, and what the peer
 * is to hear of that is due. */
static bool execute(struct mgds_hca_flow *flow,
                    const struct mgds_hca_request *request, uint32_t psn)
{
    const struct mgds_hca_answer *outcome = &flow->receiver.outcome;

    mgds_hca_requested(flow->qp->hca, request);
    if (outcome->cause == MGDS_CAUSE_RECEIVE_EMPTY)
        owe_nak(flow, MGDS_AETH_RNR | mgds_hca_rnr_code(outcome->delay), psn);
    else if (outcome->cause && outcome->cause != MGDS_CAUSE_NO_RESPONSE)
        owe_nak(flow, MGDS_AETH_NAK | mgds_hca_nak_of(outcome->cause), psn);
    return !outcome->cause;
}

/* The next response of the job. The memory of a READ is looked up each time:
 * its key may have gone. */
static bool send_job(struct mgds_hca_flow *flow)
{
    struct mgds_hca_job *job = &flow->receiver.job;
    const struct mgds_hca_piece *data = &flow->receiver.outcome.data;
    uint16_t mtu = flow->qp->set.mtu;
    bool first = job->sent == 0, last = job->sent + 1 == job->packets;
    uint64_t offset = (uint64_t)job->sent * mtu;
    struct mgds_hca_list payload;
    struct mgds_hca_packet packet = {
        .psn = mgds_hca_psn_add(job->psn, job->sent),
        .atomic = {.operand = job->old},
        .opcode = MGDS_PACKET_ATOMIC_ACK,
    };

    mgds_hca_list_init(&payload);
    if (job->request.opcode == MGDS_WQE_RDMA_READ) {
        job->request.psn = flow->qp->receive.psn; /* as messages count now */
        job->request.offset = offset;
        if (!execute(flow, &job->request, packet.psn))
            return false;
        packet.opcode = mgds_hca_packet_opcode(
            MGDS_WQE_RDMA_READ,
            (uint8_t)(MGDS_PACKET_RESPONSE | first * MGDS_PACKET_FIRST |
                      last * MGDS_PACKET_LAST));
        if (job->request.bytes)
            mgds_hca_list_one(
                &payload, data->at + offset,
                mgds_hca_packet_bytes(job->request.bytes, mtu, job->sent));
    }
    if (!mgds_hca_flow_send(flow, flow->lid, &packet, &payload))
        return false;
    if (flow->qp->hca->config.digest)
        mgds_hca_digest_add(&flow->qp->hca->config.digest->sent, &payload,
                            offset);
    job->sent++;
    return true;
}

/* A response acknowledges what is before it. */
static int run_job(struct mgds_hca_flow *flow)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    int did = 0;

    while (receiver->job.packets > 0 && send_job(flow)) {
        did++;
        receiver->ack_due = false;
        if (receiver->job.sent == receiver->job.packets)
            receiver->job.packets = 0;
    }
    if (receiver->job.packets > 0 && receiver->outcome.cause)
        receiver->job.packets = 0;
    if (receiver->job.packets == 0 && receiver->dropped) {
        receiver->dropped = false;
        owe_nak(flow, MGDS_AETH_NAK | MGDS_NAK_SEQUENCE, receiver->psn);
    }
    return did;
}

static void begin_job(struct mgds_hca_flow *flow,
                      const struct mgds_hca_request *request, uint32_t psn,
                      uint32_t packets)
{
    struct mgds_hca_job *job = &flow->receiver.job;

    job->request = *request;
    job->request.more = true;
    job->psn = psn;
    job->packets = packets;
    job->sent = 0;
    flow->receiver.outcome.cause = MGDS_CAUSE_NONE;
    run_job(flow);
}

/* A message is about to take a receive, and is told that there is none. */
static bool is_stormed(struct mgds_hca_flow *flow,
                       const struct mgds_hca_request *request)
{
    bool sends = mgds_hca_packet_family(request->opcode) == MGDS_WQE_SEND;
    bool takes = sends ? request->offset == 0
                       : request->opcode == MGDS_WQE_RDMA_WRITE_IMM;

    if (!flow->reliable || !takes ||
        !mgds_hca_faults_not_ready(&flow->outlet->faults))
        return false;
    owe_nak(flow, MGDS_AETH_RNR | mgds_hca_rnr_code(flow->qp->set.rnr_delay),
            flow->receiver.psn);
    return true;
}

static bool is_write(const struct mgds_hca_request *request)
{
    return mgds_hca_packet_family(request->opcode) == MGDS_WQE_RDMA_WRITE;
}

/* Checked and counted now, and placed at once or later. What is not a plain
 * WRITE finds placed what was before it. */
static bool execute_part(struct mgds_hca_flow *flow,
                         const struct mgds_hca_request *request)
{
    struct mgds_hca_request check = *request;
    struct mgds_hca_list nothing;

    if (!mgds_hca_placing_wanted(flow, request)) {
        mgds_hca_placing_run(flow, true);
        if (flow->receiver.placing && is_write(request) && request->offset > 0)
            check.digest = 0; /* as of a part that is held */
        return execute(flow, &check, flow->receiver.psn);
    }
    mgds_hca_list_init(&nothing);
    check.payload = &nothing;
    if (!execute(flow, &check, flow->receiver.psn))
        return false;
    mgds_hca_placing_hold(flow, request);
    return true;
}

/* An answer acknowledges all that was before it. */
static void place_all(struct mgds_hca_flow *flow)
{
    mgds_hca_placing_run(flow, true);
    mgds_hca_transit_settle(flow->qp->hca, flow->qp);
}

static bool is_placed(const struct mgds_hca_flow *flow)
{
    return !mgds_hca_placing_busy(flow) && !mgds_hca_transit_busy(flow->qp);
}

static void take_atomic(struct mgds_hca_flow *flow,
                        const struct mgds_hca_request *request)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    uint32_t psn = receiver->psn;

    place_all(flow);
    if (!execute(flow, request, psn))
        return;
    receiver->replay[receiver->next_replay++ % MGDS_HCA_REPLAYS] =
        (struct mgds_hca_replay){
            .used = true, .psn = psn, .old = receiver->job.old};
    receiver->psn = mgds_hca_psn_add(psn, 1);
    begin_job(flow, request, psn, 1);
}

static void take_read(struct mgds_hca_flow *flow,
                      const struct mgds_hca_request *request)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    uint32_t psn = receiver->psn;
    uint32_t packets = mgds_hca_packet_count(request->bytes, flow->qp->set.mtu);

    place_all(flow);
    if (!execute(flow, request, psn))
        return;
    receiver->psn = mgds_hca_psn_add(psn, packets);
    begin_job(flow, request, psn, packets);
}

/* SEND and WRITE, packet by packet: what was placed counts when the engine has
 * taken it. */
static void take_part(struct mgds_hca_flow *flow,
                      const struct mgds_hca_packet *packet,
                      const struct mgds_hca_request *request)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;

    if (is_stormed(flow, request))
        return;
    if (!execute_part(flow, request)) {
        receiver->within &= flow->reliable;
        return;
    }
    receiver->psn = mgds_hca_psn_add(receiver->psn, 1);
    receiver->within = request->more;
    receiver->message = *request;
    receiver->message.offset += packet->bytes;
    receiver->ack_due |= (packet->flags & MGDS_PACKET_ACK_REQUEST) != 0;
}

/* The request that a packet begins or goes on with. */
static struct mgds_hca_request request_of(const struct mgds_hca_flow *flow,
                                          const struct mgds_hca_packet *packet,
                                          const struct mgds_hca_list *payload)
{
    const struct mgds_hca_packet_row *row = mgds_hca_packet_row(packet->opcode);
    struct mgds_hca_request request = {.address = packet->address,
                                       .rkey = packet->rkey,
                                       .bytes = packet->length};

    if (!(row->traits & MGDS_PACKET_FIRST))
        request = flow->receiver.message;
    request.opcode = row->operation;
    request.to = flow->qp->number;
    request.from = flow->qp->set.peer;
    request.psn = flow->qp->receive.psn;
    request.imm = packet->imm;
    request.solicited = packet->flags & MGDS_PACKET_SOLICITED;
    request.atomic = packet->atomic;
    request.more = !(row->traits & MGDS_PACKET_LAST);
    if (!flow->reliable && !request.more)
        request.digest = packet->last.digest;
    request.payload = payload;
    if (mgds_hca_packet_family(row->operation) == MGDS_WQE_SEND)
        request.bytes = request.offset + packet->bytes;
    return request;
}

/* Packets of a message come in their order, and have the bytes they must. */
static bool is_in_sequence(const struct mgds_hca_flow *flow,
                           const struct mgds_hca_packet *packet,
                           const struct mgds_hca_request *request)
{
    const struct mgds_hca_receiver *receiver = &flow->receiver;
    uint8_t traits = mgds_hca_packet_row(packet->opcode)->traits;
    bool first = traits & MGDS_PACKET_FIRST;
    uint64_t end = request->offset + packet->bytes;

    if (first == receiver->within || packet->bytes > flow->qp->set.mtu)
        return false;
    if (!first && mgds_hca_packet_family(receiver->message.opcode) !=
                      mgds_hca_packet_family(request->opcode))
        return false;
    if (request->more && packet->bytes != flow->qp->set.mtu)
        return false;
    if (request->bytes > MGDS_HCA_MESSAGE_MAX ||
        (!request->more && !first && packet->bytes == 0))
        return false;
    if (is_write(request))
        return request->more ? end < request->bytes : end == request->bytes;
    return true;
}

/* No such packet may come: the engine breaks the QP as for an operation that it
 * does not know. */
static void refuse_packet(struct mgds_hca_flow *flow,
                          struct mgds_hca_request *request)
{
    request->opcode = MGDS_WQE_NOP;
    request->more = false;
    execute(flow, request, flow->receiver.psn);
}

static void take_due(struct mgds_hca_flow *flow,
                     const struct mgds_hca_packet *packet,
                     const struct mgds_hca_list *payload)
{
    struct mgds_hca_request request = request_of(flow, packet, payload);

    if (flow->receiver.job.packets > 0) {
        flow->receiver.dropped = true;
        return;
    }
    flow->receiver.nak_sent = false;
    if (!is_in_sequence(flow, packet, &request))
        refuse_packet(flow, &request);
    else if (request.opcode == MGDS_WQE_RDMA_READ)
        take_read(flow, &request);
    else if (mgds_hca_opcode(request.opcode)->traits & MGDS_OP_ATOMIC)
        take_atomic(flow, &request);
    else
        take_part(flow, packet, &request);
}

static void read_again(struct mgds_hca_flow *flow,
                       const struct mgds_hca_packet *packet,
                       const struct mgds_hca_list *payload)
{
    struct mgds_hca_request request = request_of(flow, packet, payload);
    uint32_t packets = mgds_hca_packet_count(request.bytes, flow->qp->set.mtu);
    uint32_t behind = mgds_hca_psn_add(packet->psn, packets);

    if (request.bytes <= MGDS_HCA_MESSAGE_MAX &&
        mgds_hca_psn_diff(behind, flow->receiver.psn) <= 0)
        begin_job(flow, &request, packet->psn, packets);
}

static void answer_again(struct mgds_hca_flow *flow,
                         const struct mgds_hca_packet *packet,
                         const struct mgds_hca_list *payload)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    struct mgds_hca_request request = request_of(flow, packet, payload);

    for (unsigned i = 0; i < MGDS_HCA_REPLAYS; i++) {
        if (receiver->replay[i].used &&
            receiver->replay[i].psn == packet->psn) {
            receiver->job.old = receiver->replay[i].old;
            begin_job(flow, &request, packet->psn, 1);
            return;
        }
    }
}

static void take_duplicate(struct mgds_hca_flow *flow,
                           const struct mgds_hca_packet *packet,
                           const struct mgds_hca_list *payload)
{
    uint8_t operation = mgds_hca_packet_row(packet->opcode)->operation;
    bool answered = mgds_hca_opcode(operation)->traits & MGDS_OP_ANSWERED;

    if (!answered)
        flow->receiver.ack_due = true;
    else if (flow->receiver.job.packets > 0)
        return;
    else if (operation == MGDS_WQE_RDMA_READ)
        read_again(flow, packet, payload);
    else
        answer_again(flow, packet, payload);
}

/* What was lost is not asked for: the message goes, and the next one that
 * begins is taken. */
static void take_unreliable(struct mgds_hca_flow *flow,
                            const struct mgds_hca_packet *packet,
                            const struct mgds_hca_list *payload)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    bool first =
        mgds_hca_packet_row(packet->opcode)->traits & MGDS_PACKET_FIRST;
    struct mgds_hca_request request;

    if (first) {
        receiver->psn = packet->psn;
        receiver->within = false;
    }
    if (packet->psn != receiver->psn || first == receiver->within)
        receiver->within = false;
    if (!first && !receiver->within)
        return;
    request = request_of(flow, packet, payload);
    if (is_in_sequence(flow, packet, &request))
        take_part(flow, packet, &request);
    else
        receiver->within = false;
}

void mgds_hca_receiver_take(struct mgds_hca_flow *flow,
                            const struct mgds_hca_packet *packet,
                            const struct mgds_hca_list *payload)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    int32_t ahead = mgds_hca_psn_diff(packet->psn, receiver->psn);

    if (!receiver->open || flow->qp->state == MGDS_STATE_ERR)
        return;
    if (flow->reliable && ahead != 0)
        mgds_hca_flow_count(flow, ahead > 0 ? MGDS_COUNT_GAPS
                                            : MGDS_COUNT_DUPLICATES);
    if (!flow->reliable)
        take_unreliable(flow, packet, payload);
    else if (ahead == 0)
        take_due(flow, packet, payload);
    else if (ahead < 0)
        take_duplicate(flow, packet, payload);
    else if (!receiver->nak_sent)
        owe_nak(flow, MGDS_AETH_NAK | MGDS_NAK_SEQUENCE, receiver->psn);
}

static bool send_aeth(struct mgds_hca_flow *flow, uint8_t aeth, uint32_t psn)
{
    struct mgds_hca_packet packet = {
        .opcode = MGDS_PACKET_ACK, .aeth = aeth, .psn = psn};
    struct mgds_hca_list nothing;

    mgds_hca_list_init(&nothing);
    return mgds_hca_flow_send(flow, flow->lid, &packet, &nothing);
}

int mgds_hca_receiver_run(struct mgds_hca_flow *flow)
{
    struct mgds_hca_receiver *receiver = &flow->receiver;
    int did = mgds_hca_placing_run(flow, false) + run_job(flow);

    if (receiver->job.packets > 0)
        return did;
    if (receiver->nak && send_aeth(flow, receiver->nak, receiver->nak_psn)) {
        receiver->nak = 0;
        receiver->ack_due = false;
        did++;
    }
    if (receiver->nak == 0 && receiver->ack_due && is_placed(flow) &&
        send_aeth(flow, MGDS_AETH_ACK,
                  mgds_hca_psn_add(receiver->psn, MGDS_HCA_PSN_MASK))) {
        receiver->ack_due = false;
        did++;
    }
    return did;
}

bool mgds_hca_receiver_busy(const struct mgds_hca_flow *flow)
{
    const struct mgds_hca_receiver *receiver = &flow->receiver;

    return receiver->job.packets > 0 || receiver->nak || receiver->ack_due ||
           mgds_hca_placing_busy(flow);
}

uint64_t mgds_hca_receiver_due(const struct mgds_hca_flow *flow)
{
    return mgds_hca_placing_due(flow);
}

void mgds_hca_receiver_fini(struct mgds_hca_flow *flow)
{
    mgds_hca_placing_fini(flow);
}
