/* The copy kernel: mgds_copy_args says what it promises. */
#ifndef MGDS_DEVICE_KERNELS_COPY_H
#define MGDS_DEVICE_KERNELS_COPY_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/limit.h"

MGDS_FN const uint8_t *mgds_copy_from(uint64_t addr)
{
    return (const uint8_t *)(uintptr_t)addr;
}

MGDS_FN uint8_t *mgds_copy_to(uint64_t addr)
{
    return (uint8_t *)(uintptr_t)addr;
}

/* Bytes [from, to), one by one over all threads of the grid. */
MGDS_FN void mgds_copy_bytes(const struct mgds_self *self,
                             const struct mgds_copy_args *a, uint64_t from,
                             uint64_t to)
{
    uint64_t stride = (uint64_t)self->blocks * self->threads;
    uint64_t i = from + (uint64_t)self->block * self->threads + self->thread;

    for (; i < to; i += stride)
        mgds_store8(mgds_copy_to(a->dst + i),
                    mgds_load8(mgds_copy_from(a->src + i)));
}

/* Bytes [from, to) in units of 16; both ends aligned to that. */
MGDS_FN void mgds_copy_units(const struct mgds_self *self,
                             const struct mgds_copy_args *a, uint64_t from,
                             uint64_t to)
{
    uint64_t stride = (uint64_t)self->blocks * self->threads * 16;
    uint64_t i =
        from + ((uint64_t)self->block * self->threads + self->thread) * 16;

    for (; i < to; i += stride)
        mgds_store16(mgds_copy_to(a->dst + i),
                     mgds_load16(mgds_copy_from(a->src + i)));
}

/* The block that comes last, having seen all others' tickets, tells. Thread 0's
 * fence covers its block: the barrier before it made their stores its own. */
MGDS_FN void mgds_copy_tell(const struct mgds_self *self,
                            const struct mgds_copy_args *a)
{
    uint32_t *ticket = (uint32_t *)(uintptr_t)a->ticket;

    mgds_block_sync(self);
    if (self->thread != 0)
        return;
    mgds_fence_sys();
    if (mgds_add_gpu32(ticket, 1) != self->blocks - 1)
        return;
    mgds_store_relaxed32(ticket, 0);
    /* data of all blocks before the flag, for whoever acquires it */
    mgds_store_release64((uint64_t *)(uintptr_t)a->flag, a->value);
}

/* So many bytes, from the first on; its blocks are those of self. */
MGDS_FN void mgds_copy_run(const struct mgds_self *self,
                           const struct mgds_copy_args *a, uint64_t bytes)
{
    uint64_t head = (16 - (a->dst & 15)) & 15;
    uint64_t tail;

    if ((a->dst ^ a->src) & 15 || bytes < 64) {
        mgds_copy_bytes(self, a, 0, bytes);
        return;
    }
    tail = head + ((bytes - head) & ~(uint64_t)15);
    mgds_copy_bytes(self, a, 0, head);
    mgds_copy_units(self, a, head, tail);
    mgds_copy_bytes(self, a, tail, bytes);
}

MGDS_FN void mgds_copy_kernel_body(const struct mgds_self *self,
                                   const struct mgds_copy_args *a)
{
    mgds_copy_run(self, a, mgds_limit_bytes(self, a->limit, 0, a->bytes));
    if (a->flag)
        mgds_copy_tell(self, a);
}

MGDS_KERNEL(mgds_copy_kernel, struct mgds_copy_args)

#endif
