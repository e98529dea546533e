/* What a kernel of ours that waits does for others: it looks at the desk of its
 * stream, and copies the message that an order there names. mgds_desk says what
 * is promised.
 *
 * A stream that stands may be what the whole program waits for inside a call of
 * the driver, which lets no other launch through meanwhile: what is needed to
 * let the stream go on can then be done by nobody but the kernel it stands in.
 *
 * One thread does it alone, the first of those that wait to find the order.
 * All of a kernel's threads look, not a certain one: that may be through with
 * its own messages while another waits. */
#ifndef MGDS_DEVICE_KERNELS_HELP_H
#define MGDS_DEVICE_KERNELS_HELP_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/wide.h"

/* How many times 16 bytes are under way. */
enum { MGDS_HELP_AHEAD = 4 };

/* The record of the order, if this thread is the first to come to the message
 * that it names; else 0. The order may be taken back, and the record be another
 * one's, at any time before: so each read comes before the last look. */
MGDS_FN const struct mgds_order *mgds_help_claim(const struct mgds_desk *desk,
                                                 uint64_t number)
{
    const struct mgds_order *order;
    struct mgds_claim *claim;
    uint64_t gen;

    if (mgds_load_acquire64(&desk->order) != number)
        return NULL;
    order = (const struct mgds_order *)(uintptr_t)mgds_load_relaxed64(
        &desk->record);
    claim = (struct mgds_claim *)(uintptr_t)mgds_load_acquire64(&order->claim);
    gen = mgds_load_acquire64(&order->gen);
    if (mgds_load_relaxed64(&desk->order) != number)
        return NULL;
    return mgds_max_gpu64(&claim->owner, gen) < gen ? order : NULL;
}

/* The bytes come with the unit, which was there before the order. */
MGDS_FN void mgds_help_acquire(const struct mgds_self *self,
                               const struct mgds_order *order)
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)mgds_load_relaxed64(&order->unit);
    uint64_t serial = mgds_load_relaxed64(&order->serial);

    while (mgds_load_acquire64(&unit->word) != serial)
        mgds_self_pause(self);
}

MGDS_FN void mgds_help_bytes(uint64_t to, uint64_t from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        mgds_store8(mgds_copy_to(to + i), mgds_load8(mgds_copy_from(from + i)));
}

/* 16 bytes of an aligned source at a time, several times under way. */
MGDS_FN void mgds_help_units(uint64_t to, uint64_t from, uint64_t end)
{
    unsigned part = mgds_wide_part(to - from);
    struct mgds_unit v[MGDS_HELP_AHEAD];

    for (; from < end; from += sizeof(v), to += sizeof(v)) {
        for (unsigned k = 0; k < MGDS_HELP_AHEAD; k++)
            v[k] = mgds_load16(mgds_copy_from(from + 16 * k));
        for (unsigned k = 0; k < MGDS_HELP_AHEAD; k++)
            mgds_wide_store(to + 16 * k, v[k], part);
    }
}

/* Alone, and one way for all places: a kernel that waits must find room on a
 * GPU that is nearly full, so it has few registers to spare for this. */
MGDS_FN void mgds_help_copy(const struct mgds_order *order)
{
    uint64_t to = mgds_load_relaxed64(&order->dst);
    uint64_t from = mgds_load_relaxed64(&order->source);
    uint64_t bytes = mgds_load_relaxed64(&order->bytes);
    uint64_t part = -from % 16;

    if (part > bytes)
        part = bytes;
    mgds_help_bytes(to, from, part);
    to += part;
    from += part;
    part = (bytes - part) & ~(uint64_t)(16 * MGDS_HELP_AHEAD - 1);
    mgds_help_units(to, from, from + part);
    to += part;
    from += part;
    bytes = mgds_load_relaxed64(&order->source) +
            mgds_load_relaxed64(&order->bytes) - from;
    mgds_help_bytes(to, from, bytes);
}

