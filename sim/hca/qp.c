/* Queue pairs: attributes, states, completions. */
#include "sim/hca/qp.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/hca/dct.h"
#include "sim/hca/doorbell.h"
#include "sim/hca/engine.h"
#include "sim/hca/srq.h"
#include "sim/hca/transit.h"

enum {
    QPN_MASK = 0xffffff,
    QPNS = 0xffff,
    SHORTEST_RNR_DELAY = 10000,
    PKEY = 0xffff, /* of the default partition */
    FIRST_PORT = 1
};

/* From each state, those that modify may go to; as ibv_modify_qp. */
static const bool may_become[MGDS_STATES][MGDS_STATES] = {
    [MGDS_STATE_RESET] = {[MGDS_STATE_RESET] = true,
                          [MGDS_STATE_INIT] = true,
                          [MGDS_STATE_ERR] = true},
    [MGDS_STATE_INIT] = {[MGDS_STATE_RESET] = true,
                         [MGDS_STATE_INIT] = true,
                         [MGDS_STATE_RTR] = true,
                         [MGDS_STATE_ERR] = true},
    [MGDS_STATE_RTR] = {[MGDS_STATE_RESET] = true,
                        [MGDS_STATE_RTS] = true,
                        [MGDS_STATE_ERR] = true},
    [MGDS_STATE_RTS] = {[MGDS_STATE_RESET] = true,
                        [MGDS_STATE_RTS] = true,
                        [MGDS_STATE_SQD] = true,
                        [MGDS_STATE_ERR] = true},
    [MGDS_STATE_SQD] = {[MGDS_STATE_RESET] = true,
                        [MGDS_STATE_RTS] = true,
                        [MGDS_STATE_SQD] = true,
                        [MGDS_STATE_ERR] = true},
    [MGDS_STATE_ERR] = {[MGDS_STATE_RESET] = true, [MGDS_STATE_ERR] = true},
};

