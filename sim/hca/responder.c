/* The receiving side of a QP. */
#include "sim/hca/responder.h"

#include <stdbool.h>
#include <stddef.h>

#include "sim/hca/dct.h"
#include "sim/hca/digest.h"
#include "sim/hca/engine.h"
#include "sim/hca/key.h"
#include "sim/hca/opcode.h"
#include "sim/hca/qp.h"
#include "sim/hca/receive.h"
#include "sim/hca/transit.h"
#include "sim/hca/window.h"
#include "sim/hca/wire.h"

static const enum mgds_hca_cause remote_causes[MGDS_FAULTS + 1] = {
    [MGDS_FAULT_KEY] = MGDS_CAUSE_REMOTE_KEY,
    [MGDS_FAULT_PD] = MGDS_CAUSE_REMOTE_PD,
    [MGDS_FAULT_WINDOW] = MGDS_CAUSE_REMOTE_WINDOW,
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
        .qpn = qp->number,
    };

    /* Of an empty message the key is not looked at (rxe_resp.c). */
    *at = NULL;
    return bytes ? remote_causes[mgds_hca_key_find(qp->hca, &span, at)]
                 : MGDS_CAUSE_NONE;
}

/* The writes to what is read next are there first. */
static void push_writes(const struct mgds_hca_qp *qp, void *at, uint64_t bytes)
{
    struct mgds_hca_list list;

    mgds_hca_list_one(&list, at, bytes);
    mgds_hca_transit_read(qp->hca, &list);
}

static struct mgds_hca_completion
completion_of(const struct mgds_hca_request *request,
              enum mgds_cqe_opcode opcode)
{
    return (struct mgds_hca_completion){
        .opcode = opcode,
        .peer = request->from,
        .bytes = (uint32_t)request->bytes,
        .imm = request->imm,
        .solicited = request->solicited,
    };
}

static void add_header(const struct mgds_hca_datagram *datagram,
                       struct mgds_hca_completion *completion)
{
    completion->bytes += MGDS_HCA_GRH;
    completion->lid = datagram->lid;
    completion->peer |= (uint32_t)datagram->sl << MGDS_CQE_SL_SHIFT;
    if (datagram->global)
        completion->peer |= MGDS_CQE_GRH;
}

static enum mgds_cqe_opcode receive_opcode(uint8_t operation)
{
    if (operation == MGDS_WQE_SEND_IMM)
        return MGDS_CQE_RECEIVE_SEND_IMM;
    return operation == MGDS_WQE_SEND_INVAL ? MGDS_CQE_RECEIVE_SEND_INVAL
                                            : MGDS_CQE_RECEIVE_SEND;
}

/* The key ends behind the payload, and that is visible with the CQE. */
static enum mgds_hca_cause invalidate(const struct mgds_hca_qp *qp,
                                      const struct mgds_hca_request *request)
{
    if (request->opcode != MGDS_WQE_SEND_INVAL || request->more)
        return MGDS_CAUSE_NONE;
    return mgds_hca_window_invalidate(qp, mgds_from_be32(request->imm));
}

enum mgds_hca_cause
mgds_hca_respond_send(struct mgds_hca_qp *qp,
                      const struct mgds_hca_request *request,
                      struct mgds_hca_answer *answer)
{
    struct mgds_hca_completion completion =
        completion_of(request, receive_opcode(request->opcode));
    enum mgds_hca_cause cause;

    (void)answer;
    if (!mgds_hca_receive_take(qp))
        return MGDS_CAUSE_RECEIVE_EMPTY;
    if (request->datagram)
        add_header(request->datagram, &completion);
    cause = mgds_hca_receive_place(qp, request);
    if (!cause)
        cause = invalidate(qp, request);
    if (cause)
        mgds_hca_receive_fail(qp, cause);
    else if (!request->more)
        mgds_hca_receive_complete(qp, &completion);
    return cause;
}

static void note_placed(struct mgds_hca_qp *qp, const struct mgds_hca_list *to,
                        const struct mgds_hca_request *request)
{
    struct mgds_hca_list part;

    if (!qp->hca->config.digest)
        return;
    mgds_hca_list_part(&part, to, 0, request->payload->bytes);
    mgds_hca_digest_place(qp->hca->config.digest, &qp->receive.placed, &part,
                          request->offset);
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
        mgds_hca_transit_store(qp, &to, request->payload);
        note_placed(qp, &to, request);
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
        completion_of(request, MGDS_CQE_RECEIVE_WRITE_IMM);
    enum mgds_hca_cause cause;

    if (!mgds_hca_receive_take(qp))
        return MGDS_CAUSE_RECEIVE_EMPTY;
    cause = mgds_hca_respond_write(qp, request, answer);
    if (!cause)
        mgds_hca_receive_complete(qp, &completion);
    return cause;
}

