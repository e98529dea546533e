/* Short messages by rings: the push, the take and the tell kernel;
 * mgds_push_args, mgds_take_args and mgds_tell_args say what they promise.
 *
 * A unit is 8 bytes of data and the serial of the message, written by one
 * 16-byte store and read by one 16-byte load: whoever finds the serial has the
 * data, without a fence or a flag. Each thread of the grid has every n-th unit.
 *
 * What follows in the stream may start early (mgds_grid_ready) where that can
 * keep nobody from coming: a push waits for nobody; a take has its message by
 * then. */
#ifndef MGDS_DEVICE_KERNELS_RING_H
#define MGDS_DEVICE_KERNELS_RING_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/impl/line.h"
#include "device/kernels/help.h"

/* Polls from one look at the desk to the next: about a millisecond. */
enum { MGDS_TAKE_LOOK = MGDS_ON_GPU ? 1024 : 4 };

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

/* Of a block: whether it is the last one. */
MGDS_FN int mgds_ring_ticket(const struct mgds_self *self,
                             struct mgds_cell *cell, uint32_t step)
{
    if (self->blocks == 1)
        return 1;
    if (mgds_add_gpu32(&cell->ticket, step) != self->blocks - 1)
        return 0;
    mgds_store_relaxed32(&cell->ticket, 0);
    return 1;
}

/* True in one thread of the grid, when all threads have come here; all that
 * they did comes before what it does: a block's own by the barrier, the others'
 * by their tickets. A fence for the system in each block would take its time in
 * each block, one after the other (measured): the flag's own does for all. */
MGDS_FN int mgds_ring_is_last(const struct mgds_self *self,
                              struct mgds_cell *cell)
{
    mgds_block_sync(self);
    return self->thread == 0 && mgds_ring_ticket(self, cell, 1);
}

/* The same; and what that thread does, or stores *none by, depends on what the
 * *none of all threads was made of (mgds_store_having_read64): through the
 * barrier, the tickets, and whether it is the last. */
MGDS_FN int mgds_ring_is_last_of(const struct mgds_self *self,
                                 struct mgds_cell *cell, uint64_t *none)
{
    uint32_t any = mgds_block_any(self, *none);

    *none = any;
    return self->thread == 0 && mgds_ring_ticket(self, cell, 1 + any);
}

MGDS_FN void mgds_push_units(const struct mgds_self *self,
                             const struct mgds_push_args *a)
{
    struct mgds_unit *unit = (struct mgds_unit *)(uintptr_t)a->units;
    uint64_t units = mgds_ring_units(a->bytes);

    for (uint64_t i = mgds_ring_first(self); i < units;
         i += mgds_ring_stride(self)) {
        uint64_t left = a->bytes > 8 * i ? a->bytes - 8 * i : 0;
        struct mgds_unit v = {mgds_ring_load(a->src + 8 * i, left), a->serial};

        mgds_store_unit(unit + i, v);
    }
}

MGDS_FN void mgds_push_kernel_body(const struct mgds_self *self,
                                   const struct mgds_push_args *a)
{
    mgds_grid_ready();
    mgds_push_units(self, a);
    /* what all threads have read before the flag */
    if (a->flag &&
        mgds_ring_is_last(self, (struct mgds_cell *)(uintptr_t)a->cell))
        mgds_store_release64((uint64_t *)(uintptr_t)a->flag, a->value);
}

/* False if it was told to give up the word that would have the serial. A look
 * at the desk crosses the host link, which takes as long as a message, and many
 * of them much longer. stand: what the desk is told. */
MGDS_FN int mgds_take_stands_for(const struct mgds_self *self, uint64_t abort,
                                 uint64_t stand, uint32_t polls, uint64_t word,
                                 uint64_t serial)
{
    if (abort && polls % MGDS_TAKE_LOOK == MGDS_TAKE_LOOK - 1 &&
        !mgds_help_look(self, abort, stand, polls, word, serial))
        return 0;
    mgds_self_pause(self);
    return 1;
}

