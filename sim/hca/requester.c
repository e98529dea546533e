/* The sending side of a QP. */
#include "sim/hca/requester.h"

#include <string.h>

#include "sim/hca/digest.h"
#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/receive.h"
#include "sim/hca/transit.h"
#include "sim/hca/wire.h"
#include "sim/hca/wqe.h"

/* WQEs of a QP that are begun before it is another one's turn. */
enum { TURN = 32 };

static struct mgds_hca_pending *pending_at(const struct mgds_hca_qp *qp,
                                           uint32_t number)
{
    return &qp->pending[number & (qp->attr.send_blocks - 1)];
}

static struct mgds_hca_list *read_at(const struct mgds_hca_qp *qp,
                                     uint32_t number)
{
    return &qp->reads[number % MGDS_HCA_READS];
}

static bool is_pending(const struct mgds_hca_qp *qp)
{
    return qp->send.first != qp->send.next;
}

/* The oldest one whose answer has not come, or NULL. */
static struct mgds_hca_pending *oldest_waiting(const struct mgds_hca_qp *qp)
{
    for (uint32_t n = qp->send.first; n != qp->send.next; n++) {
        if (!pending_at(qp, n)->done)
            return pending_at(qp, n);
    }
    return NULL;
}

static bool is_same_target(const struct mgds_hca_av *a,
                           const struct mgds_hca_av *b)
{
    return a->qpn == b->qpn && a->dc_key == b->dc_key &&
           a->address.lid == b->address.lid &&
           a->address.global == b->address.global &&
           memcmp(&a->address.gid, &b->address.gid, sizeof(a->address.gid)) ==
               0;
}

/* A DCI that has to call somebody else for this WQE. */
static bool is_aimed_elsewhere(const struct mgds_hca_qp *qp,
                               const struct mgds_hca_wqe *wqe)
{
    return qp->attr.service == MGDS_SERVICE_DCI &&
           !(wqe->row->traits & MGDS_OP_LOCAL) &&
           (!qp->send.aimed || !is_same_target(&wqe->av, &qp->send.target));
}

/* Strong ordering waits for all WQEs before it (Linux commit 2ac6bf4ddc87, of
 * an older ConnectX). Bindings and invalidations, which a small fence waits
 * for, are done when they begin. A DCI has one connection at a time. */
static bool must_wait(const struct mgds_hca_qp *qp,
                      const struct mgds_hca_wqe *wqe, bool good)
{
    uint8_t fence = wqe->flags & MGDS_WQE_FENCE_MASK;
    uint32_t reads = qp->send.next_read - qp->send.first_read;

    if (fence == MGDS_WQE_FENCE_STRONG && is_pending(qp))
        return true;
    if (good && is_pending(qp) && is_aimed_elsewhere(qp, wqe))
        return true;
    if (fence >= MGDS_WQE_FENCE && reads > 0)
        return true;
    if (wqe->row->traits & MGDS_OP_ANSWERED && reads >= qp->set.reads)
        return true;
    return qp->send.next - qp->send.first >= qp->attr.send_blocks;
}

static struct mgds_hca_pending *push_pending(struct mgds_hca_qp *qp,
                                             const struct mgds_hca_wqe *wqe,
                                             enum mgds_hca_cause cause)
{
    struct mgds_hca_pending *it = pending_at(qp, qp->send.next++);

    *it = (struct mgds_hca_pending){
        .index = qp->send.head,
        .blocks = wqe->blocks,
        .opcode = wqe->opcode,
        .flags = wqe->flags,
        .cause = cause,
        .done = cause || wqe->row->traits & MGDS_OP_LOCAL,
        .psn = qp->send.psn,
        .bytes = wqe->list.bytes,
    };
    qp->send.head = (uint16_t)(qp->send.head + wqe->blocks);
    return it;
}

/* Later calls have larger epochs, those of a process that comes after this one
 * too: the clock is the machine's. */
static uint64_t aim(struct mgds_hca_qp *qp, const struct mgds_hca_av *av)
{
    struct mgds_hca *hca = qp->hca;
    uint64_t now = mgds_hca_now(hca);

    hca->epoch = now > hca->epoch ? now : hca->epoch + 1;
    qp->send.target = *av;
    qp->send.aimed = true;
    return hca->epoch;
}

/* The answer may have come when this returns. */
static void send_request(struct mgds_hca_qp *qp, const struct mgds_hca_wqe *wqe,
                         struct mgds_hca_pending *it)
{
    struct mgds_hca_request request = {
        .to = qp->set.peer,
        .from = qp->number,
        .psn = qp->send.psn,
        .opcode = wqe->opcode,
        .solicited = wqe->flags & MGDS_WQE_SOLICITED,
        .imm = wqe->imm,
        .address = wqe->address,
        .rkey = wqe->rkey,
        .atomic = wqe->atomic,
        .bytes = wqe->list.bytes,
        .payload = &wqe->list,
    };
    uint32_t word;

