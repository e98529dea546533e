/* Receives: taking, filling and completing them. */
#include "sim/hca/receive.h"

#include <string.h>

#include "sim/hca/digest.h"
#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/srq.h"
#include "sim/hca/transit.h"
#include "sim/hca/wire.h"
#include "sim/hca/wqe.h"

/* Receives that are posted. A count that no ring can hold counts as none. */
static uint16_t posted_receives(const struct mgds_hca_qp *qp)
{
    uint16_t count;

    if (qp->attr.srq)
        return mgds_hca_srq_posted(qp->attr.srq);
    count = (uint16_t)(mgds_hca_qp_record(qp, MGDS_DBREC_RECEIVE) -
                       qp->receive.head);
    return count <= qp->attr.receives ? count : 0;
}

static void take(struct mgds_hca_qp *qp)
{
    qp->receive.taken = true;
    qp->receive.index =
        qp->attr.srq ? mgds_hca_srq_take(qp->attr.srq) : qp->receive.head++;
}

bool mgds_hca_receive_take(struct mgds_hca_qp *qp)
{
    if (!qp->receive.taken && posted_receives(qp) > 0)
        take(qp);
    return qp->receive.taken;
}

/* Without a GRH its place stays as it is. */
static void place_header(const struct mgds_hca_qp *qp,
                         const struct mgds_hca_list *to,
                         const struct mgds_hca_datagram *datagram)
{
    uint8_t grh[MGDS_HCA_GRH];
    struct mgds_hca_list from;

    memcpy(grh, datagram->grh, sizeof(grh));
    mgds_hca_list_one(&from, grh, sizeof(grh));
    mgds_hca_transit_store(qp, to, &from);
}

enum mgds_hca_cause
mgds_hca_receive_place(struct mgds_hca_qp *qp,
                       const struct mgds_hca_request *request)
{
    uint64_t skip = request->datagram ? MGDS_HCA_GRH : 0;
    struct mgds_hca_list list, part;
    enum mgds_hca_cause cause = mgds_hca_receive_decode(qp, &list);

    if (!cause && list.bytes < skip + request->bytes)
        cause = MGDS_CAUSE_RECEIVE_SHORT;
    if (cause)
        return cause;
    if (request->datagram && request->datagram->global)
        place_header(qp, &list, request->datagram);
    mgds_hca_list_part(&part, &list, skip + request->offset,
                       request->payload->bytes);
    mgds_hca_transit_store(qp, &part, request->payload);
    if (qp->hca->config.digest)
        mgds_hca_digest_place(qp->hca->config.digest, &qp->receive.placed,
                              &part, request->offset);
    return MGDS_CAUSE_NONE;
}

void mgds_hca_receive_complete(struct mgds_hca_qp *qp,
                               struct mgds_hca_completion *completion)
{
    completion->counter = qp->receive.index;
    qp->receive.taken = false;
    mgds_hca_qp_complete(qp, qp->attr.receive_cq, completion);
}

void mgds_hca_receive_fail(struct mgds_hca_qp *qp, enum mgds_hca_cause cause)
{
    const struct mgds_hca_verdict *verdict = mgds_hca_verdict(cause);
    struct mgds_hca_completion completion = {
        .opcode = MGDS_CQE_RECEIVE_ERROR,
        .syndrome = verdict->receive_syndrome,
        .vendor = verdict->receive_vendor,
    };

    mgds_hca_receive_complete(qp, &completion);
}

/* What was posted to a shared queue is there for other QPs. */
static int tell_last(struct mgds_hca_qp *qp)
{
    if (qp->receive.told_last)
        return 0;
    qp->receive.told_last = true;
    mgds_hca_qp_tell(qp, MGDS_EVENT_LAST_WQE);
    return 1;
}

int mgds_hca_receive_flush(struct mgds_hca_qp *qp)
{
    int did = 0;

    while (qp->receive.taken || (!qp->attr.srq && posted_receives(qp) > 0)) {
        if (!qp->receive.taken)
            take(qp);
        mgds_hca_receive_fail(qp, MGDS_CAUSE_FLUSHED);
        did++;
    }
    return did + (qp->attr.srq ? tell_last(qp) : 0);
}