/* The same where it is the CPU, or another kernel, that is waited for. */
MGDS_FN int mgds_take_stands(const struct mgds_self *self, uint64_t abort,
                             uint64_t stand, uint32_t polls)
{
    return mgds_take_stands_for(self, abort, stand, polls, 0, 0);
}

/* The same for threads that read a line together: one of them looks for all,
 * for each would find the desk as it is at another time. */
MGDS_FN int mgds_take_stand_together(const struct mgds_self *self,
                                     uint64_t abort, uint64_t stand,
                                     uint32_t polls)
{
    int stands = 1;

    if (mgds_timeline_leads())
        stands = mgds_take_stands(self, abort, stand, polls);
    return mgds_timeline_agree(stands);
}

/* Where the message is. */
struct mgds_take_source {
    uint64_t serial; /* 0: not known; MGDS_TAKE_NONE: there is nothing */
    uint64_t from;
    uint64_t length;
    uint64_t form;
};

/* Whoever fills the record may have to know that the stream waits for it; what
 * was done before the kernel, too, is there for who sees the word. */
MGDS_FN void mgds_take_call(const struct mgds_self *self,
                            const struct mgds_take_args *a)
{
    if (a->came && self->block == 0 && self->thread == 0)
        mgds_store_release64((uint64_t *)(uintptr_t)a->came, a->came_value);
}

/* The launch itself says where the message is. */
MGDS_FN struct mgds_take_source mgds_take_known(const struct mgds_take_args *a)
{
    struct mgds_take_source at = {a->serial, a->units, a->length,
                                  MGDS_TAKE_UNITS};

    return at;
}

/* The record says where the message is, or serial is 0: not yet. */
MGDS_FN struct mgds_take_source
mgds_take_recorded(const struct mgds_unit line[MGDS_LINE_UNITS])
{
    struct mgds_take_source at;

    at.serial = line[0].data;
    at.from = line[0].word;
    at.length = line[1].data - 1;
    at.form = line[1].word - 1;
    if (!line[0].word || !line[1].data || !line[1].word)
        at.serial = 0;
    return at;
}

/* MGDS_LINE_READERS threads together read across the host link once. */
MGDS_FN struct mgds_take_source mgds_take_glance(const struct mgds_take_args *a)
{
    struct mgds_unit line[MGDS_LINE_UNITS];

    if (!a->record)
        return mgds_take_known(a);
    mgds_load_line((const struct mgds_unit *)(uintptr_t)a->record, line);
    return mgds_take_recorded(line);
}

/* Plain bytes were there before the record. */
MGDS_FN void mgds_take_trust(const struct mgds_take_args *a,
                             const struct mgds_take_source *at)
{
    if (at->form == MGDS_TAKE_BYTES)
        mgds_load_acquire64((const uint64_t *)(uintptr_t)a->record);
}

/* at: what a glance has shown. By those that have glanced. */
MGDS_FN void mgds_take_find(const struct mgds_self *self,
                            const struct mgds_take_args *a,
                            struct mgds_take_source *at)
{
    uint32_t polls = 0;

    while (at->serial == 0) {
        if (polls == 0)
            mgds_take_call(self, a);
        if (mgds_take_stand_together(self, a->abort, a->stand, polls++))
            *at = mgds_take_glance(a);
        else
            at->serial = MGDS_TAKE_NONE;
    }
    mgds_take_trust(a, at);
}

MGDS_FN struct mgds_unit *mgds_take_found(const struct mgds_take_args *a,
                                          unsigned i)
{
    struct mgds_cell *cell = (struct mgds_cell *)(uintptr_t)a->cell;

    return (struct mgds_unit *)(void *)cell->found[i];
}

/* What the first block has found out, for the others, which hear it all at
 * once; `count` is constant. */
MGDS_FN void mgds_take_share(const struct mgds_take_args *a,
                             const uint64_t *values, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct mgds_unit v = {values[i], a->turn};

        mgds_store_unit(mgds_take_found(a, i), v);
    }
}