    if (mgds_hca_wqe_has_av(qp, wqe)) {
        request.to = wqe->av.qpn;
        request.av = &wqe->av;
    }
    if (is_aimed_elsewhere(qp, wqe))
        request.call = aim(qp, &wqe->av);
    if (wqe->row->traits & MGDS_OP_ANSWERED) {
        it->answered = true;
        *read_at(qp, qp->send.next_read++) = wqe->list;
        request.payload = NULL;
    } else if (qp->hca->config.digest) {
        word = mgds_hca_digest_send(qp->hca->config.digest, &wqe->list);
        if (!mgds_hca_is_reliable(qp->attr.service))
            request.digest = word;
    }
    qp->send.psn = (qp->send.psn + 1) & MGDS_HCA_PSN_MASK;
    qp->hca->config.wire.request(qp->hca->config.wire.ctx, &request);
}

/* False: not now. */
static bool begin_wqe(struct mgds_hca_qp *qp)
{
    struct mgds_hca_pending *it;
    struct mgds_hca_wqe wqe;
    enum mgds_hca_cause cause;

    cause = mgds_hca_wqe_decode(qp, &wqe);
    if (must_wait(qp, &wqe, !cause))
        return false;
    if (!cause && wqe.opcode == MGDS_WQE_UMR)
        cause = mgds_hca_window_bind(qp, &wqe.bind);
    it = push_pending(qp, &wqe, cause);
    if (!cause && !(wqe.row->traits & MGDS_OP_ANSWERED))
        mgds_hca_transit_read(qp->hca, &wqe.list);
    if (cause)
        qp->send.halted = true;
    else if (!it->done)
        send_request(qp, &wqe, it);
    return true;
}

static bool is_wire_ready(const struct mgds_hca_qp *qp)
{
    const struct mgds_hca_wire *wire = &qp->hca->config.wire;

    return !wire->ready || wire->ready(wire->ctx, qp);
}

static bool may_begin_wqe(const struct mgds_hca_qp *qp)
{
    return qp->state == MGDS_STATE_RTS && !qp->send.halted &&
           qp->send.head != qp->send.limit &&
           (qp->send.resume == 0 || mgds_hca_now(qp->hca) >= qp->send.resume) &&
           is_wire_ready(qp);
}

static struct mgds_hca_completion
completion_of(const struct mgds_hca_pending *it)
{
    const struct mgds_hca_verdict *verdict = mgds_hca_verdict(it->cause);
    bool answered = mgds_hca_opcode(it->opcode)->traits & MGDS_OP_ANSWERED;

    return (struct mgds_hca_completion){
        .opcode = it->cause ? MGDS_CQE_REQUEST_ERROR : MGDS_CQE_REQUEST,
        .syndrome = verdict->syndrome,
        .vendor = verdict->vendor,
        .wqe_opcode = it->opcode,
        .counter = it->index,
        .bytes = answered ? (uint32_t)it->bytes : 0,
        .event = (it->flags & MGDS_WQE_CE_MASK) == MGDS_WQE_CE_EVENT,
    };
}

static bool is_visible(const struct mgds_hca_pending *it)
{
    uint8_t ce = it->flags & MGDS_WQE_CE_MASK;

    if (it->cause == MGDS_CAUSE_FLUSHED)
        return ce != MGDS_WQE_CE_FIRST_ERROR;
    return it->cause || ce >= MGDS_WQE_CE_ALWAYS;
}

static void complete_send(struct mgds_hca_qp *qp,
                          const struct mgds_hca_pending *it)
{
    struct mgds_hca_completion completion = completion_of(it);

    if (is_visible(it))
        mgds_hca_qp_complete(qp, qp->attr.send_cq, &completion);
}

static struct mgds_hca_pending pop_pending(struct mgds_hca_qp *qp)
{
    struct mgds_hca_pending it = *pending_at(qp, qp->send.first++);

    if (it.answered && !it.done) /* else its answer has given that back */
        qp->send.first_read++;
    return it;
}

/* Completes those at the front that are done; the first that failed is the
 * last. */
static int complete_done(struct mgds_hca_qp *qp)
{
    struct mgds_hca_pending it;
    int did = 0;

    while (is_pending(qp) && pending_at(qp, qp->send.first)->done &&
           qp->state != MGDS_STATE_ERR) {
        it = pop_pending(qp);
        complete_send(qp, &it);
        if (it.cause)
            mgds_hca_qp_break(qp, MGDS_EVENT_NONE);
        did++;
    }
    return did;
}

