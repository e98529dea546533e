/* The pack kernel, both ways: mgds_pack_args says what it promises. */
#ifndef MGDS_DEVICE_KERNELS_PACK_H
#define MGDS_DEVICE_KERNELS_PACK_H

#include "device/impl/kernel.h"
#include "device/kernels/limit.h"
#include "device/kernels/pack_abi.h"

/* Of the table so much is kept in shared memory: reads of host memory, one
 * after the other, cost more than a microsecond each. */
#define MGDS_PACK_SHARED 256

/* The last node of a list that does not begin behind the byte. */
MGDS_FN const struct mgds_pack_node *
mgds_pack_entry(const struct mgds_pack_node *list, uint64_t count,
                uint64_t byte)
{
    uint64_t low = 0, high = count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (list[middle].before <= byte)
            low = middle;
        else
            high = middle;
    }
    return list + low;
}

MGDS_FN int64_t mgds_pack_in_span(const struct mgds_pack_node *span,
                                  uint64_t byte)
{
    uint64_t row = byte / span->width;
    int64_t at = (int64_t)(byte - row * span->width);

    if (row < span->rows)
        return at + (int64_t)row * span->pitch;
    return at + (int64_t)(row % span->rows) * span->pitch +
           (int64_t)(row / span->rows) * span->slice;
}

/* Where a packed byte lies, from the buffer's address on. */
MGDS_FN int64_t mgds_pack_locate(const struct mgds_pack_node *node,
                                 uint64_t byte)
{
    int64_t at = 0;

    for (;;) {
        uint64_t element;

        byte -= node->before;
        at += node->offset;
        if (node->kind == MGDS_PACK_SPAN)
            return at + mgds_pack_in_span(node, byte);
        if (node->kind == MGDS_PACK_LIST) {
            node = mgds_pack_entry(node + node->link, node->rows, byte);
            continue;
        }
        element = byte / node->width;
        byte -= element * node->width;
        at += (int64_t)element * node->pitch;
        node += node->link;
    }
}

MGDS_FN void mgds_pack_unit(void *to, const void *from, uint32_t unit)
{
    if (unit == 16)
        mgds_store16(to, mgds_load16(from));
    else if (unit == 8)
        mgds_store_relaxed64((uint64_t *)to,
                             mgds_load_relaxed64((const uint64_t *)from));
    else if (unit == 4)
        mgds_store_relaxed32((uint32_t *)to,
                             mgds_load_relaxed32((const uint32_t *)from));
    else
        mgds_store8((uint8_t *)to, mgds_load8((const uint8_t *)from));
}

/* The table: in shared memory if it fits; the host has no such memory. */
MGDS_FN const struct mgds_pack_node *
mgds_pack_table(const struct mgds_self *self, const struct mgds_pack_args *a)
{
    const struct mgds_pack_node *table =
        (const struct mgds_pack_node *)mgds_mem_at(
            (const void *)(uintptr_t)a->table);
#if MGDS_ON_GPU
    __shared__ struct mgds_unit copy[MGDS_PACK_SHARED * 4];
    const struct mgds_unit *from = (const struct mgds_unit *)table;

    if (a->nodes <= MGDS_PACK_SHARED) {
        for (uint64_t i = self->thread; i < a->nodes * 4; i += self->threads)
            copy[i] = from[i];
        mgds_block_sync(self);
        return (const struct mgds_pack_node *)copy;
    }
#else
    (void)self;
#endif
    return table;
}

/* Packed bytes [from, to), counted from a->first, in units. */
MGDS_FN void mgds_pack_range(const struct mgds_self *self,
                             const struct mgds_pack_args *a,
                             const struct mgds_pack_node *table, uint64_t from,
                             uint64_t to, uint32_t unit)
{
    uint64_t stride = (uint64_t)self->blocks * self->threads * unit;
    uint64_t i =
        from + ((uint64_t)self->block * self->threads + self->thread) * unit;

    for (; i < to; i += stride) {
        uint64_t byte = a->first + i;
        uint64_t at = (uint64_t)mgds_pack_locate(table, byte);
        void *user = (void *)(uintptr_t)(a->user + at);
        void *bounce = (void *)(uintptr_t)(a->bounce + (a->mirror ? at : byte));

        if (a->up)
            mgds_pack_unit(user, bounce, unit);
        else
            mgds_pack_unit(bounce, user, unit);
    }
}

/* A limit may cut a unit: what is left of it goes byte by byte. */
MGDS_FN void mgds_pack_kernel_body(const struct mgds_self *self,
                                   const struct mgds_pack_args *a)
{
    const struct mgds_pack_node *table = mgds_pack_table(self, a);
    uint64_t bytes = mgds_limit_bytes(self, a->limit, a->first, a->bytes);
    uint64_t whole = bytes - bytes % a->unit;

    mgds_pack_range(self, a, table, 0, whole, a->unit);
    mgds_pack_range(self, a, table, whole, bytes, 1);
}

MGDS_KERNEL(mgds_pack_kernel, struct mgds_pack_args)

#endif
