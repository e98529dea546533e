/* The requester's half of a flow. */
#include "sim/hca/wire/sender.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/opcode.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire/flow.h"
#include "sim/hca/wire/packet.h"

enum {
    PSNS_AHEAD = 1 << 22, /* with the longest message below half of them */
    TIMEOUT_UNIT = 4096,  /* ns: of 2^timeout */
    LOOK = 5000000        /* ns between looks at a peer that is late, at most */
};

static struct mgds_hca_sent *sent_at(const struct mgds_hca_sender *sender,
                                     uint32_t number)
{
    return &sender->window[number % MGDS_HCA_WINDOW];
}

static uint64_t now_of(const struct mgds_hca_flow *flow)
{
    return mgds_hca_now(flow->qp->hca);
}

static bool is_unacked(const struct mgds_hca_sender *sender)
{
    return mgds_hca_psn_diff(sender->end, sender->una) > 0;
}

/* Of what is sent next. */
static uint32_t cursor_psn(const struct mgds_hca_sender *sender)
{
    if (sender->at == sender->next)
        return sender->psn;
    return mgds_hca_psn_add(sent_at(sender, sender->at)->psn, sender->packet);
}

static void start_timer(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;

    sender->deadline = 0;
    sender->watch = (struct mgds_hca_watch){.stage = MGDS_WATCH_NEW};
    if (flow->qp->set.timeout && (is_unacked(sender) || flow->dial.waiting))
        sender->deadline =
            now_of(flow) + ((uint64_t)TIMEOUT_UNIT << flow->qp->set.timeout);
}

static void refill_retries(struct mgds_hca_flow *flow)
{
    flow->sender.retries = flow->qp->set.retries;
    flow->sender.rnr_retries = flow->qp->set.rnr_retry;
    flow->sender.gone_back = false;
}

int mgds_hca_sender_open(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;
    struct mgds_hca_sent *window = sender->window;

    if (!window)
        window = malloc(MGDS_HCA_WINDOW * sizeof(*window));
    if (!window)
        return -ENOMEM;
    *sender = (struct mgds_hca_sender){
        .window = window,
        .psn = flow->qp->set.send_psn,
        .una = flow->qp->set.send_psn,
        .end = flow->qp->set.send_psn,
        .open = true,
    };
    refill_retries(flow);
    return 0;
}

void mgds_hca_sender_close(struct mgds_hca_flow *flow)
{
    flow->sender.open = false;
    flow->sender.deadline = 0;
}

void mgds_hca_sender_fini(struct mgds_hca_flow *flow)
{
    free(flow->sender.window);
    flow->sender = (struct mgds_hca_sender){.window = NULL};
}

bool mgds_hca_sender_ready(const struct mgds_hca_flow *flow)
{
    const struct mgds_hca_sender *sender = &flow->sender;

    return sender->open && sender->next - sender->first < MGDS_HCA_WINDOW &&
           mgds_hca_psn_diff(sender->psn, sender->una) < PSNS_AHEAD;
}

/* A GID that nobody has is found by nobody. */
static void address_datagram(const struct mgds_hca_flow *flow,
                             struct mgds_hca_sent *sent,
                             const struct mgds_hca_av *av)
{
    struct mgds_hca_fabric *fabric = flow->outlet->fabric;
    int index;

    sent->qkey = av->qkey;
    sent->header = (struct mgds_hca_deth){
        .flow_label = av->flow_label,
        .global = av->address.global,
        .traffic_class = av->traffic_class,
        .hop_limit = av->hop_limit,
        .sl = av->sl,
    };
    sent->lid = mgds_hca_fabric_find(fabric, &av->address);
    if (!av->address.global || sent->lid == 0)
        return;
    index = mgds_hca_inbox_find_gid(fabric->link[sent->lid].inbox,
                                    &av->address.gid);
    sent->header.gid_index = (uint8_t)index;
    sent->header.from = fabric->inbox->gid[av->gid_index % MGDS_HCA_GIDS];
}

void mgds_hca_sender_push(struct mgds_hca_flow *flow,
                          const struct mgds_hca_request *request)
{
    struct mgds_hca_sender *sender = &flow->sender;
    struct mgds_hca_sent *sent = sent_at(sender, sender->next++);
    uint8_t traits = mgds_hca_opcode(request->opcode)->traits;

    if (request->call)
        mgds_hca_dial_begin(flow, request);
    sent->request = *request;
    mgds_hca_list_init(&sent->list);
    if (request->payload)
        mgds_hca_list_part(&sent->list, request->payload, 0, request->bytes);
    sent->psn = sender->psn;
    sent->got = 0;
    sent->answered = traits & MGDS_OP_ANSWERED;
    sent->packets =
        traits & MGDS_OP_ATOMIC
            ? 1
            : mgds_hca_packet_count(request->bytes, flow->qp->set.mtu);
    sent->lid = flow->lid;
    sent->datagram = flow->qp->attr.service == MGDS_SERVICE_UD;
    if (sent->datagram)
        address_datagram(flow, sent, request->av);
    sender->psn = mgds_hca_psn_add(sender->psn, sent->packets);
    mgds_hca_sender_run(flow);
}