/* What was begun, then what was only rung for. */
static int flush_sends(struct mgds_hca_qp *qp)
{
    struct mgds_hca_pending it;
    struct mgds_hca_wqe wqe;
    int did = 0;

    for (; is_pending(qp); did++) {
        it = pop_pending(qp);
        it.cause = MGDS_CAUSE_FLUSHED;
        complete_send(qp, &it);
    }
    for (; qp->send.head != qp->send.limit; did++) {
        mgds_hca_wqe_skim(qp, &wqe);
        wqe.list.bytes = 0;
        push_pending(qp, &wqe, MGDS_CAUSE_FLUSHED);
        it = pop_pending(qp);
        complete_send(qp, &it);
    }
    return did;
}

/* SQD: nothing new begins; the program is told when all has ended. */
static int tell_drained(struct mgds_hca_qp *qp)
{
    if (qp->state != MGDS_STATE_SQD || qp->send.drained || is_pending(qp))
        return 0;
    qp->send.drained = true;
    mgds_hca_tell_event(qp->hca, MGDS_EVENT_SQ_DRAINED, qp->number);
    return 1;
}

int mgds_hca_requester_run(struct mgds_hca_qp *qp)
{
    int did = complete_done(qp), turn = 0;

    while (turn++ < TURN && may_begin_wqe(qp) && begin_wqe(qp))
        did += 1 + complete_done(qp);
    if (qp->state == MGDS_STATE_ERR)
        return did + flush_sends(qp) + mgds_hca_receive_flush(qp);
    return did + tell_drained(qp);
}

bool mgds_hca_requester_busy(const struct mgds_hca_qp *qp)
{
    return qp->state == MGDS_STATE_ERR || qp->send.record_due ||
           (qp->state == MGDS_STATE_SQD && !qp->send.drained) ||
           (qp->state == MGDS_STATE_RTS && qp->send.head != qp->send.limit);
}

/* The responder had no receive: back to that WQE, unless it was tried often
 * enough, here or by the wire. */
static void retry_later(struct mgds_hca_qp *qp, struct mgds_hca_pending *it,
                        uint64_t delay)
{
    if (qp->send.retries == 0 || delay == 0) {
        it->cause = MGDS_CAUSE_RECEIVE_EMPTY;
        it->done = true;
        return;
    }
    if (qp->send.retries != MGDS_HCA_RNR_FOREVER)
        qp->send.retries--;
    qp->send.resume = mgds_hca_now(qp->hca) + delay;
    qp->send.head = it->index;
    qp->send.psn = it->psn;
    qp->send.halted = false;
    while (pending_at(qp, qp->send.next - 1) != it)
        qp->send.next_read -= pending_at(qp, --qp->send.next)->answered;
    qp->send.next_read -= it->answered;
    qp->send.next--;
}

static void take_data(struct mgds_hca_qp *qp, struct mgds_hca_pending *it,
                      const struct mgds_hca_answer *answer)
{
    struct mgds_hca_list from, to;

    if (!it->answered)
        return;
    if (answer->cause == MGDS_CAUSE_NONE) {
        mgds_hca_list_one(&from, answer->data.at, answer->data.bytes);
        mgds_hca_list_part(&to, read_at(qp, qp->send.first_read),
                           answer->offset, answer->data.bytes);
        mgds_hca_transit_store(qp, &to, &from);
        if (qp->hca->config.digest)
            mgds_hca_digest_add(&qp->hca->config.digest->placed, &to,
                                answer->offset);
    }
    if (!answer->more)
        qp->send.first_read++;
}

void mgds_hca_answered(struct mgds_hca *hca,
                       const struct mgds_hca_answer *answer)
{
    struct mgds_hca_qp *qp = mgds_hca_qp_find(hca, answer->to);
    struct mgds_hca_pending *it;

    if (!qp || qp->state < MGDS_STATE_RTS || qp->state == MGDS_STATE_ERR)
        return;
    it = oldest_waiting(qp);
    if (!it || it->psn != answer->psn)
        return;
    mgds_hca_busy(hca, qp);
    if (answer->cause == MGDS_CAUSE_RECEIVE_EMPTY) {
        retry_later(qp, it, answer->delay);
        return;
    }
    take_data(qp, it, answer);
    qp->send.retries = qp->set.rnr_retry;
    qp->send.resume = 0;
    it->cause = answer->cause;
    it->done = !answer->more;
}
