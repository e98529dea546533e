/* UAR pages and doorbells. */
#include "sim/hca/doorbell.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/hca/cq.h"
#include "sim/hca/engine.h"
#include "sim/hca/qp.h"

enum { BACKWARDS = 0x8000 };

int mgds_hca_uar_attach(struct mgds_hca *hca, void *page,
                        struct mgds_hca_uar **out)
{
    struct mgds_hca_uar *uar;

    if (!page || (uintptr_t)page % sizeof(uint64_t) != 0)
        return -EINVAL;
    uar = malloc(sizeof(*uar));
    if (!uar)
        return -ENOMEM;
    *uar = (struct mgds_hca_uar){.hca = hca, .page = page, .next = hca->uars};
    hca->uars = uar;
    *out = uar;
    return 0;
}

bool mgds_hca_uar_used(const struct mgds_hca_uar *uar)
{
    return uar->qp[0] || uar->qp[1] || uar->qp[MGDS_UAR_EITHER] || uar->cq;
}

int mgds_hca_uar_detach(struct mgds_hca_uar *uar)
{
    struct mgds_hca_uar **at = &uar->hca->uars;

    if (mgds_hca_uar_used(uar))
        return -EBUSY;
    while (*at != uar)
        at = &(*at)->next;
    *at = uar->next;
    free(uar);
    return 0;
}

void mgds_hca_uar_add_qp(struct mgds_hca_uar *uar, struct mgds_hca_qp *qp)
{
    qp->next = uar->qp[qp->attr.uar_register];
    uar->qp[qp->attr.uar_register] = qp;
}

void mgds_hca_uar_drop_qp(struct mgds_hca_uar *uar, struct mgds_hca_qp *qp)
{
    struct mgds_hca_qp **at = &uar->qp[qp->attr.uar_register];

    while (*at != qp)
        at = &(*at)->next;
    *at = qp->next;
}

void mgds_hca_uar_add_cq(struct mgds_hca_uar *uar, struct mgds_hca_cq *cq)
{
    cq->next = uar->cq;
    uar->cq = cq;
}

void mgds_hca_uar_drop_cq(struct mgds_hca_uar *uar, struct mgds_hca_cq *cq)
{
    struct mgds_hca_cq **at = &uar->cq;

    while (*at != cq)
        at = &(*at)->next;
    *at = cq->next;
}

/* What was written there, as two words of the HCA; false: nothing, or only the
 * first half of a program that writes two. The second is never 0: it has a
 * number of an object. */
static bool take_word(struct mgds_hca_uar *uar, size_t offset, uint32_t word[2])
{
    uint64_t *at = (uint64_t *)(uar->page + offset);
    uint64_t value = __atomic_load_n(at, __ATOMIC_RELAXED);
    struct mgds_be32 be;

    if (value >> 32 == 0)
        return false;
    value = __atomic_exchange_n(at, 0, __ATOMIC_ACQUIRE);
    be.raw = (uint32_t)value;
    word[0] = mgds_from_be32(be);
    be.raw = (uint32_t)(value >> 32);
    word[1] = mgds_from_be32(be);
    return true;
}

/* WQEs up to here are the HCA's. False: they cannot be. */
static bool advance_limit(struct mgds_hca_qp *qp, uint16_t limit)
{
    uint16_t ahead = (uint16_t)(limit - qp->send.head);
    uint16_t known = (uint16_t)(qp->send.limit - qp->send.head);

    if (ahead > qp->attr.send_blocks || ahead < known) {
        mgds_hca_tell_misuse(qp->hca, MGDS_MISUSE_DOORBELL_INDEX, qp->number);
        return false;
    }
    qp->send.limit = limit;
    mgds_hca_busy(qp->hca, qp);
    return true;
}

/* The next free index that a doorbell means. */
static uint16_t end_of_doorbell(const uint32_t word[2])
{
    unsigned units = word[1] & MGDS_WQE_MAX_UNITS;
    unsigned blocks = (units + MGDS_WQE_BLOCK_UNITS - 1) / MGDS_WQE_BLOCK_UNITS;

    return (uint16_t)((word[0] >> 8) + blocks);
}

static void ring_owned(struct mgds_hca_qp *qp, const uint32_t word[2])
{
    if (word[1] >> 8 != qp->number) {
        mgds_hca_tell_misuse(qp->hca, MGDS_MISUSE_DOORBELL_QPN, qp->number);
        return;
    }
    if (qp->state == MGDS_STATE_RESET ||
        !advance_limit(qp, end_of_doorbell(word)))
        return;
    qp->send.record_due = true;
    qp->send.record_time = 0;
}

static bool may_ring(const struct mgds_hca_qp *qp, unsigned number)
{
    return qp->attr.uar_register == number || qp->send.rung_at == 0 ||
           qp->send.rung_at & 1u << number;
}

