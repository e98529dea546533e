/* The read kernel: mgds_read_claim says what it promises. */
#ifndef MGDS_DEVICE_KERNELS_READ_H
#define MGDS_DEVICE_KERNELS_READ_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/wide.h"

MGDS_FN struct mgds_read_claim *
mgds_read_claim_of(const struct mgds_read_item *item)
{
    return (struct mgds_read_claim *)(uintptr_t)item->claim;
}

/* The first thread of a block asks for `off`. The fence keeps the load behind
 * the store: a host that has stored `off`, and then does not find HERE, relies
 * on this load to find it. */
MGDS_FN uint64_t mgds_read_ask(struct mgds_read_claim *claim)
{
    mgds_store_relaxed64(&claim->state, MGDS_READ_HERE);
    mgds_fence_sc();
    return mgds_load_acquire64(&claim->off);
}

/* All threads of the block call it: whether the copy is theirs to make. */
MGDS_FN int mgds_read_is_ours(const struct mgds_self *self,
                              struct mgds_read_claim *claim)
{
#if MGDS_ON_GPU
    __shared__ uint64_t off;

    if (self->thread == 0)
        off = mgds_read_ask(claim);
    mgds_block_sync(self);
    return off == 0;
#else
    if (self->thread == 0)
        mgds_store_release64(&claim->heard, mgds_read_ask(claim));
    mgds_block_sync(self);
    return mgds_load_acquire64(&claim->heard) == 0;
#endif
}

MGDS_FN void mgds_read_kernel_body(const struct mgds_self *self,
                                   const struct mgds_read_args *a)
{
    const struct mgds_read_item *item = &a->item[self->block];
    struct mgds_read_claim *claim;
    struct mgds_copy_args one = {0, 0, 0, 0, 0, 0, 0};
    struct mgds_self part = *self;
    uint64_t end = MGDS_READ_LEFT;

    mgds_grid_wait();
    if (self->block >= a->count)
        return;
    claim = mgds_read_claim_of(item);
    one.dst = item->dst;
    one.src = item->src;
    one.bytes = item->bytes;
    part.block = 0;
    part.blocks = 1;
    if (mgds_read_is_ours(self, claim)) {
        (void)mgds_wide_copy(&part, &one);
        end = MGDS_READ_DONE;
    }
    mgds_block_sync(self);
    if (self->thread != 0)
        return;
    /* all threads have met above: their data is to be seen before the word */
    mgds_fence_sys();
    mgds_store_release64(&claim->state, end);
}

MGDS_KERNEL_WIDE(mgds_read_kernel, struct mgds_read_args)

#endif