/* The fields of a message that its first packet carries. What of a READ has
 * come is not asked for again. */
static void fill_first(const struct mgds_hca_flow *flow,
                       const struct mgds_hca_sent *sent,
                       struct mgds_hca_packet *packet)
{
    uint64_t skip = (uint64_t)sent->got * flow->qp->set.mtu;

    packet->address = sent->request.address + skip;
    packet->rkey = sent->request.rkey;
    packet->length = (uint32_t)(sent->request.bytes - skip);
    if (mgds_hca_opcode(sent->request.opcode)->traits & MGDS_OP_ATOMIC)
        packet->atomic = sent->request.atomic;
}

static void fill_datagram(const struct mgds_hca_flow *flow,
                          const struct mgds_hca_sent *sent,
                          struct mgds_hca_packet *packet)
{
    packet->qpn = sent->request.to;
    packet->rkey = sent->qkey;
    packet->address = flow->qp->number;
    packet->length = sent->request.digest;
    packet->datagram = sent->header;
}

static void fill_last(const struct mgds_hca_flow *flow,
                      const struct mgds_hca_sent *sent,
                      struct mgds_hca_packet *packet)
{
    if (!sent->answered)
        packet->imm = sent->request.imm;
    if (flow->qp->attr.service == MGDS_SERVICE_UC)
        packet->last.digest = sent->request.digest;
    packet->flags = (uint8_t)(flow->reliable * MGDS_PACKET_ACK_REQUEST |
                              sent->request.solicited * MGDS_PACKET_SOLICITED);
}

/* The packet at the cursor. A request that is answered with data is one, though
 * it has the PSNs of its responses. */
static bool send_one(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;
    const struct mgds_hca_sent *sent = sent_at(sender, sender->at);
    uint32_t number = sender->packet;
    bool first = sent->answered || number == 0;
    bool last = sent->answered || number + 1 == sent->packets;
    uint16_t mtu = flow->qp->set.mtu;
    struct mgds_hca_list payload;
    struct mgds_hca_packet packet = {
        .opcode = mgds_hca_packet_opcode(
            sent->request.opcode,
            (uint8_t)(first * MGDS_PACKET_FIRST | last * MGDS_PACKET_LAST)),
        .psn = mgds_hca_psn_add(sent->psn, number),
    };

    if (sent->datagram)
        fill_datagram(flow, sent, &packet);
    else if (first)
        fill_first(flow, sent, &packet);
    if (last)
        fill_last(flow, sent, &packet);
    else if (flow->reliable &&
             number % MGDS_HCA_ACK_EVERY == MGDS_HCA_ACK_EVERY - 1)
        packet.flags = MGDS_PACKET_ACK_REQUEST;
    mgds_hca_list_part(&payload, &sent->list, (uint64_t)number * mtu, mtu);
    return mgds_hca_flow_send(flow, sent->lid, &packet, &payload);
}

static void advance_cursor(struct mgds_hca_sender *sender)
{
    const struct mgds_hca_sent *sent = sent_at(sender, sender->at);
    uint32_t psn;

    sender->packet = sent->answered ? sent->packets : sender->packet + 1;
    psn = cursor_psn(sender);
    if (mgds_hca_psn_diff(psn, sender->end) > 0)
        sender->end = psn;
    if (sender->packet < sent->packets)
        return;
    sender->at++;
    sender->packet = 0;
}

static bool may_send(struct mgds_hca_flow *flow)
{
    const struct mgds_hca_sender *sender = &flow->sender;

    return sender->open && !flow->dial.waiting && sender->at != sender->next &&
           mgds_hca_psn_diff(cursor_psn(sender), sender->una) <
               MGDS_HCA_UNACKED &&
           (sender->resume == 0 || now_of(flow) >= sender->resume);
}

/* What was sent is done with. */
static void settle_sent(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;
    struct mgds_hca_answer answer = {.to = flow->qp->number};

    while (sender->first != sender->at) {
        answer.psn = sent_at(sender, sender->first++)->request.psn;
        mgds_hca_answered(flow->qp->hca, &answer);
    }
}

static int send_some(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;
    int did = 0;

    for (; may_send(flow) && send_one(flow); did++) {
        sender->resume = 0;
        advance_cursor(sender);
        if (!flow->reliable)
            sender->una = sender->end;
    }
    if (did > 0 && !flow->reliable)
        settle_sent(flow);
    else if (did > 0 && sender->deadline == 0)
        start_timer(flow);
    return did;
}

