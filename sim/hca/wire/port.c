/* The wire of a device as packets. */
#include "sim/hca/wire/port.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/transit.h"
#include "sim/hca/wire/datagram.h"
#include "sim/hca/wire/flow.h"

enum {
    BATCH = 64,
    STEPS = 4,           /* of a call */
    BLOCKED = 50 * 1000, /* ns until there may be room */
    SECOND = 1000000000,
    PKEY_BASE = 0x7fff, /* of a pkey: the partition */
    PKEY_FULL = 0x8000  /* of a pkey: no limited member */
};

static void make_busy(struct mgds_hca_port *port, struct mgds_hca_flow *flow)
{
    struct mgds_hca_flow **end =
        port->busy ? &port->last_busy->next_busy : &port->busy;

    if (flow->busy)
        return;
    flow->busy = true;
    flow->next_busy = NULL;
    *end = port->last_busy = flow;
}

static struct mgds_hca_flow *before(const struct mgds_hca_port *port,
                                    const struct mgds_hca_flow *flow)
{
    struct mgds_hca_flow *at = port->busy;

    if (at == flow)
        return NULL;
    while (at->next_busy != flow)
        at = at->next_busy;
    return at;
}

static void make_idle(struct mgds_hca_port *port, struct mgds_hca_flow *flow)
{
    struct mgds_hca_flow *prior;

    if (!flow->busy)
        return;
    prior = before(port, flow);
    if (prior)
        prior->next_busy = flow->next_busy;
    else
        port->busy = flow->next_busy;
    if (port->last_busy == flow)
        port->last_busy = prior;
    flow->busy = false;
}

/* This one is the next; those before it are behind the last. */
static void begin_at(struct mgds_hca_port *port, struct mgds_hca_flow *flow)
{
    struct mgds_hca_flow *prior = before(port, flow);

    if (!prior)
        return;
    port->last_busy->next_busy = port->busy;
    port->last_busy = prior;
    prior->next_busy = NULL;
    port->busy = flow;
}

static void carry_request(void *ctx, const struct mgds_hca_request *request)
{
    struct mgds_hca_port *port = ctx;
    struct mgds_hca_qp *qp = mgds_hca_qp_find(port->hca, request->from);
    struct mgds_hca_flow *flow = qp->flow;

    mgds_hca_sender_push(flow, request);
    make_busy(port, flow);
}

/* The engine answers a part while it is given to it. */
static void carry_answer(void *ctx, const struct mgds_hca_answer *answer)
{
    struct mgds_hca_port *port = ctx;

    mgds_hca_receiver_settle(port->current, answer);
}

static bool is_ready(void *ctx, const struct mgds_hca_qp *qp)
{
    (void)ctx;
    return qp->flow && mgds_hca_sender_ready(qp->flow);
}

static void end_flow(struct mgds_hca_port *port, struct mgds_hca_qp *qp)
{
    if (!qp->flow)
        return;
    mgds_hca_dial_end(qp->flow);
    make_idle(port, qp->flow);
    mgds_hca_sender_fini(qp->flow);
    mgds_hca_receiver_fini(qp->flow);
    free(qp->flow);
    qp->flow = NULL;
    mgds_hca_inbox_set_flows(port->fabric->inbox, --port->flows);
}

/* Its peer is known when it is in RTR. */
static bool is_connected(const struct mgds_hca_qp *qp)
{
    return qp->attr.service == MGDS_SERVICE_RC ||
           qp->attr.service == MGDS_SERVICE_UC;
}

/* Without memory there is no flow: nothing is sent, and nothing heard. */
static void begin_flow(struct mgds_hca_port *port, struct mgds_hca_qp *qp)
{
    struct mgds_hca_flow *flow = calloc(1, sizeof(*flow));

    if (!flow)
        return;
    flow->qp = qp;
    flow->outlet = &port->outlet;
    flow->reliable = mgds_hca_is_reliable(qp->attr.service);
    if (is_connected(qp) || qp->dc.dct)
        flow->peer = qp->set.peer;
    mgds_hca_receiver_open(flow);
    qp->flow = flow;
    mgds_hca_inbox_set_flows(port->fabric->inbox, ++port->flows);
    if (is_connected(qp))
        flow->lid = mgds_hca_fabric_find(port->fabric, &qp->set.address);
}

static void follow_state(void *ctx, struct mgds_hca_qp *qp)
{
    struct mgds_hca_port *port = ctx;
    struct mgds_hca_flow *flow = qp->flow;

    if (qp->state == MGDS_STATE_RESET)
        end_flow(port, qp);
    else if (qp->state == MGDS_STATE_RTR)
        begin_flow(port, qp);
    else if (flow && qp->state == MGDS_STATE_RTS && !flow->sender.window)
        mgds_hca_sender_open(flow);
    else if (flow && qp->state == MGDS_STATE_ERR) {
        mgds_hca_sender_close(flow);
        mgds_hca_dial_end(flow);
    }
}

