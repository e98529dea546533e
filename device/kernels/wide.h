/* Copies out of another GPU's memory, where a read takes a microsecond: each
 * thread has several of 16 bytes under way, wherever source and destination
 * lie; only stores, which nobody waits for, are made smaller where the two lie
 * apart. */
#ifndef MGDS_DEVICE_KERNELS_WIDE_H
#define MGDS_DEVICE_KERNELS_WIDE_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/copy.h"

/* How many times 16 bytes a thread has under way. */
enum { MGDS_WIDE_AHEAD = 4 };

MGDS_FN uint64_t mgds_ring_first(const struct mgds_self *self)
{
    return (uint64_t)self->block * self->threads + self->thread;
}

MGDS_FN uint64_t mgds_ring_stride(const struct mgds_self *self)
{
    return (uint64_t)self->blocks * self->threads;
}

/* The first bytes of a word, 8 at most. */
MGDS_FN void mgds_ring_store(uint64_t to, uint64_t word, uint64_t bytes)
{
    if (bytes >= 8 && !(to & 7)) {
        mgds_store_relaxed64((uint64_t *)(uintptr_t)to, word);
        return;
    }
    for (uint64_t i = 0; i < bytes && i < 8; i++)
        mgds_store8((uint8_t *)(uintptr_t)(to + i), (uint8_t)(word >> 8 * i));
}

/* 8 bytes in parts that `to` is aligned to: 8, 4, or 1. */
MGDS_FN void mgds_wide_store_half(uint64_t to, uint64_t half, unsigned part)
{
    if (part == 8) {
        mgds_store_relaxed64((uint64_t *)(uintptr_t)to, half);
    } else if (part == 4) {
        mgds_store_relaxed32((uint32_t *)(uintptr_t)to, (uint32_t)half);
        mgds_store_relaxed32((uint32_t *)(uintptr_t)(to + 4),
                             (uint32_t)(half >> 32));
    } else {
        for (unsigned i = 0; i < 8; i++)
            mgds_store8((uint8_t *)(uintptr_t)(to + i),
                        (uint8_t)(half >> 8 * i));
    }
}

MGDS_FN void mgds_wide_store(uint64_t to, struct mgds_unit v, unsigned part)
{
    if (part == 16) {
        mgds_store16((void *)(uintptr_t)to, v);
    } else {
        mgds_wide_store_half(to, v.data, part);
        mgds_wide_store_half(to + 8, v.word, part);
    }
}

/* The word holds what a thread has read, for an access that is to depend on it:
 * bytes that are not there are 0. */
MGDS_FN uint64_t mgds_wide_word(const struct mgds_unit v[MGDS_WIDE_AHEAD])
{
    uint64_t word = 0;

    for (unsigned k = 0; k < MGDS_WIDE_AHEAD; k++)
        word |= v[k].data | v[k].word;
    return word;
}

/* Bytes [from, to), both ends 16 bytes of the source. Of what was read. */
MGDS_FN uint64_t mgds_wide_units(const struct mgds_self *self,
                                 const struct mgds_copy_args *a, uint64_t from,
                                 uint64_t to, unsigned part)
{
    uint64_t step = 16 * mgds_ring_stride(self);
    uint64_t i = from + 16 * mgds_ring_first(self);
    struct mgds_unit v[MGDS_WIDE_AHEAD] = {{0, 0}};
    uint64_t read = 0;

    for (; i + (MGDS_WIDE_AHEAD - 1) * step < to; i += MGDS_WIDE_AHEAD * step) {
        for (unsigned k = 0; k < MGDS_WIDE_AHEAD; k++)
            v[k] = mgds_load16(mgds_copy_from(a->src + i + k * step));
        for (unsigned k = 0; k < MGDS_WIDE_AHEAD; k++)
            mgds_wide_store(a->dst + i + k * step, v[k], part);
        read |= mgds_wide_word(v);
    }
    for (unsigned k = 0; k < MGDS_WIDE_AHEAD; k++)
        if (i + k * step < to)
            v[k] = mgds_load16(mgds_copy_from(a->src + i + k * step));
    for (unsigned k = 0; k < MGDS_WIDE_AHEAD; k++)
        if (i + k * step < to)
            mgds_wide_store(a->dst + i + k * step, v[k], part);
    return read | mgds_wide_word(v);
}

/* Bytes [from, to), which are few. Of what was read. */
MGDS_FN uint64_t mgds_wide_bytes(const struct mgds_self *self,
                                 const struct mgds_copy_args *a, uint64_t from,
                                 uint64_t to)
{
    uint64_t read = 0;

    for (uint64_t i = from + mgds_ring_first(self); i < to;
         i += mgds_ring_stride(self)) {
        uint8_t byte = mgds_load8(mgds_copy_from(a->src + i));

        mgds_store8(mgds_copy_to(a->dst + i), byte);
        read |= byte;
    }
    return read;
}

/* The most that both are aligned to, when the source is to 16. */
MGDS_FN unsigned mgds_wide_part(uint64_t apart)
{
    if (!(apart & 15))
        return 16;
    if (!(apart & 7))
        return 8;
    return apart & 3 ? 1 : 4;
}

/* Returns a word that is made of all that this thread has read. */
MGDS_FN uint64_t mgds_wide_copy(const struct mgds_self *self,
                                const struct mgds_copy_args *a)
{
    uint64_t head = (16 - (a->src & 15)) & 15;
    unsigned part = mgds_wide_part(a->dst - a->src);
    uint64_t tail, read;

    if (head > a->bytes)
        head = a->bytes;
    tail = head + ((a->bytes - head) & ~(uint64_t)15);
    read = mgds_wide_bytes(self, a, 0, head);
    if (part == 16)
        read |= mgds_wide_units(self, a, head, tail, 16);
    else
        read |= mgds_wide_units(self, a, head, tail, part);
    return read | mgds_wide_bytes(self, a, tail, a->bytes);
}

#endif