/* A wire with packets looks the memory up for each of them. */
static uint64_t part_of_read(const struct mgds_hca_qp *qp,
                             const struct mgds_hca_request *request)
{
    uint64_t rest = request->bytes - request->offset;

    return request->more && rest > qp->set.mtu ? qp->set.mtu : rest;
}

enum mgds_hca_cause
mgds_hca_respond_read(struct mgds_hca_qp *qp,
                      const struct mgds_hca_request *request,
                      struct mgds_hca_answer *answer)
{
    enum mgds_hca_cause cause;
    void *at;

    cause = find_memory(qp, request, request->bytes, MGDS_HCA_REMOTE_READ, &at);
    if (cause)
        return cause;
    push_writes(qp, (uint8_t *)at + request->offset, part_of_read(qp, request));
    answer->data = (struct mgds_hca_piece){at, request->bytes};
    return MGDS_CAUSE_NONE;
}

/* The word, in this machine's byte order, atomic for its CPUs too. The value
 * that was there goes back as it is in memory. */
static enum mgds_hca_cause find_word(const struct mgds_hca_qp *qp,
                                     const struct mgds_hca_request *request,
                                     struct mgds_hca_answer *answer, void **at)
{
    uint64_t bytes = request->bytes;
    enum mgds_hca_cause cause;

    if (bytes != sizeof(uint32_t) && bytes != sizeof(uint64_t))
        return MGDS_CAUSE_REMOTE_DISABLED;
    if (request->address % bytes != 0)
        return MGDS_CAUSE_REMOTE_ALIGNMENT;
    cause = find_memory(qp, request, bytes, MGDS_HCA_REMOTE_ATOMIC, at);
    if (!cause && (uintptr_t)*at % bytes != 0)
        cause = MGDS_CAUSE_REMOTE_ALIGNMENT;
    answer->data.bytes = bytes;
    return cause;
}

/* What comes into the word instead of `old`. */
typedef uint64_t change_word(uint64_t old,
                             const struct mgds_hca_operands *operands);

static uint64_t masked_swap(uint64_t old, const struct mgds_hca_operands *by)
{
    if ((old ^ by->compare) & by->compare_mask)
        return old;
    return (old & ~by->mask) | (by->operand & by->mask);
}

/* The highest bit of each field is added without its carry. */
static uint64_t masked_add(uint64_t old, const struct mgds_hca_operands *by)
{
    uint64_t low = (old & ~by->mask) + (by->operand & ~by->mask);

    return low ^ ((old ^ by->operand) & by->mask);
}

