/* The receiving side of a QP. */
#include "sim/hca/responder.h"

#include <stdbool.h>
#include <stddef.h>

#include "sim/hca/engine.h"
#include "sim/hca/key.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire.h"
#include "sim/hca/wqe.h"

static const enum mgds_hca_cause remote_causes[MGDS_FAULTS + 1] = {
    [MGDS_FAULT_KEY] = MGDS_CAUSE_REMOTE_KEY,
    [MGDS_FAULT_PD] = MGDS_CAUSE_REMOTE_PD,
    [MGDS_FAULT_BOUNDS] = MGDS_CAUSE_REMOTE_BOUNDS,
    [MGDS_FAULT_ACCESS] = MGDS_CAUSE_REMOTE_PERMISSION,
};

/* So many bytes of the memory that a request names. */
static enum mgds_hca_cause find_memory(const struct mgds_hca_qp *qp,
                                       const struct mgds_hca_request *request,
                                       uint64_t bytes, uint8_t access,
                                       void **at)
{
    struct mgds_hca_span span = {
        .pd = qp->attr.pd,
        .key = request->rkey,
        .address = request->address,
        .bytes = bytes,
        .access = access,
    };

    /* Of an empty message the key is not looked at (rxe_resp.c). */
    *at = NULL;
    return bytes ? remote_causes[mgds_hca_key_find(qp->hca, &span, at)]
                 : MGDS_CAUSE_NONE;
}

/* Receives that are posted. A count that no ring can hold counts as none. */
static uint16_t posted_receives(const struct mgds_hca_qp *qp)
{
    uint16_t count = (uint16_t)(mgds_hca_qp_record(qp, MGDS_DBREC_RECEIVE) -
                                qp->receive.head);

    return count <= qp->attr.receives ? count : 0;
}

static struct mgds_hca_completion
completion_of(const struct mgds_hca_qp *qp,
              const struct mgds_hca_request *request,
              enum mgds_cqe_opcode opcode)
{
    return (struct mgds_hca_completion){
        .opcode = opcode,
        .counter = qp->receive.head,
        .peer = request->from,
        .bytes = (uint32_t)request->bytes,
        .imm = request->imm,
        .solicited = request->solicited,
    };
}

static void complete_receive(struct mgds_hca_qp *qp,
                             struct mgds_hca_completion *completion)
{
    qp->receive.head++;
    mgds_hca_qp_complete(qp, qp->attr.receive_cq, completion);
}

/* Takes a receive that cannot hold its message. */
static void complete_failed_receive(struct mgds_hca_qp *qp,
                                    enum mgds_hca_cause cause)
{
    const struct mgds_hca_verdict *verdict = mgds_hca_verdict(cause);
    struct mgds_hca_completion completion = {
        .opcode = MGDS_CQE_RECEIVE_ERROR,
        .syndrome = verdict->receive_syndrome,
        .vendor = verdict->receive_vendor,
        .counter = qp->receive.head,
    };

    complete_receive(qp, &completion);
}

static enum mgds_hca_cause place_payload(struct mgds_hca_qp *qp,
                                         const struct mgds_hca_request *request)
{
    uint16_t slot = (uint16_t)(qp->receive.head & (qp->attr.receives - 1));
    struct mgds_hca_list list, part;
    enum mgds_hca_cause cause = mgds_hca_receive_decode(qp, slot, &list);

    if (!cause && list.bytes < request->bytes)
        cause = MGDS_CAUSE_RECEIVE_SHORT;
    if (cause)
        return cause;
    mgds_hca_list_part(&part, &list, request->offset, request->payload->bytes);
    mgds_hca_list_copy(&part, request->payload);
    return MGDS_CAUSE_NONE;
}

enum mgds_hca_cause
mgds_hca_respond_send(struct mgds_hca_qp *qp,
                      const struct mgds_hca_request *request,
                      struct mgds_hca_answer *answer)
{
    bool has_imm = request->opcode == MGDS_WQE_SEND_IMM;
    struct mgds_hca_completion completion = completion_of(
        qp, request,
        has_imm ? MGDS_CQE_RECEIVE_SEND_IMM : MGDS_CQE_RECEIVE_SEND);
    enum mgds_hca_cause cause;

    (void)answer;
    if (posted_receives(qp) == 0)
        return MGDS_CAUSE_RECEIVE_EMPTY;
    cause = place_payload(qp, request);
    if (cause)
        complete_failed_receive(qp, cause);
    else if (!request->more)
        complete_receive(qp, &completion);
    return cause;
}

enum mgds_hca_cause
mgds_hca_respond_write(struct mgds_hca_qp *qp,
                       const struct mgds_hca_request *request,
                       struct mgds_hca_answer *answer)
{
    struct mgds_hca_list to;
    enum mgds_hca_cause cause;
    void *at;

    (void)answer;
    cause =
        find_memory(qp, request, request->bytes, MGDS_HCA_REMOTE_WRITE, &at);
    if (cause)
        return cause;
    if (request->payload->bytes > 0) {
        mgds_hca_list_one(&to, (uint8_t *)at + request->offset,
                          request->bytes - request->offset);
        mgds_hca_list_copy(&to, request->payload);
    }
    return MGDS_CAUSE_NONE;
}

/* The receive is there before the last part is written (InfiniBand wants it for
 * that packet alone), and its memory is not looked at. */
