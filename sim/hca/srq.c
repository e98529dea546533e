/* Shared receive queues: what is posted, and which slot is next. */
#include "sim/hca/srq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hca/engine.h"
#include "sim/hca/qp.h"

enum { LEAST_STRIDE = 32, SRQNS = 0xffff };

uint32_t mgds_hca_srq_stride(uint32_t elements)
{
    uint32_t bytes = (1 + elements) * MGDS_WQE_UNIT;
    uint32_t stride = LEAST_STRIDE;

    while (stride < bytes)
        stride *= 2;
    return stride;
}

static bool is_power(uint32_t v)
{
    return v > 0 && (v & (v - 1)) == 0;
}

static bool is_valid_srq(const struct mgds_hca_srq_attr *attr)
{
    return attr->buffer && (uintptr_t)attr->buffer % MGDS_WQE_UNIT == 0 &&
           is_power(attr->slots) && attr->slots <= MGDS_HCA_RECEIVES &&
           is_power(attr->stride) && attr->stride >= LEAST_STRIDE &&
           attr->stride <= MGDS_HCA_STRIDE && attr->record &&
           (uintptr_t)attr->record % sizeof(uint64_t) == 0;
}

int mgds_hca_srq_attach(struct mgds_hca *hca,
                        const struct mgds_hca_srq_attr *attr,
                        struct mgds_hca_srq **out)
{
    struct mgds_hca_srq *srq;

    if (!is_valid_srq(attr))
        return -EINVAL;
    srq = malloc(sizeof(*srq));
    if (!srq)
        return -ENOMEM;
    *srq = (struct mgds_hca_srq){.hca = hca, .attr = *attr};
    srq->number = mgds_hca_table_add(&hca->srqs, srq, 1, SRQNS);
    if (srq->number == 0) {
        free(srq);
        return -ENOMEM;
    }
    *out = srq;
    return 0;
}

int mgds_hca_srq_detach(struct mgds_hca_srq *srq)
{
    if (srq->users)
        return -EBUSY;
    mgds_hca_table_drop(&srq->hca->srqs, srq->number);
    free(srq);
    return 0;
}

uint16_t mgds_hca_srq_posted(const struct mgds_hca_srq *srq)
{
    struct mgds_be32 be;
    uint16_t count;

    /* WQEs and links were written before the word that counts them. */
    be.raw = __atomic_load_n(&srq->attr.record->raw, __ATOMIC_ACQUIRE);
    count = (uint16_t)(mgds_from_be32(be) - srq->taken);
    return count <= srq->attr.slots ? count : 0;
}

static void look_at_limit(struct mgds_hca_srq *srq)
{
    if (srq->limit == 0 || mgds_hca_srq_posted(srq) >= srq->limit)
        return;
    srq->limit = 0;
    mgds_hca_tell_event(srq->hca, MGDS_EVENT_SRQ_LIMIT, srq->number);
}

int mgds_hca_srq_limit(struct mgds_hca_srq *srq, uint32_t limit)
{
    if (limit > srq->attr.slots)
        return -EINVAL;
    srq->limit = limit;
    look_at_limit(srq);
    return 0;
}

uint16_t mgds_hca_srq_take(struct mgds_hca_srq *srq)
{
    uint16_t slot = srq->next;
    struct mgds_wqe_next link;

    memcpy(&link,
           (const uint8_t *)srq->attr.buffer + (size_t)slot * srq->attr.stride,
           sizeof(link));
    srq->next = (uint16_t)(mgds_from_be16(link.next) & (srq->attr.slots - 1));
    srq->taken++;
    look_at_limit(srq);
    return slot;
}