/* Members of one partition, of which one at least is a full one. */
static bool may_speak(uint16_t a, uint16_t b)
{
    return (a & PKEY_BASE) == (b & PKEY_BASE) && (a | b) & PKEY_FULL;
}

static bool hears_anyone(const struct mgds_hca_qp *qp)
{
    return qp->attr.service == MGDS_SERVICE_UD || mgds_hca_is_target(qp);
}

static struct mgds_hca_flow *flow_of(const struct mgds_hca_port *port,
                                     const struct mgds_hca_packet *packet,
                                     const struct mgds_hca_list *payload)
{
    struct mgds_hca_qp *qp = mgds_hca_qp_find(port->hca, packet->qpn);

    struct mgds_hca_flow *flow = qp ? qp->flow : NULL;

    uint8_t service = packet->opcode & MGDS_PACKET_SERVICE;

    if (!flow || flow->outlet != &port->outlet ||
        service != mgds_hca_packet_service(qp->attr.service) ||
        (packet->from != flow->lid && !hears_anyone(qp)) ||
        !may_speak(packet->pkey, qp->set.pkey) ||
        !mgds_hca_packet_row(packet->opcode)->name ||
        packet->bytes != payload->bytes)
        return NULL;
    return flow;
}

/* The service has said what it had to: from here on opcodes are as of RC. */
static void take_packet(struct mgds_hca_port *port,
                        struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    struct mgds_hca_flow *flow = flow_of(port, packet, payload);

    port->received++;
    if (!flow || mgds_hca_outlet_dead(&port->outlet)) {
        port->ignored++;
        return;
    }
    mgds_hca_outlet_count(&port->outlet, MGDS_COUNT_PACKETS_RECEIVED,
                          MGDS_COUNT_WORDS_RECEIVED, payload->bytes);
    port->current = flow;
    packet->opcode &= (uint8_t)~MGDS_PACKET_SERVICE;
    if (mgds_hca_is_dynamic(flow->qp->attr.service) &&
        mgds_hca_dial_take(flow, packet))
        return;
    if (flow->qp->attr.service == MGDS_SERVICE_UD)
        mgds_hca_datagram_take(flow, packet, payload);
    else if (mgds_hca_packet_row(packet->opcode)->traits & MGDS_PACKET_RESPONSE)
        mgds_hca_sender_take(flow, packet, payload);
    else
        mgds_hca_receiver_take(flow, packet, payload);
    make_busy(port, flow);
}

/* Time counts when all that has come was taken: an answer may be there. */
static int run_flow(struct mgds_hca_port *port, struct mgds_hca_flow *flow,
                    bool caught_up)
{
    int did = caught_up ? mgds_hca_sender_tick(flow) : 0;

    did += mgds_hca_receiver_run(flow) + mgds_hca_sender_run(flow);
    if (mgds_hca_sender_busy(flow) || mgds_hca_receiver_busy(flow))
        make_busy(port, flow);
    return did;
}

/* Where a flow had no room at all it is the first of the next round: with the
 * room of a few packets in each (pace.h) all have their turn. */
static int run_flows(struct mgds_hca_port *port, bool caught_up)
{
    struct mgds_hca_flow *flow, *list = port->busy, *refused = NULL;
    bool blocked = port->outlet.blocked;
    int did = 0, now;

    port->busy = NULL;
    while ((flow = list)) {
        list = flow->next_busy;
        flow->busy = false;
        port->current = flow;
        port->outlet.blocked = false;
        now = run_flow(port, flow, caught_up);
        if (port->outlet.blocked && now == 0 && !refused)
            refused = flow;
        blocked |= port->outlet.blocked;
        did += now;
    }
    port->outlet.blocked = blocked;
    if (refused && refused->busy)
        begin_at(port, refused);
    return did;
}

static int step_port(struct mgds_hca_port *port)
{
    struct mgds_hca_packet packet;
    struct mgds_hca_list payload;
    int did = 0;

    port->outlet.blocked = false;
    while (did < BATCH &&
           mgds_hca_fabric_receive(port->fabric, &packet, &payload)) {
        take_packet(port, &packet, &payload);
        did++;
    }
    did += port->busy ? run_flows(port, did < BATCH) : 0;
    return did + mgds_hca_outlet_run(&port->outlet);
}

/* What is answered at once, to a device's own QPs, comes in one call. */
static int poll_port(void *ctx)
{
    struct mgds_hca_port *port = ctx;
    int did = 0, now;

    for (int step = 0; step < STEPS && (now = step_port(port)) > 0; step++)
        did += now;
    mgds_hca_inbox_go_around(port->fabric->inbox);
    mgds_hca_fabric_flush(port->fabric);
    return did;
}

static int set_speed(struct mgds_hca_outlet *outlet,
                     const struct mgds_hca_speed *speed)
{
    if (!speed->rate && !speed->latency)
        return 0;
    outlet->pace = mgds_hca_pace_make(speed);
    return outlet->pace ? 0 : -ENOMEM;
}