/* Blocks start in the order of their numbers: the first one is there. */
MGDS_FN void mgds_take_hear(const struct mgds_self *self,
                            const struct mgds_take_args *a, uint64_t *values,
                            unsigned count)
{
    for (;;) {
        struct mgds_unit v[MGDS_TAKE_FOUND];
        int there = 1;

        for (unsigned i = 0; i < count; i++)
            v[i] = mgds_load_unit(mgds_take_found(a, i));
        for (unsigned i = 0; i < count; i++) {
            there &= v[i].word == a->turn;
            values[i] = v[i].data;
        }
        if (there)
            return;
        mgds_self_pause(self);
    }
}

MGDS_FN struct mgds_take_source mgds_take_source_of(const uint64_t values[3])
{
    struct mgds_take_source at;

    at.serial = values[0];
    at.from = values[1];
    at.length = values[2] / 4;
    at.form = values[2] % 4;
    return at;
}

/* Of a block: it looks at the record itself. */
MGDS_FN int mgds_take_leads(const struct mgds_self *self,
                            const struct mgds_take_args *a)
{
    return !a->record || self->block == 0;
}

/* All blocks have what the first one has found. */
MGDS_FN struct mgds_take_source mgds_take_agree(const struct mgds_self *self,
                                                const struct mgds_take_args *a,
                                                struct mgds_take_source at)
{
    uint64_t values[3];

    if (!mgds_take_leads(self, a)) {
        mgds_take_hear(self, a, values, 3);
        return mgds_take_source_of(values);
    }
    values[0] = at.serial;
    values[1] = at.from;
    values[2] = 4 * at.length + at.form;
    if (a->record && self->blocks > 1 && self->thread == 0)
        mgds_take_share(a, values, 3);
    return at;
}

/* Found once for the block, by its first threads. The record is the CPU's, so
 * the first look is not put off until the kernel ahead is through. The host's
 * threads look each for itself. */
MGDS_FN struct mgds_take_source mgds_take_look(const struct mgds_self *self,
                                               const struct mgds_take_args *a)
{
    struct mgds_take_source at = {0, 0, 0, MGDS_TAKE_UNITS};
#if MGDS_ON_GPU
    __shared__ struct mgds_take_source found;
    int looks = self->thread < MGDS_LINE_READERS && mgds_take_leads(self, a);

    if (looks)
        at = mgds_take_glance(a);
    mgds_grid_wait();
    if (looks)
        mgds_take_find(self, a, &at);
    if (self->thread == 0)
        found = mgds_take_agree(self, a, at);
    mgds_block_sync(self);
    return found;
#else
    if (mgds_take_leads(self, a)) {
        at = mgds_take_glance(a);
        mgds_take_find(self, a, &at);
    }
    return mgds_take_agree(self, a, at);
#endif
}

/* The units at i and, a step apart, behind it: true if all of them are there.
 * Loaded at once, since each load takes as long as the memory is far. */
MGDS_FN int mgds_take_ahead(const struct mgds_take_source *at, uint64_t i,
                            uint64_t step, struct mgds_unit v[MGDS_TAKE_AHEAD])
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)at->from;
    uint64_t units = mgds_ring_units(at->length);
    int there = 1;

    for (unsigned k = 0; k < MGDS_TAKE_AHEAD; k++)
        if (i + k * step < units)
            v[k] = mgds_load_unit(unit + i + k * step);
    for (unsigned k = 0; k < MGDS_TAKE_AHEAD; k++)
        there &= i + k * step >= units || v[k].word == at->serial;
    return there;
}

/* All units must have come before the place is used again, those that are not
 * wanted as well. */
MGDS_FN void mgds_take_units(const struct mgds_self *self,
                             const struct mgds_take_args *a,
                             const struct mgds_take_source *at)
{
    uint64_t units = mgds_ring_units(at->length);
    uint64_t bytes = at->length < a->bytes ? at->length : a->bytes;
    uint64_t i = mgds_ring_first(self), step = mgds_ring_stride(self);
    struct mgds_unit v[MGDS_TAKE_AHEAD];

    while (i < units) {
        uint32_t polls = 0;

        while (!mgds_take_ahead(at, i, step, v))
            if (!mgds_take_stands_for(self, a->abort, a->stand, polls++,
                                      at->from, at->serial))
                return;
        for (unsigned k = 0; k < MGDS_TAKE_AHEAD; k++, i += step)
            if (8 * i < bytes)
                mgds_ring_store(a->dst + 8 * i, v[k].data, bytes - 8 * i);
    }
}

