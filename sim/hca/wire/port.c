/* The wire of a device as packets. */
#include "sim/hca/wire/port.h"

#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire/flow.h"

enum { BATCH = 64 };

static void make_busy(struct mgds_hca_port *port, struct mgds_hca_flow *flow)
{
    if (flow->busy)
        return;
    flow->busy = true;
    flow->next_busy = port->busy;
    port->busy = flow;
}

static void make_idle(struct mgds_hca_port *port, struct mgds_hca_flow *flow)
{
    struct mgds_hca_flow **at = &port->busy;

    if (!flow->busy)
        return;
    while (*at != flow)
        at = &(*at)->next_busy;
    *at = flow->next_busy;
    flow->busy = false;
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
    make_idle(port, qp->flow);
    mgds_hca_sender_fini(qp->flow);
    free(qp->flow);
    qp->flow = NULL;
}

/* Without memory there is no flow: nothing is sent, and nothing heard. */
static void begin_flow(struct mgds_hca_port *port, struct mgds_hca_qp *qp)
{
    struct mgds_hca_flow *flow = calloc(1, sizeof(*flow));

    if (!flow)
        return;
    flow->qp = qp;
    flow->outlet = &port->outlet;
    mgds_hca_receiver_open(flow);
    qp->flow = flow;
    port->outlet.medium.connect(port->outlet.medium.ctx, qp->set.lid);
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
    else if (flow && qp->state == MGDS_STATE_ERR)
        mgds_hca_sender_close(flow);
}

static struct mgds_hca_flow *flow_of(const struct mgds_hca_port *port,
                                     const struct mgds_hca_packet *packet,
                                     const struct mgds_hca_list *payload)
{
    struct mgds_hca_qp *qp = mgds_hca_qp_find(port->hca, packet->qpn);

    if (!qp || !qp->flow || packet->from != qp->set.lid ||
        !mgds_hca_packet_row(packet->opcode)->name ||
        packet->bytes != payload->bytes)
        return NULL;
    return qp->flow;
}

static void take_packet(struct mgds_hca_port *port,
                        const struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    struct mgds_hca_flow *flow = flow_of(port, packet, payload);

    port->received++;
    if (!flow || mgds_hca_outlet_dead(&port->outlet)) {
        port->ignored++;
        return;
    }
    port->current = flow;
    if (mgds_hca_packet_row(packet->opcode)->traits & MGDS_PACKET_RESPONSE)
        mgds_hca_sender_take(flow, packet, payload);
    else
        mgds_hca_receiver_take(flow, packet, payload);
    make_busy(port, flow);
}

static int run_flows(struct mgds_hca_port *port)
{
    struct mgds_hca_flow *flow, *list = port->busy;
    int did = 0;

    port->busy = NULL;
    while ((flow = list)) {
        list = flow->next_busy;
        flow->busy = false;
        port->current = flow;
        did += mgds_hca_receiver_run(flow) + mgds_hca_sender_run(flow);
        if (mgds_hca_sender_busy(flow) || mgds_hca_receiver_busy(flow))
            make_busy(port, flow);
    }
    return did;
}

static int poll_port(void *ctx)
{
    struct mgds_hca_port *port = ctx;
    const struct mgds_hca_medium *medium = &port->outlet.medium;
    struct mgds_hca_packet packet;
    struct mgds_hca_list payload;
    int did = 0;

    while (did < BATCH && medium->receive(medium->ctx, &packet, &payload)) {
        take_packet(port, &packet, &payload);
        did++;
    }
    did += port->busy ? run_flows(port) : 0;
    return did + mgds_hca_outlet_run(&port->outlet);
}

void mgds_hca_port_init(struct mgds_hca_port *port,
                        const struct mgds_hca_medium *medium)
{
    *port = (struct mgds_hca_port){.outlet = {.medium = *medium}};
}

void mgds_hca_port_fini(struct mgds_hca_port *port)
{
    mgds_hca_outlet_fini(&port->outlet);
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

uint64_t mgds_hca_port_due(const struct mgds_hca_port *port)
{
    uint64_t due = mgds_hca_outlet_due(&port->outlet), one;

    for (struct mgds_hca_flow *flow = port->busy; flow;
         flow = flow->next_busy) {
        one = mgds_hca_sender_due(flow);
        if (one && (due == 0 || one < due))
            due = one;
    }
    return due;
}