/* The next QP that may ring a register; of NULL, the first one. */
static struct mgds_hca_qp *next_ringer(const struct mgds_hca_uar *uar,
                                       unsigned number,
                                       const struct mgds_hca_qp *qp)
{
    bool either = qp && qp->attr.uar_register == MGDS_UAR_EITHER;
    struct mgds_hca_qp *next = qp ? qp->next : uar->qp[number];

    if (!next && !either) {
        next = uar->qp[MGDS_UAR_EITHER];
        either = true;
    }
    while (either && next && !may_ring(next, number))
        next = next->next;
    return next;
}

static void note_ringer(const struct mgds_hca_uar *uar, unsigned number,
                        const uint32_t word[2])
{
    struct mgds_hca_qp *qp = uar->qp[MGDS_UAR_EITHER];

    while (qp && qp->number != word[1] >> 8)
        qp = qp->next;
    if (qp)
        qp->send.rung_at |= (uint8_t)(1u << number);
}

/* After RESET a record is cleared by the program, in its own time. */
static void ring_shared(const struct mgds_hca_uar *uar, unsigned number)
{
    struct mgds_hca_qp *qp = NULL;

    while ((qp = next_ringer(uar, number, qp))) {
        if (qp->state != MGDS_STATE_RESET)
            advance_limit(qp, mgds_hca_qp_record(qp, MGDS_DBREC_SEND));
    }
}

/* The halves in the order in which they were rung: the one that is taken first
 * may have been rung again since. */
static void ring_both(struct mgds_hca_qp *qp, const uint32_t a[2],
                      const uint32_t b[2])
{
    bool swapped =
        (uint16_t)(end_of_doorbell(b) - end_of_doorbell(a)) >= BACKWARDS;

    ring_owned(qp, swapped ? b : a);
    ring_owned(qp, swapped ? a : b);
}

/* All QPs of the page have been seen at the other register. */
static void tell_stray(const struct mgds_hca_qp *one)
{
    if (one)
        mgds_hca_tell_misuse(one->hca, MGDS_MISUSE_DOORBELL_QPN, one->number);
}

/* What was taken from the halves of a register, or from one of them. */
static void ring_register(const struct mgds_hca_uar *uar, unsigned number,
                          const uint32_t *first, const uint32_t *second)
{
    struct mgds_hca_qp *qp;

    if (uar->qp[MGDS_UAR_EITHER] && first)
        note_ringer(uar, number, first);
    if (uar->qp[MGDS_UAR_EITHER] && second)
        note_ringer(uar, number, second);
    qp = next_ringer(uar, number, NULL);
    if (!qp)
        tell_stray(uar->qp[MGDS_UAR_EITHER]);
    else if (next_ringer(uar, number, qp))
        ring_shared(uar, number);
    else if (first && second)
        ring_both(qp, first, second);
    else
        ring_owned(qp, first ? first : second);
}

static int poll_register(struct mgds_hca_uar *uar, unsigned number)
{
    size_t offset = MGDS_UAR_REGISTER + number * MGDS_UAR_REGISTER_BYTES;
    uint32_t word[2][2];
    bool first, second;

    if (!uar->qp[number] && !uar->qp[MGDS_UAR_EITHER])
        return 0;
    first = take_word(uar, offset, word[0]);
    second = take_word(uar, offset + MGDS_UAR_HALF_BYTES, word[1]);
    /* Both may have been rung since the first half was looked at: what was
     * stored before the second is visible now. */
    if (second && !first)
        first = take_word(uar, offset, word[0]);
    if (!first && !second)
        return 0;
    ring_register(uar, number, first ? word[0] : NULL, second ? word[1] : NULL);
    return 1;
}

static int poll_cqs(struct mgds_hca_uar *uar)
{
    uint32_t word[2];

    if (!uar->cq || !take_word(uar, MGDS_UAR_CQ, word))
        return 0;
    for (struct mgds_hca_cq *cq = uar->cq; cq; cq = cq->next)
        mgds_hca_cq_arm(cq, cq->number == word[1]);
    return 1;
}

int mgds_hca_uar_poll(struct mgds_hca_uar *uar)
{
    int did = poll_cqs(uar);

    for (unsigned number = 0; number < MGDS_UAR_REGISTERS; number++)
        did += poll_register(uar, number);
    return did;
}

void mgds_hca_doorbell_check(struct mgds_hca_qp *qp)
{
    uint16_t ahead;

    if (!qp->send.record_due)
        return;
    ahead =
        (uint16_t)(mgds_hca_qp_record(qp, MGDS_DBREC_SEND) - qp->send.limit);
    if (ahead >= BACKWARDS) {
        uint64_t now = mgds_hca_now(qp->hca);

        if (qp->send.record_time == 0)
            qp->send.record_time = now;
        if (now - qp->send.record_time < qp->hca->config.late_record)
            return;
        mgds_hca_tell_misuse(qp->hca, MGDS_MISUSE_RECORD_BEHIND, qp->number);
    }
    qp->send.record_due = false;
}