enum mgds_hca_cause
mgds_hca_respond_write_imm(struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request,
                           struct mgds_hca_answer *answer)
{
    struct mgds_hca_completion completion =
        completion_of(qp, request, MGDS_CQE_RECEIVE_WRITE_IMM);
    enum mgds_hca_cause cause;

    if (posted_receives(qp) == 0)
        return MGDS_CAUSE_RECEIVE_EMPTY;
    cause = mgds_hca_respond_write(qp, request, answer);
    if (!cause)
        complete_receive(qp, &completion);
    return cause;
}

enum mgds_hca_cause
mgds_hca_respond_read(struct mgds_hca_qp *qp,
                      const struct mgds_hca_request *request,
                      struct mgds_hca_answer *answer)
{
    enum mgds_hca_cause cause;
    void *at;

    cause = find_memory(qp, request, request->bytes, MGDS_HCA_REMOTE_READ, &at);
    if (!cause)
        answer->data = (struct mgds_hca_piece){at, request->bytes};
    return cause;
}

/* The word, in this machine's byte order, atomic for its CPUs too. The value
 * that was there goes back as it is in memory. */
static enum mgds_hca_cause find_word(const struct mgds_hca_qp *qp,
                                     const struct mgds_hca_request *request,
                                     uint64_t **word)
{
    enum mgds_hca_cause cause;
    void *at;

    if (request->address % sizeof(**word) != 0)
        return MGDS_CAUSE_REMOTE_ALIGNMENT;
    cause =
        find_memory(qp, request, sizeof(**word), MGDS_HCA_REMOTE_ATOMIC, &at);
    if (!cause && (uintptr_t)at % sizeof(**word) != 0)
        cause = MGDS_CAUSE_REMOTE_ALIGNMENT;
    *word = at;
    return cause;
}

enum mgds_hca_cause
mgds_hca_respond_compare_swap(struct mgds_hca_qp *qp,
                              const struct mgds_hca_request *request,
                              struct mgds_hca_answer *answer)
{
    uint64_t *word, *old = (uint64_t *)(void *)answer->data.at;
    enum mgds_hca_cause cause = find_word(qp, request, &word);

    if (cause)
        return cause;
    *old = request->compare;
    __atomic_compare_exchange_n(word, old, request->operand, false,
                                __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    return MGDS_CAUSE_NONE;
}

enum mgds_hca_cause
mgds_hca_respond_fetch_add(struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request,
                           struct mgds_hca_answer *answer)
{
    uint64_t *word, *old = (uint64_t *)(void *)answer->data.at;
    enum mgds_hca_cause cause = find_word(qp, request, &word);

    if (cause)
        return cause;
    *old = __atomic_fetch_add(word, request->operand, __ATOMIC_ACQ_REL);
    return MGDS_CAUSE_NONE;
}

int mgds_hca_responder_flush(struct mgds_hca_qp *qp)
{
    int did = 0;

    for (uint16_t count = posted_receives(qp); count > 0; count--, did++)
        complete_failed_receive(qp, MGDS_CAUSE_FLUSHED);
    return did;
}

/* A QP that hears this requester at all. */
static bool hears_requester(const struct mgds_hca_qp *qp,
                            const struct mgds_hca_request *request)
{
    return qp && qp->state >= MGDS_STATE_RTR && qp->state != MGDS_STATE_ERR &&
           qp->set.peer == request->from;
}

static enum mgds_hca_cause
dispatch_request(struct mgds_hca_qp *qp, const struct mgds_hca_request *request,
                 struct mgds_hca_answer *answer)
{
    const struct mgds_hca_opcode *row = mgds_hca_opcode(request->opcode);

    if (row->permission & ~qp->set.access || !row->respond)
        return MGDS_CAUSE_REMOTE_DISABLED;
    return row->respond(qp, request, answer);
}

/* What a verdict makes of the responder's QP. */
static void settle_verdict(struct mgds_hca_qp *qp, enum mgds_hca_cause cause,
                           bool more)
{
    const struct mgds_hca_verdict *verdict = mgds_hca_verdict(cause);

    qp->receive.passing = cause == MGDS_CAUSE_RECEIVE_EMPTY;
    if (!qp->receive.passing && !more)
        qp->receive.psn = (qp->receive.psn + 1) & MGDS_HCA_PSN_MASK;
    if (verdict->blame == MGDS_BLAME_BOTH)
        mgds_hca_qp_break(qp, verdict->event);
}

void mgds_hca_requested(struct mgds_hca *hca,
                        const struct mgds_hca_request *request)
{
    struct mgds_hca_qp *qp = mgds_hca_qp_find(hca, request->to);
    const struct mgds_hca_wire *wire = &hca->config.wire;
    uint64_t old;
    struct mgds_hca_answer answer = {
        .to = request->from,
        .psn = request->psn,
        .cause = MGDS_CAUSE_NO_RESPONSE,
        .data = {(uint8_t *)&old, sizeof(old)},
    };

    if (hears_requester(qp, request) && request->psn == qp->receive.psn) {
        answer.delay = qp->set.rnr_delay;
        answer.cause = dispatch_request(qp, request, &answer);
        settle_verdict(qp, answer.cause, request->more);
    } else if (hears_requester(qp, request) && qp->receive.passing) {
        return; /* it comes again, behind the one that has to */
    }
    wire->answer(wire->ctx, &answer);
}