static bool is_power(uint32_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

static bool is_aligned(const void *at, size_t bytes)
{
    return at && (uintptr_t)at % bytes == 0;
}

static bool has_receives(const struct mgds_hca_qp_attr *attr)
{
    return is_power(attr->receives) && attr->receives <= MGDS_HCA_RECEIVES &&
           is_power(attr->receive_stride) &&
           attr->receive_stride >= MGDS_WQE_UNIT &&
           attr->receive_stride <= MGDS_HCA_STRIDE &&
           is_aligned(attr->receive_buffer, MGDS_WQE_UNIT);
}

static bool has_sends(const struct mgds_hca_qp_attr *attr)
{
    return is_power(attr->send_blocks) &&
           attr->send_blocks <= MGDS_HCA_SEND_BLOCKS &&
           is_aligned(attr->send_buffer, MGDS_WQE_BLOCK);
}

static bool is_valid_dct(const struct mgds_hca_qp_attr *attr)
{
    return attr->srq && attr->send_cq && attr->receive_cq &&
           attr->send_blocks == 0 && attr->receives == 0;
}

static bool is_valid_qp(const struct mgds_hca_qp_attr *attr)
{
    if (attr->service == MGDS_SERVICE_DCT)
        return is_valid_dct(attr);
    return (attr->send_blocks == 0 || has_sends(attr)) &&
           (attr->receives == 0 || (!attr->srq && has_receives(attr))) &&
           is_aligned(attr->record, sizeof(uint64_t)) && attr->send_cq &&
           attr->receive_cq && attr->uar &&
           attr->uar_register <= MGDS_UAR_EITHER &&
           (unsigned)attr->service < MGDS_SERVICES;
}

static void free_qp(struct mgds_hca_qp *qp)
{
    free(qp->pending);
    free(qp->reads);
    free(qp);
}

static struct mgds_hca_qp *alloc_qp(const struct mgds_hca_qp_attr *attr)
{
    struct mgds_hca_qp *qp = calloc(1, sizeof(*qp));

    if (!qp)
        return NULL;
    qp->pending =
        calloc(attr->send_blocks ? attr->send_blocks : 1, sizeof(*qp->pending));
    qp->reads =
        calloc(attr->send_blocks ? MGDS_HCA_READS : 1, sizeof(*qp->reads));
    if (qp->pending && qp->reads)
        return qp;
    free_qp(qp);
    return NULL;
}

int mgds_hca_qp_attach(struct mgds_hca *hca,
                       const struct mgds_hca_qp_attr *attr,
                       struct mgds_hca_qp **out)
{
    struct mgds_hca_qp *qp;
    uint32_t index;

    if (!is_valid_qp(attr))
        return -EINVAL;
    qp = alloc_qp(attr);
    if (!qp)
        return -ENOMEM;
    index = mgds_hca_table_add(&hca->qps, qp, 1, QPNS);
    if (index == 0) {
        free_qp(qp);
        return -ENOMEM;
    }
    qp->hca = hca;
    qp->attr = *attr;
    qp->number = hca->config.first_qpn + index;
    attr->send_cq->users++;
    attr->receive_cq->users++;
    if (attr->srq)
        attr->srq->users++;
    if (attr->uar)
        mgds_hca_uar_add_qp(attr->uar, qp);
    *out = qp;
    return 0;
}

static void tell_wire(struct mgds_hca_qp *qp)
{
    const struct mgds_hca_wire *wire = &qp->hca->config.wire;

    if (wire->changed)
        wire->changed(wire->ctx, qp);
}

void mgds_hca_qp_detach(struct mgds_hca_qp *qp)
{
    mgds_hca_dct_close(qp);
    qp->state = MGDS_STATE_RESET;
    tell_wire(qp);
    mgds_hca_transit_land(qp->hca);
    qp->attr.send_cq->users--;
    qp->attr.receive_cq->users--;
    if (qp->attr.srq)
        qp->attr.srq->users--;
    if (qp->attr.uar)
        mgds_hca_uar_drop_qp(qp->attr.uar, qp);
    mgds_hca_unbusy(qp->hca, qp);
    mgds_hca_table_drop(&qp->hca->qps, qp->number - qp->hca->config.first_qpn);
    free_qp(qp);
}

static bool is_mtu(uint16_t mtu)
{
    return mtu == 0 || (is_power(mtu) && mtu >= MGDS_HCA_MTU_MIN &&
                        mtu <= MGDS_HCA_MTU_MAX);
}

static bool is_send(const struct mgds_hca_qp *qp,
                    const struct mgds_hca_change *change)
{
    return change->send_psn <= MGDS_HCA_PSN_MASK &&
           (!mgds_hca_is_reliable(qp->attr.service) ||
            (change->rnr_retry <= MGDS_HCA_RNR_FOREVER &&
             change->timeout <= MGDS_HCA_TIMEOUT &&
             change->retries <= MGDS_HCA_RETRIES && change->reads >= 1 &&
             change->reads <= MGDS_HCA_READS));
}

static bool is_change(const struct mgds_hca_qp *qp,
                      const struct mgds_hca_change *change)
{
    if ((unsigned)change->state >= MGDS_STATES ||
        !may_become[qp->state][change->state])
        return false;
    if (qp->attr.service == MGDS_SERVICE_DCT && change->state > MGDS_STATE_RTR)
        return change->state == MGDS_STATE_ERR;
    if (qp->attr.service == MGDS_SERVICE_UD)
        return change->send_psn <= MGDS_HCA_PSN_MASK;
    if (change->state == MGDS_STATE_RTR)
        return change->peer <= QPN_MASK &&
               change->receive_psn <= MGDS_HCA_PSN_MASK && is_mtu(change->mtu);
    if (change->state == MGDS_STATE_RTS && qp->state == MGDS_STATE_RTR)
        return is_send(qp, change);
    return true;
}

static void reset_queues(struct mgds_hca_qp *qp)
{
    qp->send = (struct mgds_hca_send){.head = 0};
    qp->receive = (struct mgds_hca_receive){.head = 0};
}

static void set_rights(struct mgds_hca_qp *qp,
                       const struct mgds_hca_change *change)
{
    qp->set.access = change->access;
    qp->set.qkey = change->qkey;
    qp->set.pkey = change->pkey ? change->pkey : PKEY;
    qp->set.port = change->port ? change->port : FIRST_PORT;
}

static void set_path(struct mgds_hca_qp *qp,
                     const struct mgds_hca_change *change)
{
    qp->set.peer = change->peer;
    qp->set.address = change->address;
    qp->set.mtu = change->mtu && qp->attr.service != MGDS_SERVICE_UD
                      ? change->mtu
                      : MGDS_HCA_MTU_MAX;
    qp->set.receive_psn = change->receive_psn;
    qp->set.rnr_delay = change->rnr_delay > SHORTEST_RNR_DELAY
                            ? change->rnr_delay
                            : SHORTEST_RNR_DELAY;
    qp->receive.psn = change->receive_psn;
}

static void set_send(struct mgds_hca_qp *qp,
                     const struct mgds_hca_change *change)
{
    qp->set.rnr_retry = change->rnr_retry;
    qp->set.reads = change->reads;
    qp->set.timeout = change->timeout;
    qp->set.retries = change->retries;
    qp->set.send_psn = change->send_psn;
    qp->send.psn = change->send_psn;
    qp->send.retries = change->rnr_retry;
}

int mgds_hca_qp_modify(struct mgds_hca_qp *qp,
                       const struct mgds_hca_change *change)
{
    if (!is_change(qp, change))
        return -EINVAL;
    mgds_hca_dct_close(qp);
    if (change->state == MGDS_STATE_RESET)
        reset_queues(qp);
    else if (change->state == MGDS_STATE_INIT)
        set_rights(qp, change);
    else if (change->state == MGDS_STATE_RTR)
        set_path(qp, change);
    else if (qp->state == MGDS_STATE_RTR && change->state == MGDS_STATE_RTS)
        set_send(qp, change);
    qp->send.drained = false;
    qp->state = change->state;
    mgds_hca_busy(qp->hca, qp);
    tell_wire(qp);
    return 0;
}

void mgds_hca_qp_allow(struct mgds_hca_qp *qp, uint8_t access)
{
    qp->set.access = access;
}

void mgds_hca_qp_break(struct mgds_hca_qp *qp, enum mgds_hca_event event)
{
    if (qp->state == MGDS_STATE_ERR)
        return;
    qp->state = MGDS_STATE_ERR;
    mgds_hca_busy(qp->hca, qp);
    tell_wire(qp);
    if (event != MGDS_EVENT_NONE)
        mgds_hca_qp_tell(qp, event);
}

void mgds_hca_qp_tell(const struct mgds_hca_qp *qp, enum mgds_hca_event event)
{
    if (!qp->dc.dct)
        mgds_hca_tell_event(qp->hca, event, qp->number);
}

void mgds_hca_qp_complete(struct mgds_hca_qp *qp, struct mgds_hca_cq *cq,
                          struct mgds_hca_completion *completion)
{
    completion->qpn = qp->dc.dct ? qp->dc.dct->number : qp->number;
    completion->user_index = qp->attr.user_index;
    mgds_hca_transit_settle(qp->hca, qp);
    if (!mgds_hca_cq_write(cq, completion))
        mgds_hca_qp_break(qp, mgds_hca_verdict(MGDS_CAUSE_CQ_OVERRUN)->event);
}

uint16_t mgds_hca_qp_record(const struct mgds_hca_qp *qp, unsigned word)
{
    struct mgds_be32 be;

    /* WQEs were written before the word that counts them. */
    be.raw = __atomic_load_n(&qp->attr.record[word].raw, __ATOMIC_ACQUIRE);
    return (uint16_t)mgds_from_be32(be);
}
