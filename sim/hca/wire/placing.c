/* Placement out of order. */
#include "sim/hca/wire/placing.h"

#include <stdlib.h>

#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire/flow.h"

/* Of QPs that allow it, where the fault says nothing. */
enum { SPAN = 20000 /* ns */ };

struct held {
    uint64_t due; /* 0: the place is free */
    struct mgds_hca_request request;
    uint64_t bytes;
    uint8_t payload[MGDS_HCA_PAYLOAD];
};

struct mgds_hca_placing {
    unsigned count;
    struct held held[MGDS_HCA_PLACINGS];
};

static uint64_t span_of(const struct mgds_hca_flow *flow)
{
    uint64_t span = flow->outlet->faults.place;

    return span || !flow->qp->attr.out_of_order ? span : SPAN;
}

bool mgds_hca_placing_wanted(const struct mgds_hca_flow *flow,
                             const struct mgds_hca_request *request)
{
    return request->opcode == MGDS_WQE_RDMA_WRITE && span_of(flow) > 0;
}

/* Its key may have gone, or the QP: then it is lost, as it would be. */
static void place(struct mgds_hca_flow *flow, struct held *held)
{
    struct mgds_hca_request *request = &held->request;
    struct mgds_hca_list payload;

    mgds_hca_list_one(&payload, held->payload, held->bytes);
    request->payload = &payload;
    request->more = true; /* the message has been counted */
    request->psn = flow->qp->receive.psn;
    held->due = 0;
    flow->receiver.placing->count--;
    mgds_hca_requested(flow->qp->hca, request);
}

static struct held *find_place(struct mgds_hca_flow *flow)
{
    struct mgds_hca_placing *placing = flow->receiver.placing;
    uint32_t chosen;

    for (unsigned i = 0; i < MGDS_HCA_PLACINGS; i++) {
        if (placing->held[i].due == 0)
            return &placing->held[i];
    }
    chosen = mgds_hca_faults_random(&flow->outlet->faults, MGDS_HCA_PLACINGS);
    place(flow, &placing->held[chosen]);
    return &placing->held[chosen];
}

static void place_now(struct mgds_hca_flow *flow,
                      const struct mgds_hca_request *request)
{
    struct mgds_hca_request copy = *request;

    copy.more = true;
    copy.psn = flow->qp->receive.psn;
    mgds_hca_requested(flow->qp->hca, &copy);
}

void mgds_hca_placing_hold(struct mgds_hca_flow *flow,
                           const struct mgds_hca_request *request)
{
    struct mgds_hca_placing **placing = &flow->receiver.placing;
    struct mgds_hca_list copy;
    struct held *held;
    uint32_t span = (uint32_t)span_of(flow);

    if (!*placing)
        *placing = calloc(1, sizeof(**placing));
    if (!*placing) {
        place_now(flow, request);
        return;
    }
    held = find_place(flow);
    held->request = *request;
    held->request.digest = 0; /* other messages may be between its parts */
    held->bytes = request->payload->bytes;
    mgds_hca_list_one(&copy, held->payload, sizeof(held->payload));
    mgds_hca_list_copy(&copy, request->payload);
    held->due = mgds_hca_now(flow->qp->hca) + 1 +
                mgds_hca_faults_random(&flow->outlet->faults, span);
    (*placing)->count++;
}

int mgds_hca_placing_run(struct mgds_hca_flow *flow, bool all)
{
    struct mgds_hca_placing *placing = flow->receiver.placing;
    uint64_t now;
    int did = 0;

    if (!mgds_hca_placing_busy(flow))
        return 0;
    now = mgds_hca_now(flow->qp->hca);
    for (unsigned i = 0; i < MGDS_HCA_PLACINGS; i++) {
        if (placing->held[i].due && (all || now >= placing->held[i].due)) {
            place(flow, &placing->held[i]);
            did++;
        }
    }
    return did;
}

bool mgds_hca_placing_busy(const struct mgds_hca_flow *flow)
{
    return flow->receiver.placing && flow->receiver.placing->count > 0;
}

uint64_t mgds_hca_placing_due(const struct mgds_hca_flow *flow)
{
    const struct mgds_hca_placing *placing = flow->receiver.placing;
    uint64_t due = 0, one;

    for (unsigned i = 0; placing && i < MGDS_HCA_PLACINGS; i++) {
        one = placing->held[i].due;
        if (one && (due == 0 || one < due))
            due = one;
    }
    return due;
}

void mgds_hca_placing_fini(struct mgds_hca_flow *flow)
{
    free(flow->receiver.placing);
    flow->receiver.placing = NULL;
}