/* The oldest packet that is not acknowledged is sent next. */
static void go_back(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;

    sender->gone_back = true;
    flow->dial.sent = false;
    sender->at = sender->first;
    sender->packet = 0;
    if (sender->first != sender->next)
        sender->packet = (uint32_t)mgds_hca_psn_diff(
            sender->una, sent_at(sender, sender->first)->psn);
    start_timer(flow);
}

static void answer(struct mgds_hca_flow *flow, const struct mgds_hca_sent *sent,
                   enum mgds_hca_cause cause)
{
    struct mgds_hca_answer answer = {
        .to = flow->qp->number, .psn = sent->request.psn, .cause = cause};

    mgds_hca_answered(flow->qp->hca, &answer);
}

void mgds_hca_sender_fail(struct mgds_hca_flow *flow, enum mgds_hca_cause cause)
{
    struct mgds_hca_sender *sender = &flow->sender;

    mgds_hca_sender_close(flow);
    if (sender->first != sender->next)
        answer(flow, sent_at(sender, sender->first), cause);
}

void mgds_hca_sender_reached(struct mgds_hca_flow *flow)
{
    refill_retries(flow);
    start_timer(flow);
}

/* una moves to here, and the cursor is not behind it. */
static void move_una(struct mgds_hca_flow *flow, uint32_t psn)
{
    struct mgds_hca_sender *sender = &flow->sender;
    bool behind;

    if (psn == sender->una)
        return;
    sender->una = psn;
    refill_retries(flow);
    behind = mgds_hca_psn_diff(cursor_psn(sender), psn) < 0 ||
             (int32_t)(sender->at - sender->first) < 0;
    if (behind)
        go_back(flow);
    sender->gone_back = false;
    start_timer(flow);
}

/* Everything before this PSN is acknowledged. False: not quite, a response is
 * missing; una stands there. */
static bool acknowledge(struct mgds_hca_flow *flow, uint32_t psn)
{
    struct mgds_hca_sender *sender = &flow->sender;
    const struct mgds_hca_sent *sent = NULL;
    uint32_t behind;

    while (sender->first != sender->next) {
        sent = sent_at(sender, sender->first);
        behind = mgds_hca_psn_add(sent->psn, sent->packets);
        if (sent->answered || mgds_hca_psn_diff(behind, psn) > 0)
            break;
        sender->first++;
        answer(flow, sent, MGDS_CAUSE_NONE);
        sent = NULL;
    }
    if (sent && sent->answered) {
        behind = mgds_hca_psn_add(sent->psn, sent->got);
        move_una(flow, behind);
        return mgds_hca_psn_diff(psn, behind) <= 0;
    }
    move_una(flow, psn);
    return true;
}

/* A response is missing: its request is repeated. */
static void ask_again(struct mgds_hca_flow *flow)
{
    if (!flow->sender.gone_back)
        go_back(flow);
}

static void take_rnr(struct mgds_hca_flow *flow, uint8_t code)
{
    struct mgds_hca_sender *sender = &flow->sender;

    mgds_hca_flow_count(flow, MGDS_COUNT_RNR_NAKS);
    if (sender->resume)
        return;
    if (sender->rnr_retries == 0) {
        mgds_hca_sender_fail(flow, MGDS_CAUSE_RECEIVE_EMPTY);
        return;
    }
    if (sender->rnr_retries != MGDS_HCA_RNR_FOREVER)
        sender->rnr_retries--;
    go_back(flow);
    sender->resume = now_of(flow) + mgds_hca_rnr_ns(code);
    sender->deadline = 0;
}

static void take_nak(struct mgds_hca_flow *flow, uint8_t reason)
{
    enum mgds_hca_cause cause = mgds_hca_nak_cause(reason);

    if (reason == MGDS_NAK_SEQUENCE)
        mgds_hca_flow_count(flow, MGDS_COUNT_SEQUENCE_NAKS);
    if (reason == MGDS_NAK_SEQUENCE && !flow->sender.resume)
        ask_again(flow);
    else if (cause)
        mgds_hca_sender_fail(flow, cause);
}

static void take_ack(struct mgds_hca_flow *flow,
                     const struct mgds_hca_packet *packet)
{
    uint8_t kind = packet->aeth & MGDS_AETH_KIND;
    uint8_t value = packet->aeth & MGDS_AETH_VALUE;
    uint32_t psn = packet->psn;

    if (kind == MGDS_AETH_ACK)
        psn = mgds_hca_psn_add(psn, 1);
    if (!acknowledge(flow, psn))
        ask_again(flow);
    else if (kind == MGDS_AETH_RNR)
        take_rnr(flow, value);
    else if (kind == MGDS_AETH_NAK)
        take_nak(flow, value);
}