static void change_4(uint32_t *word, change_word *change,
                     const struct mgds_hca_operands *by, uint32_t *old)
{
    *old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(word, old, (uint32_t)change(*old, by),
                                        true, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
}

static void change_8(uint64_t *word, change_word *change,
                     const struct mgds_hca_operands *by, uint64_t *old)
{
    *old = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(word, old, change(*old, by), true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

static enum mgds_hca_cause
respond_atomic(struct mgds_hca_qp *qp, const struct mgds_hca_request *request,
               struct mgds_hca_answer *answer, change_word *change,
               const struct mgds_hca_operands *by)
{
    void *old = answer->data.at, *at;
    struct mgds_hca_list list;
    enum mgds_hca_cause cause = find_word(qp, request, answer, &at);

    if (cause)
        return cause;
    push_writes(qp, at, request->bytes);
    if (request->bytes == sizeof(uint32_t))
        change_4(at, change, by, old);
    else
        change_8(at, change, by, old);
    mgds_hca_transit_changed(qp->hca, at, request->bytes);
    if (qp->hca->config.digest) {
        mgds_hca_list_one(&list, old, request->bytes);
        mgds_hca_digest_add(&qp->hca->config.digest->sent, &list, 0);
    }
    return MGDS_CAUSE_NONE;
}

enum mgds_hca_cause
mgds_hca_respond_masked_swap(struct mgds_hca_qp *qp,
                             const struct mgds_hca_request *request,
                             struct mgds_hca_answer *answer)
{
    return respond_atomic(qp, request, answer, masked_swap, &request->atomic);
}

enum mgds_hca_cause
mgds_hca_respond_masked_add(struct mgds_hca_qp *qp,
                            const struct mgds_hca_request *request,
                            struct mgds_hca_answer *answer)
{
    return respond_atomic(qp, request, answer, masked_add, &request->atomic);
}

/* The plain ones: all bits of the word, and no boundary. */
enum mgds_hca_cause
mgds_hca_respond_compare_swap(struct mgds_hca_qp *qp,
                              const struct mgds_hca_request *request,
                              struct mgds_hca_answer *answer)
{
    struct mgds_hca_operands by = request->atomic;

    by.mask = by.compare_mask = UINT64_MAX;
    return respond_atomic(qp, request, answer, masked_swap, &by);
}

enum mgds_hca_cause
mgds_hca_respond_fetch_add(struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request,
                           struct mgds_hca_answer *answer)
{
    struct mgds_hca_operands by = request->atomic;

    by.mask = 0;
    return respond_atomic(qp, request, answer, masked_add, &by);
}

/* The QP that answers a request; or the reason why none does. A connection of a
 * DCT answers a DCI: on a wire without calls of its own this calls the DCT. */
static struct mgds_hca_qp *
find_responder(struct mgds_hca *hca, const struct mgds_hca_request *request,
               enum mgds_hca_cause *cause)
{
    struct mgds_hca_qp *qp = mgds_hca_qp_find(hca, request->to), *called;
    bool is_target = qp && mgds_hca_is_target(qp);

    if (!is_target || !request->av)
        return is_target || request->av ? NULL : qp;
    if (request->call)
        *cause = mgds_hca_dct_accept(
            qp,
            &(struct mgds_hca_call){.from = request->from,
                                    .key = request->av->dc_key,
                                    .epoch = request->call,
                                    .psn = request->psn},
            &called);
    return *cause ? NULL : mgds_hca_dct_find(qp, 0, request->from);
}

/* A QP that hears this requester at all. */
static bool hears_requester(const struct mgds_hca_qp *qp,
                            const struct mgds_hca_request *request)
{
    return qp && qp->attr.service != MGDS_SERVICE_UD &&
           qp->state >= MGDS_STATE_RTR && qp->state != MGDS_STATE_ERR &&
           qp->set.peer == request->from;
}

static bool hears_datagram(const struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request)
{
    return qp && qp->attr.service == MGDS_SERVICE_UD &&
           qp->state >= MGDS_STATE_RTR && qp->state != MGDS_STATE_ERR &&
           request->datagram->qkey == qp->set.qkey;
}

/* A message has been placed, unless its last part will be later
 * (wire/placing.h), or has no bytes. */
static void compare_digest(const struct mgds_hca_qp *qp,
                           const struct mgds_hca_request *request)
{
    uint64_t end = request->offset + request->payload->bytes;

    if (end > 0 && end == request->bytes)
        mgds_hca_digest_compare(qp->hca->config.digest, &qp->receive.placed,
                                end, request->digest);
}

static enum mgds_hca_cause
dispatch_request(struct mgds_hca_qp *qp, const struct mgds_hca_request *request,
                 struct mgds_hca_answer *answer)
{
    const struct mgds_hca_opcode *row = mgds_hca_opcode(request->opcode);
    enum mgds_hca_cause cause;

    if (row->permission & ~qp->set.access || !row->respond)
        return MGDS_CAUSE_REMOTE_DISABLED;
    cause = row->respond(qp, request, answer);
    if (!cause && request->digest && qp->hca->config.digest)
        compare_digest(qp, request);
    return cause;
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
    const struct mgds_hca_wire *wire = &hca->config.wire;
    struct mgds_hca_qp *qp;
    uint64_t old;
    struct mgds_hca_answer answer = {
        .to = request->from,
        .psn = request->psn,
        .cause = MGDS_CAUSE_NONE,
        .data = {(uint8_t *)&old, sizeof(old)},
    };

    qp = find_responder(hca, request, &answer.cause);
    if (request->datagram) {
        if (hears_datagram(qp, request))
            settle_verdict(qp, dispatch_request(qp, request, &answer), true);
        return;
    }
    if (hears_requester(qp, request) && request->psn == qp->receive.psn) {
        answer.delay = qp->set.rnr_delay;
        answer.cause = dispatch_request(qp, request, &answer);
        settle_verdict(qp, answer.cause, request->more);
    } else if (hears_requester(qp, request) && qp->receive.passing) {
        return; /* it comes again, behind the one that has to */
    } else if (!answer.cause) {
        answer.cause = MGDS_CAUSE_NO_RESPONSE;
    }
    wire->answer(wire->ctx, &answer);
}
