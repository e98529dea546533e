/* Short messages by rings: the push and the take kernel; mgds_push_args and
 * mgds_take_args say what they promise.
 *
 * A unit is 8 bytes of data and the serial of the message, written by one
 * 16-byte store and read by one 16-byte load: whoever finds the serial has the
 * data, without a fence or a flag. Each thread has every n-th unit. */
#ifndef MGDS_DEVICE_KERNELS_RING_H
#define MGDS_DEVICE_KERNELS_RING_H

#include "device/abi.h"
#include "device/impl/kernel.h"

MGDS_FN uint64_t mgds_ring_units(uint64_t bytes)
{
    return bytes ? (bytes + 7) / 8 : 1;
}

/* Up to 8 bytes as a word, the rest of it zero. */
MGDS_FN uint64_t mgds_ring_load(uint64_t from, uint64_t bytes)
{
    uint64_t word = 0;

    if (bytes >= 8 && !(from & 7))
        return mgds_load_relaxed64((const uint64_t *)(uintptr_t)from);
    for (uint64_t i = 0; i < bytes && i < 8; i++)
        word |= (uint64_t)mgds_load8((const uint8_t *)(uintptr_t)(from + i))
                << 8 * i;
    return word;
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

MGDS_FN void mgds_push_kernel_body(const struct mgds_self *self,
                                   const struct mgds_push_args *a)
{
    struct mgds_unit *unit = (struct mgds_unit *)(uintptr_t)a->units;
    uint64_t units = mgds_ring_units(a->bytes);

    mgds_grid_wait();
    for (uint64_t i = self->thread; i < units; i += self->threads) {
        uint64_t left = a->bytes > 8 * i ? a->bytes - 8 * i : 0;
        struct mgds_unit v = {mgds_ring_load(a->src + 8 * i, left), a->serial};

        if (unit)
            mgds_store_unit(unit + i, v);
        if (a->also)
            mgds_ring_store(a->also + 8 * i, v.data, left);
    }
    if (!a->flag)
        return;
    mgds_block_sync(self);
    /* the plain bytes of all threads before the flag */
    if (self->thread == 0)
        mgds_store_release64((uint64_t *)(uintptr_t)a->flag, a->value);
}

/* False if it was told to give up. A read of the abort word crosses the host
 * link, which takes as long as a message: none before the 64th poll. */
MGDS_FN int mgds_take_stands(const struct mgds_self *self,
                             const struct mgds_take_args *a, uint32_t polls)
{
    const uint64_t *abort = (const uint64_t *)(uintptr_t)a->abort;

    if (abort && polls % 64 == 63 && mgds_load_relaxed64(abort))
        return 0;
    mgds_self_pause(self);
    return 1;
}

/* Where the message is. */
struct mgds_take_source {
    uint64_t serial; /* MGDS_TAKE_NONE: there is nothing */
    uint64_t from;
    uint64_t length;
    uint64_t form;
};

/* Of the record the first word is written last. */
MGDS_FN struct mgds_take_source mgds_take_find(const struct mgds_self *self,
                                               const struct mgds_take_args *a)
{
    struct mgds_take_source at = {a->serial, a->units, a->length,
                                  MGDS_TAKE_UNITS};
    const uint64_t *record = (const uint64_t *)(uintptr_t)a->record;
    uint32_t polls = 0;

    if (!record)
        return at;
    while ((at.serial = mgds_load_acquire64(record)) == 0)
        if (!mgds_take_stands(self, a, polls++)) {
            at.serial = MGDS_TAKE_NONE;
            return at;
        }
    at.from = mgds_load_relaxed64(record + 1);
    at.length = mgds_load_relaxed64(record + 2);
    at.form = mgds_load_relaxed64(record + 3);
    return at;
}

/* Found once for the block: every read of the record crosses the host link. The
 * host's threads look each for itself. */
MGDS_FN struct mgds_take_source mgds_take_look(const struct mgds_self *self,
                                               const struct mgds_take_args *a)
{
#if MGDS_ON_GPU
    __shared__ struct mgds_take_source found;

    if (!a->record)
        return mgds_take_find(self, a);
    if (self->thread == 0)
        found = mgds_take_find(self, a);
    mgds_block_sync(self);
    return found;
#else
    return mgds_take_find(self, a);
#endif
}

/* One unit, when it is there; false if it was told to give up. */
MGDS_FN int mgds_take_unit(const struct mgds_self *self,
                           const struct mgds_take_args *a,
                           const struct mgds_take_source *at, uint64_t i,
                           struct mgds_unit *v)
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)at->from + i;
    uint32_t polls = 0;

    for (;;) {
        *v = mgds_load_unit(unit);
        if (v->word == at->serial)
            return 1;
        if (!mgds_take_stands(self, a, polls++))
            return 0;
    }
}