/* Bytes that this response of a message has, and whether it is of its kind. */
static bool is_response(const struct mgds_hca_flow *flow,
                        const struct mgds_hca_sent *sent,
                        const struct mgds_hca_packet *packet)
{
    uint8_t traits = mgds_hca_opcode(sent->request.opcode)->traits;

    if (traits & MGDS_OP_ATOMIC)
        return packet->opcode == MGDS_PACKET_ATOMIC_ACK;
    return packet->opcode != MGDS_PACKET_ATOMIC_ACK &&
           packet->bytes == mgds_hca_packet_bytes(sent->request.bytes,
                                                  flow->qp->set.mtu, sent->got);
}

static void deliver(struct mgds_hca_flow *flow,
                    const struct mgds_hca_sent *sent,
                    struct mgds_hca_piece data)
{
    struct mgds_hca_answer answer = {
        .to = flow->qp->number,
        .psn = sent->request.psn,
        .offset = (uint64_t)sent->got * flow->qp->set.mtu,
        .data = data,
    };

    answer.more = sent->got + 1 < sent->packets;
    mgds_hca_answered(flow->qp->hca, &answer);
}

/* A payload that goes around the end of the medium's memory comes in two. */
static void take_data(struct mgds_hca_flow *flow, struct mgds_hca_sent *sent,
                      const struct mgds_hca_packet *packet,
                      const struct mgds_hca_list *payload)
{
    uint8_t bytes[MGDS_HCA_MTU_MAX];
    struct mgds_hca_list whole;
    uint64_t old = packet->atomic.operand;
    struct mgds_hca_piece data = {(uint8_t *)&old, sent->request.bytes};

    if (packet->opcode != MGDS_PACKET_ATOMIC_ACK && payload->count == 1) {
        data = payload->piece[0];
    } else if (packet->opcode != MGDS_PACKET_ATOMIC_ACK) {
        mgds_hca_list_one(&whole, bytes, sizeof(bytes));
        mgds_hca_list_copy(&whole, payload);
        data = (struct mgds_hca_piece){bytes, payload->bytes};
    }
    deliver(flow, sent, data);
    sent->got++;
    if (sent->got == sent->packets)
        flow->sender.first++;
    move_una(flow, mgds_hca_psn_add(sent->psn, sent->got));
}

/* Responses acknowledge all that is before them. */
static void take_response(struct mgds_hca_flow *flow,
                          const struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload)
{
    struct mgds_hca_sender *sender = &flow->sender;
    struct mgds_hca_sent *sent;

    if (!acknowledge(flow, packet->psn)) {
        ask_again(flow);
        return;
    }
    sent = sent_at(sender, sender->first);
    if (sender->first != sender->next && sent->answered &&
        packet->psn == sender->una && is_response(flow, sent, packet))
        take_data(flow, sent, packet, payload);
}

void mgds_hca_sender_take(struct mgds_hca_flow *flow,
                          const struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload)
{
    struct mgds_hca_sender *sender = &flow->sender;

    if (!sender->open || mgds_hca_psn_diff(packet->psn, sender->una) < 0 ||
        mgds_hca_psn_diff(sender->end, packet->psn) <= 0)
        return;
    if (packet->opcode == MGDS_PACKET_ACK)
        take_ack(flow, packet);
    else
        take_response(flow, packet, payload);
}

/* The peer has not come to what was sent: it is looked at again soon. */
static bool is_peer_late(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;
    uint64_t wait = (uint64_t)TIMEOUT_UNIT << flow->qp->set.timeout;

    if (mgds_hca_watch_look(&sender->watch, flow->outlet->fabric,
                            sent_at(sender, sender->first)->lid))
        return false;
    sender->deadline = now_of(flow) + (wait < LOOK ? wait : LOOK);
    return true;
}

/* Nothing came for too long. */
int mgds_hca_sender_tick(struct mgds_hca_flow *flow)
{
    struct mgds_hca_sender *sender = &flow->sender;

    if (sender->deadline == 0 || now_of(flow) < sender->deadline ||
        is_peer_late(flow))
        return 0;
    mgds_hca_flow_count(flow, MGDS_COUNT_TIMEOUTS);
    if (sender->retries == 0) {
        mgds_hca_sender_fail(flow, MGDS_CAUSE_NO_RESPONSE);
        return 1;
    }
    sender->retries--;
    go_back(flow);
    return 1;
}

int mgds_hca_sender_run(struct mgds_hca_flow *flow)
{
    bool called = mgds_hca_dial_run(flow);

    if (called)
        start_timer(flow);
    return called + send_some(flow);
}

bool mgds_hca_sender_busy(const struct mgds_hca_flow *flow)
{
    return flow->sender.open && flow->sender.first != flow->sender.next;
}

uint64_t mgds_hca_sender_due(const struct mgds_hca_flow *flow)
{
    return flow->sender.resume ? flow->sender.resume : flow->sender.deadline;
}