/* Out of a ring, where all of it has come. */
MGDS_FN void mgds_help_take(const struct mgds_self *self,
                            const struct mgds_order *order)
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)mgds_load_relaxed64(&order->unit);
    uint64_t serial = mgds_load_relaxed64(&order->serial);
    uint64_t to = mgds_load_relaxed64(&order->dst);
    uint64_t bytes = mgds_load_relaxed64(&order->bytes);

    for (uint64_t i = 0; i < bytes; i += 8, unit++) {
        struct mgds_unit v = mgds_load_unit(unit);

        while (v.word != serial) {
            mgds_self_pause(self);
            v = mgds_load_unit(unit);
        }
        mgds_ring_store(to + i, v.data, bytes - i);
    }
}

MGDS_FN void mgds_help_serve(const struct mgds_self *self,
                             struct mgds_desk *desk, uint64_t number)
{
    const struct mgds_order *order = mgds_help_claim(desk, number);
    struct mgds_claim *claim;

    /* from here on the order stays until it is over */
    if (!order)
        return;
    if (mgds_load_relaxed64(&order->source)) {
        mgds_help_acquire(self, order);
        mgds_help_copy(order);
    } else {
        mgds_help_take(self, order);
    }
    claim = (struct mgds_claim *)(uintptr_t)mgds_load_relaxed64(&order->claim);
    /* all of it was read */
    if (mgds_load_relaxed64(&order->done))
        mgds_store_release64(
            (uint64_t *)(uintptr_t)mgds_load_relaxed64(&order->done),
            mgds_load_relaxed64(&order->serial));
    /* it is in the buffer, for this GPU */
    mgds_fence_gpu();
    mgds_raise_fenced_gpu64(&claim->over, mgds_load_relaxed64(&order->gen));
    /* and for the CPU */
    mgds_store_release64(&desk->served, number);
}

/* One thread at a time: else the next order could be served, and that be told,
 * before the last one's number is. */
MGDS_FAR void mgds_help_order(struct mgds_self self, struct mgds_desk *desk,
                              uint64_t number)
{
    uint32_t *busy = (uint32_t *)(uintptr_t)mgds_load_relaxed64(&desk->busy);

    if (mgds_add_gpu32(busy, 1) == 0)
        mgds_help_serve(&self, desk, number);
    mgds_add_gpu32(busy, (uint32_t)-1);
}

/* Whether what is waited for, a word and its value, is to be given up; of one
 * that has no value, only if all is. Not while a kernel may have a part of it:
 * each of its threads is told for itself. */
MGDS_FAR int mgds_help_quits(const struct mgds_desk *desk, uint64_t word,
                             uint64_t serial)
{
    uint64_t at = mgds_load_acquire64(&desk->abort);

    while (at > MGDS_ABORT_ALL) {
        struct mgds_quit *quit = (struct mgds_quit *)(uintptr_t)at;
        struct mgds_unit v = mgds_load_unit((const struct mgds_unit *)at);

        if (serial && v.data == word && v.word == serial) {
            mgds_store_relaxed64(&quit->gone, serial);
            /* with what tells that the launch is through, by whichever thread
             */
            mgds_fence_sys();
            return 1;
        }
        at = mgds_load_acquire64(&quit->next);
    }
    return at == MGDS_ABORT_ALL;
}

/* The desk tells the CPU where the stream stands. */
MGDS_FN void mgds_help_say(struct mgds_desk *desk, uint64_t stand,
                           uint32_t beat)
{
    struct mgds_unit v = {stand, beat};

    mgds_store_unit((struct mgds_unit *)(void *)&desk->stands, v);
}

/* False if the kernel is to give up what it waits for. One thread of a warp
 * reads, and says where it stands if that is not 0. */
MGDS_FN int mgds_help_look(const struct mgds_self *self, uint64_t at,
                           uint64_t stand, uint32_t beat, uint64_t word,
                           uint64_t serial)
{
    struct mgds_desk *desk = (struct mgds_desk *)(uintptr_t)at;
    struct mgds_unit v;
    int mine;

    /* abort and order, in one read */
    v = mgds_load_once_unit((const struct mgds_unit *)(const void *)desk,
                            &mine);
    if (v.data && mgds_help_quits(desk, word, serial))
        return 0;
    if (stand && mine)
        mgds_help_say(desk, stand, beat);
    if (v.word && mine)
        mgds_help_order(*self, desk, v.word);
    return 1;
}

#endif