int mgds_hca_port_create(struct mgds_hca_port **out,
                         const struct mgds_hca_port_attr *attr)
{
    struct mgds_hca_port *port = calloc(1, sizeof(*port));
    int rc;

    if (!port)
        return -ENOMEM;
    rc = set_speed(&port->outlet, &attr->speed);
    if (rc == 0)
        rc = mgds_hca_fabric_open(&port->fabric, attr->folder, attr->lid,
                                  attr->host);
    if (rc < 0) {
        mgds_hca_outlet_fini(&port->outlet);
        free(port);
        return rc;
    }
    port->outlet.fabric = port->fabric;
    port->number = attr->number ? attr->number : 1;
    *out = port;
    return 0;
}

void mgds_hca_port_destroy(struct mgds_hca_port *port)
{
    mgds_hca_outlet_fini(&port->outlet);
    mgds_hca_fabric_close(port->fabric);
    free(port);
}

void mgds_hca_port_forget(struct mgds_hca_port *port)
{
    mgds_hca_fabric_forget(port->fabric);
}

int mgds_hca_port_disturb(struct mgds_hca_port *port, const char *text,
                          const char **wrong)
{
    struct mgds_hca_faults faults;
    bool cut = port->outlet.faults.cut;
    int rc = mgds_hca_faults_parse(&faults, text, wrong);

    if (rc < 0)
        return rc;
    faults.seed += port->fabric->lid;
    rc = mgds_hca_outlet_disturb(&port->outlet, &faults);
    if (rc < 0)
        return rc;
    port->hca->overrun = faults.overrun;
    if (faults.cut != cut)
        mgds_hca_tell_event(port->hca,
                            faults.cut ? MGDS_EVENT_PORT_ERR
                                       : MGDS_EVENT_PORT_ACTIVE,
                            port->number);
    return 0;
}

bool mgds_hca_port_up(const struct mgds_hca_port *port)
{
    return !port->outlet.faults.cut;
}

uint16_t mgds_hca_port_lid(const struct mgds_hca_port *port)
{
    return port->fabric->lid;
}

int mgds_hca_port_add_gid(struct mgds_hca_port *port,
                          const struct mgds_hca_gid *gid)
{
    struct mgds_hca_address address = {.global = true, .gid = *gid};

    if (mgds_hca_fabric_lid_of(&address) != port->fabric->lid)
        return -EINVAL;
    return mgds_hca_inbox_add_gid(port->fabric->inbox, gid);
}

struct mgds_hca_wire mgds_hca_port_wire(struct mgds_hca_port *port)
{
    return (struct mgds_hca_wire){
        .request = carry_request,
        .answer = carry_answer,
        .ready = is_ready,
        .changed = follow_state,
        .poll = poll_port,
        .ctx = port,
    };
}

void mgds_hca_port_bind(struct mgds_hca_port *port, struct mgds_hca *hca)
{
    port->hca = hca;
    port->outlet.hca = hca;
}

/* Of two times, of which 0 is never. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

uint64_t mgds_hca_port_due(const struct mgds_hca_port *port)
{
    uint64_t due = mgds_hca_outlet_due(&port->outlet), one;

    due = earlier(due, mgds_hca_transit_due(port->hca));
    if (port->outlet.blocked)
        due = earlier(due, mgds_hca_now(port->hca) + BLOCKED);
    for (struct mgds_hca_flow *flow = port->busy; flow;
         flow = flow->next_busy) {
        one = mgds_hca_sender_due(flow);
        due = earlier(due, one);
        due = earlier(due, mgds_hca_receiver_due(flow));
    }
    return due;
}

void mgds_hca_port_discard(struct mgds_hca_port *port)
{
    struct mgds_hca_packet packet;
    struct mgds_hca_list payload;

    while (mgds_hca_fabric_receive(port->fabric, &packet, &payload)) {
        port->received++;
        port->ignored++;
    }
}

bool mgds_hca_port_lie_down(struct mgds_hca_port *port)
{
    return mgds_hca_fabric_lie_down(port->fabric);
}

int mgds_hca_port_socket(const struct mgds_hca_port *port)
{
    return port->fabric->mail.socket;
}

void mgds_hca_port_get_up(struct mgds_hca_port *port)
{
    mgds_hca_fabric_get_up(port->fabric);
}

static void sleep_for(const struct mgds_hca_port *port, uint64_t ns)
{
    struct pollfd mail = {.fd = mgds_hca_port_socket(port), .events = POLLIN};
    struct timespec limit = {.tv_sec = (time_t)(ns / SECOND),
                             .tv_nsec = (long)(ns % SECOND)};

    ppoll(&mail, 1, &limit, NULL);
}

void mgds_hca_port_rest(struct mgds_hca_port *port, uint64_t ns)
{
    uint64_t due = mgds_hca_port_due(port), now;

    ns = ns < MGDS_HCA_REST ? ns : MGDS_HCA_REST;
    if (due) {
        now = mgds_hca_now(port->hca);
        due = due > now ? due - now : 0;
        ns = due < ns ? due : ns;
    }
    if (!mgds_hca_port_lie_down(port))
        return;
    if (ns > 0)
        sleep_for(port, ns);
    mgds_hca_port_get_up(port);
}