/* So many loads of a thread are under way at once: each takes as long as the
 * memory is far, and threads, which stand while they wait, are to be few. */
enum { MGDS_TAKE_AHEAD = 4 };

/* All units must have come before the place is used again, those that are not
 * wanted as well. */
MGDS_FN void mgds_take_units(const struct mgds_self *self,
                             const struct mgds_take_args *a,
                             const struct mgds_take_source *at)
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)at->from;
    uint64_t units = mgds_ring_units(at->length);
    uint64_t bytes = at->length < a->bytes ? at->length : a->bytes;
    struct mgds_unit v[MGDS_TAKE_AHEAD];
    uint64_t i = self->thread;

    while (i < units) {
        for (unsigned k = 0; k < MGDS_TAKE_AHEAD; k++)
            if (i + k * self->threads < units)
                v[k] = mgds_load_unit(unit + i + k * self->threads);
        for (unsigned k = 0; k < MGDS_TAKE_AHEAD && i < units; k++) {
            if (v[k].word != at->serial &&
                !mgds_take_unit(self, a, at, i, &v[k]))
                return;
            if (8 * i < bytes)
                mgds_ring_store(a->dst + 8 * i, v[k].data, bytes - 8 * i);
            i += self->threads;
        }
    }
}

MGDS_FN void mgds_take_bytes(const struct mgds_self *self,
                             const struct mgds_take_args *a,
                             const struct mgds_take_source *at)
{
    uint64_t bytes = at->length < a->bytes ? at->length : a->bytes;
    uint64_t step = 8 * (uint64_t)self->threads;
    uint64_t i = 8 * (uint64_t)self->thread;
    uint64_t word[MGDS_TAKE_AHEAD];

    while (i < bytes) {
        for (unsigned k = 0; k < MGDS_TAKE_AHEAD; k++)
            if (i + k * step < bytes)
                word[k] = mgds_ring_load(at->from + i + k * step,
                                         bytes - i - k * step);
        for (unsigned k = 0; k < MGDS_TAKE_AHEAD && i < bytes; k++) {
            mgds_ring_store(a->dst + i, word[k], bytes - i);
            i += step;
        }
    }
}

MGDS_FN void mgds_take_kernel_body(const struct mgds_self *self,
                                   const struct mgds_take_args *a)
{
    struct mgds_take_source at;

    mgds_grid_wait();
    /* what was done before the kernel, too, is there for who sees the word */
    if (a->came && self->thread == 0)
        mgds_store_release64((uint64_t *)(uintptr_t)a->came, a->came_value);
    at = mgds_take_look(self, a);
    if (at.serial != MGDS_TAKE_NONE) {
        if (at.form == MGDS_TAKE_UNITS)
            mgds_take_units(self, a, &at);
        else
            mgds_take_bytes(self, a, &at);
    }
    if (!a->flag)
        return;
    mgds_block_sync(self);
    /* the data, and that the units were read, before the flag */
    if (self->thread == 0)
        mgds_store_release64((uint64_t *)(uintptr_t)a->flag, a->value);
}

MGDS_KERNEL(mgds_push_kernel, struct mgds_push_args)
MGDS_KERNEL(mgds_take_kernel, struct mgds_take_args)

#endif