MGDS_FN void mgds_take_bytes(const struct mgds_self *self,
                             const struct mgds_take_args *a,
                             const struct mgds_take_source *at)
{
    uint64_t bytes = at->length < a->bytes ? at->length : a->bytes;
    uint64_t step = 8 * mgds_ring_stride(self);
    uint64_t i = 8 * mgds_ring_first(self);
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

MGDS_FN void mgds_take_what(const struct mgds_self *self,
                            const struct mgds_take_args *a,
                            const struct mgds_take_source *at)
{
    if (at->serial == MGDS_TAKE_NONE)
        return;
    if (at->form == MGDS_TAKE_UNITS)
        mgds_take_units(self, a, at);
    else
        mgds_take_bytes(self, a, at);
}

/* The launch has read one of these, for whoever sees `passed` or done words. */
enum mgds_take_read {
    MGDS_READ_UNITS, /* each with its serial, or nothing */
    MGDS_READ_BYTES,
    MGDS_READ_FENCED /* bytes, but this thread has made a fence since */
};

MGDS_FN enum mgds_take_read mgds_take_read_of(const struct mgds_take_source *at)
{
    return at->form == MGDS_TAKE_UNITS ? MGDS_READ_UNITS : MGDS_READ_BYTES;
}

/* Only that all was read: the data is the stream's own affair. */
MGDS_FN void mgds_take_pass(struct mgds_cell *cell, uint64_t value,
                            enum mgds_take_read read)
{
    if (read == MGDS_READ_UNITS)
        mgds_store_having_units64(&cell->passed, value);
    else if (read == MGDS_READ_FENCED)
        mgds_store_fenced64(&cell->passed, value);
    else
        mgds_store_having_read_gpu64(&cell->passed, value);
}

/* By the last thread of all. */
MGDS_FN void mgds_take_tell(const struct mgds_take_args *a,
                            enum mgds_take_read read, int loud)
{
    struct mgds_cell *cell = (struct mgds_cell *)(uintptr_t)a->cell;

    if (!a->value)
        return;
    if (cell)
        mgds_take_pass(cell, a->value, read);
    if (loud && a->flag)
        mgds_store_release64((uint64_t *)(uintptr_t)a->flag, a->value);
}

MGDS_FN void mgds_take_end(const struct mgds_self *self,
                           const struct mgds_take_args *a,
                           enum mgds_take_read read)
{
    struct mgds_cell *cell = (struct mgds_cell *)(uintptr_t)a->cell;

    mgds_grid_ready();
    if (a->value && mgds_ring_is_last(self, cell))
        mgds_take_tell(a, read, 1);
}

MGDS_FN void mgds_take_kernel_body(const struct mgds_self *self,
                                   const struct mgds_take_args *a)
{
    struct mgds_take_source at = mgds_take_look(self, a);

    mgds_take_what(self, a, &at);
    mgds_take_end(self, a, mgds_take_read_of(&at));
}

MGDS_FN void mgds_tell_kernel_body(const struct mgds_self *self,
                                   const struct mgds_tell_args *a)
{
    uint64_t value;

    if (self->block != 0 || self->thread != 0)
        return;
    value = mgds_load_acquire64((const uint64_t *)(uintptr_t)a->from);
    mgds_store_release64((uint64_t *)(uintptr_t)a->to, value);
    mgds_store_release64((uint64_t *)(uintptr_t)a->done, a->number);
}

MGDS_KERNEL(mgds_push_kernel, struct mgds_push_args)
MGDS_KERNEL_EARLY(mgds_take_kernel, struct mgds_take_args)
MGDS_KERNEL(mgds_tell_kernel, struct mgds_tell_args)

#endif
