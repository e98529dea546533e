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

    queue->silent = asks ? 0 : queue->silent + queue->slot;
    if (queue->silent < queue->blocks / 2)
        return false;
    queue->silent = 0;
    return true;
}

static uint8_t *block_at(const struct mgds_sendq *queue, uint32_t index)
{
    return queue->ring + (size_t)(index & (queue->blocks - 1)) * MGDS_WQE_BLOCK;
}

/* A WQE that is complete but for its index. */
static void store(const struct mgds_sendq *queue, const struct mgds_wqe *wqe,
                  struct mgds_wqe_ctrl ctrl, uint32_t index)
{
    uint8_t *block = block_at(queue, index);

    mgds_wqe_stamp(&ctrl, (uint16_t)index);
    memcpy(block, &ctrl, sizeof(ctrl));
    memcpy(block + sizeof(ctrl), wqe->at + sizeof(ctrl),
           wqe->bytes - sizeof(ctrl));
}

static void fill_slot(const struct mgds_sendq *queue, uint32_t index)
{
    struct mgds_wqe nop = mgds_wqe_nop(queue->qpn, 0);

    store(queue, &nop, nop.ctrl, index);
}

int mgds_sendq_put(struct mgds_sendq *queue, const struct mgds_wqe *wqe,
                   uint32_t *index)
{
    uint32_t at = queue->posted;
    struct mgds_wqe_ctrl ctrl = wqe->ctrl;

    if (mgds_wqe_blocks(wqe) > queue->slot)
        return -EMSGSIZE;
    if (at + queue->slot - queue->done > queue->blocks)
        return -EAGAIN;
    if (must_be_heard(queue, wqe))
        ctrl.fm_ce_se |= MGDS_WQE_CE_ALWAYS;
    store(queue, wqe, ctrl, at);
    if (mgds_wqe_blocks(wqe) < queue->slot)
        fill_slot(queue, at + 1);
    queue->posted = at + queue->slot;
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

/* The CQE of the next WQE, whatever that is. */
static int poll_one(struct mgds_sendq *queue, struct mgds_completion *out)
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
    *out = found;
    return 1;
}

/* Of the WQE that begins there, as it stands in the ring. */
static uint32_t blocks_of(const struct mgds_sendq *queue, uint32_t index)
{
    struct mgds_wqe_ctrl ctrl;

    memcpy(&ctrl, block_at(queue, index), sizeof(ctrl));
    return ((mgds_from_be32(ctrl.qpn_ds) & MGDS_WQE_MAX_UNITS) +
            MGDS_WQE_BLOCK_UNITS - 1) /
           MGDS_WQE_BLOCK_UNITS;
}

/* A NOP that fills a slot is done when something behind it is: till then the
 * HCA may not have read it. It is flushed as any other WQE, but nobody asked
 * for it. */
int mgds_sendq_poll(struct mgds_sendq *queue, struct mgds_completion *out)
{
    while (poll_one(queue, out) == 1) {
        queue->done = out->index + blocks_of(queue, out->index);
        if ((out->index & (queue->slot - 1)) == 0)
            return 1;
    }
    return 0;
}
