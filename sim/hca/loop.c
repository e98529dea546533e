/* The wire that ends in this process. */
#include "sim/hca/loop.h"

#include <errno.h>
#include <stddef.h>

#include "sim/hca/engine.h"
#include "sim/hca/transit.h"

static struct mgds_hca *device_of(const struct mgds_hca_loop *loop,
                                  uint32_t qpn)
{
    for (unsigned i = 0; i < MGDS_HCA_LOOP_DEVICES; i++) {
        if (loop->device[i] && mgds_hca_qp_find(loop->device[i], qpn))
            return loop->device[i];
    }
    return NULL;
}

/* It is the requester's at once: what it tells of must be there. */
static void carry_answer(void *ctx, const struct mgds_hca_answer *answer)
{
    const struct mgds_hca_loop *loop = ctx;
    struct mgds_hca *hca = device_of(loop, answer->to);

    for (unsigned i = 0; i < MGDS_HCA_LOOP_DEVICES; i++) {
        if (loop->device[i])
            mgds_hca_transit_settle(loop->device[i], NULL);
    }
    if (hca)
        mgds_hca_answered(hca, answer);
}

static void carry_request(void *ctx, const struct mgds_hca_request *request)
{
    struct mgds_hca *hca = device_of(ctx, request->to);
    struct mgds_hca_answer nobody = {
        .to = request->from,
        .psn = request->psn,
        .cause = MGDS_CAUSE_NO_RESPONSE,
    };

    if (hca)
        mgds_hca_requested(hca, request);
    else
        carry_answer(ctx, &nobody);
}

struct mgds_hca_wire mgds_hca_loop_wire(struct mgds_hca_loop *loop)
{
    return (struct mgds_hca_wire){
        .request = carry_request, .answer = carry_answer, .ctx = loop};
}

int mgds_hca_loop_add(struct mgds_hca_loop *loop, struct mgds_hca *hca)
{
    for (unsigned i = 0; i < MGDS_HCA_LOOP_DEVICES; i++) {
        if (!loop->device[i]) {
            loop->device[i] = hca;
            return 0;
        }
    }
    return -ENOSPC;
}

void mgds_hca_loop_drop(struct mgds_hca_loop *loop, const struct mgds_hca *hca)
{
    for (unsigned i = 0; i < MGDS_HCA_LOOP_DEVICES; i++) {
        if (loop->device[i] == hca)
            loop->device[i] = NULL;
    }
}
