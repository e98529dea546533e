/* Posting by hand; docs and order of stores: sendq.h, docs/ordering.md. */
#include "shim/gds/hca/sendq.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "device/impl/mem.h"

/* Half a ring of silent WQEs is as much as goes without a completion. */
static bool must_be_heard(struct mgds_sendq *queue, const struct mgds_wqe *wqe)
{
    bool asks = (wqe->ctrl.fm_ce_se & MGDS_WQE_CE_MASK) >= MGDS_WQE_CE_ALWAYS;

    queue->silent = asks ? 0 : queue->silent + 1;
    if (queue->silent < queue->blocks / 2)
        return false;
    queue->silent = 0;
    return true;
}

static uint8_t *block_at(const struct mgds_sendq *queue, uint32_t index)
{
    return queue->ring + (size_t)(index & (queue->blocks - 1)) * MGDS_WQE_BLOCK;
}

int mgds_sendq_put(struct mgds_sendq *queue, const struct mgds_wqe *wqe,
                   uint32_t *index)
{
    uint32_t at = queue->posted;
    uint8_t *block = block_at(queue, at);
    struct mgds_wqe_ctrl ctrl = wqe->ctrl;

    if (wqe->bytes > MGDS_WQE_BLOCK)
        return -EMSGSIZE;
    if (at - queue->done == queue->blocks)
        return -EAGAIN;
    if (must_be_heard(queue, wqe))
        ctrl.fm_ce_se |= MGDS_WQE_CE_ALWAYS;
    mgds_wqe_stamp(&ctrl, (uint16_t)at);
    memcpy(block, &ctrl, sizeof(ctrl));
    memcpy(block + sizeof(ctrl), wqe->at + sizeof(ctrl),
           wqe->bytes - sizeof(ctrl));
    queue->posted = at + 1;
    *index = at;
    return 0;
}

struct mgds_sendq_bell mgds_sendq_lend(struct mgds_sendq *queue)
{
    queue->rung = queue->posted;
    return (struct mgds_sendq_bell){
        .record = mgds_dbrec_of(queue->posted),
        .doorbell = mgds_doorbell_of(queue->qpn, queue->posted)};
}

void mgds_sendq_ring(struct mgds_sendq *queue)
{
    struct mgds_sendq_bell bell;

    if (queue->rung == queue->posted)
        return;
    bell = mgds_sendq_lend(queue);
    /* The HCA reads WQEs up to the record's index: they, and the payload that
     * they name, are in memory before the record is. */
    mgds_fence_device();
    __atomic_store_n(queue->record, bell.record, __ATOMIC_RELEASE);
    /* The HCA may read the record when it is rung, or much later, when a
     * doorbell was lost: the record comes before the doorbell. */
    mgds_fence_device();
    __atomic_store_n(queue->doorbell, bell.doorbell, __ATOMIC_RELEASE);
    /* The register is write-combining: the store leaves the core now. */
    mgds_fence_device();
}

static const struct mgds_cqe *next_cqe(const struct mgds_sendq *queue)
{
    uint32_t at = queue->consumed & (queue->entries - 1);

    return (const struct mgds_cqe *)(const void *)(queue->cqes +
                                                   (size_t)at * MGDS_CQE_BYTES);
}

static void read_error(const struct mgds_cqe *cqe, struct mgds_completion *out)
{
    const struct mgds_cqe_error *error =
        (const struct mgds_cqe_error *)(const void *)cqe;

    out->syndrome = error->syndrome;
    out->vendor_syndrome = error->vendor_syndrome;
}

int mgds_sendq_poll(struct mgds_sendq *queue, struct mgds_completion *out)
{
    const struct mgds_cqe *cqe = next_cqe(queue);
    /* Acquire: the HCA has stored the rest of the CQE, and what a READ or an
     * atomic brought, before this dword. */
    uint32_t last = __atomic_load_n(
        (const uint32_t *)(const void *)&cqe->wqe_counter, __ATOMIC_ACQUIRE);
    struct mgds_completion found = {
        .state = mgds_cqe_judge(last, queue->consumed, queue->entries)};

    if (found.state == MGDS_CQE_NOT_YET)
        return 0;
    found.index = mgds_cqe_block(mgds_cqe_counter(last), queue->done);
    if (found.state == MGDS_CQE_FAILED)
        read_error(cqe, &found);
    queue->consumed++;
    queue->done = found.index + 1;
    *out = found;
    return 1;
}
