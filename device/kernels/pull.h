/* The long take: messages that the receiver copies out of the sender's memory,
 * and, since a record may tell of any, all others; mgds_pull_args says what it
 * promises.
 *
 * One thread of the launch claims, and tells the others (cell->found): who
 * copies is the same for all of them.
 *
 * A launch that joins the one ahead of it copies beside that one, so that a row
 * of messages is not slower than one. The two have in common: cell->found,
 * which all blocks ahead have read when this launch begins, since they let it
 * begin behind that; and the ticket, that is drawn behind the wait for the one
 * ahead. */
#ifndef MGDS_DEVICE_KERNELS_PULL_H
#define MGDS_DEVICE_KERNELS_PULL_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/ring.h"
#include "device/kernels/wide.h"

/* Where the message is, and who is to know that it was read. */
struct mgds_pull_found {
    struct mgds_take_source at; /* PULL, QUIET: from is the unit */
    uint64_t source;
    uint64_t done;
};

MGDS_FN int mgds_pull_is_there(const struct mgds_pull_found *found)
{
    return found->at.form >= MGDS_TAKE_PULL;
}

MGDS_FN int mgds_pull_is_mine(const struct mgds_pull_found *found)
{
    return mgds_pull_is_there(found) && found->at.serial != MGDS_TAKE_NONE;
}

MGDS_FN struct mgds_pull_found mgds_pull_known(const struct mgds_pull_args *a)
{
    struct mgds_pull_found found;

    found.at = mgds_take_known(&a->take);
    if (a->source)
        found.at.form = MGDS_TAKE_PULL;
    found.source = a->source;
    found.done = a->done;
    return found;
}

/* As mgds_take_glance. */
MGDS_FN struct mgds_pull_found mgds_pull_glance(const struct mgds_pull_args *a)
{
    const struct mgds_unit *record =
        (const struct mgds_unit *)(uintptr_t)a->take.record;
    struct mgds_unit line[MGDS_LINE_UNITS];
    struct mgds_pull_found found;

    if (!record)
        return mgds_pull_known(a);
    mgds_load_line(record, line);
    found.at = mgds_take_recorded(line);
    found.source = line[MGDS_RECORD_SOURCE / 2].data;
    found.done = line[MGDS_RECORD_SOURCE / 2].word;
    if (mgds_pull_is_there(&found) && (!found.source || !found.done))
        found.at.serial = 0;
    return found;
}

/* By those that have glanced. */
MGDS_FN void mgds_pull_find(const struct mgds_self *self,
                            const struct mgds_pull_args *a,
                            struct mgds_pull_found *found)
{
    uint32_t polls = 0;

    while (found->at.serial == 0) {
        if (polls == 0)
            mgds_take_call(self, &a->take);
        if (mgds_take_stand_together(self, a->take.abort, a->take.stand,
                                     polls++))
            *found = mgds_pull_glance(a);
        else
            found->at.serial = MGDS_TAKE_NONE;
    }
    mgds_take_trust(&a->take, &found->at);
}

MGDS_FN struct mgds_claim *mgds_pull_claim(const struct mgds_pull_args *a)
{
    return (struct mgds_claim *)(uintptr_t)a->claim;
}

/* Until the bytes are there; false if it was told to give up. Each block waits
 * and acquires for itself: that takes less time than to be told. Nobody uses
 * the unit for another message before this one is done. */
MGDS_FN int mgds_pull_await(const struct mgds_self *self,
                            const struct mgds_pull_args *a,
                            const struct mgds_take_source *at)
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)at->from;
    uint32_t polls = 0;

    while (mgds_load_relaxed64(&unit->word) != at->serial)
        if (!mgds_take_stands_for(self, a->take.abort, a->take.stand, polls++,
                                  at->from, at->serial))
            return 0;
    mgds_load_acquire64(&unit->word);
    return 1;
}

/* What another launch copies is this one's, too, when it is through. */
MGDS_FN void mgds_pull_follow(const struct mgds_self *self,
                              const struct mgds_pull_args *a)
{
    const uint64_t *over = &mgds_pull_claim(a)->over;
    uint32_t polls = 0;

    while (mgds_load_relaxed64(over) < a->gen)
        if (!mgds_take_stands(self, a->take.abort, a->take.stand, polls++))
            return;
    /* all of the data, for what comes behind in this stream */
    mgds_load_acquire64(over);
}

/* Claimed before the message is there: a launch that stands takes it as soon
 * as it comes, so nobody else has to. NONE afterwards: there is nothing for
 * this launch to copy. The exchange says only who was first, so it has no
 * order: the bytes come with the unit, and what was copied with `over`. */
MGDS_FN void mgds_pull_settle(const struct mgds_self *self,
                              const struct mgds_pull_args *a,
                              struct mgds_take_source *at)
{
    struct mgds_claim *claim = mgds_pull_claim(a);

    if (claim && mgds_exchange_gpu64(&claim->owner, a->gen) == a->gen) {
        at->serial = MGDS_TAKE_NONE;
        mgds_pull_follow(self, a);
    }
}

MGDS_FN void mgds_pull_share(const struct mgds_pull_args *a,
                             const struct mgds_pull_found *found)
{
    const uint64_t values[] = {found->at.serial, found->at.from,
                               4 * found->at.length + found->at.form,
                               found->source, found->done};

    mgds_take_share(&a->take, values, 5);
}

MGDS_FN struct mgds_pull_found mgds_pull_hear(const struct mgds_self *self,
                                              const struct mgds_pull_args *a)
{
    struct mgds_pull_found found;
    uint64_t values[5];

    mgds_take_hear(self, &a->take, values, 5);
    found.at = mgds_take_source_of(values);
    found.source = values[3];
    found.done = values[4];
    return found;
}

/* Units that are known at the launch each looks at itself, unless others may
 * have them. */
MGDS_FN int mgds_pull_is_shared(const struct mgds_pull_args *a)
{
    return a->take.cell && (a->take.record || a->source || a->delivers);
}

/* Of a block on the GPU, and of a thread on the host, where a block has nothing
 * in common. */
MGDS_FN int mgds_pull_leads(const struct mgds_self *self,
                            const struct mgds_pull_args *a)
{
#if MGDS_ON_GPU
    return self->block == 0 || !mgds_pull_is_shared(a);
#else
    return (self->block == 0 && self->thread == 0) || !mgds_pull_is_shared(a);
#endif
}

/* By one thread: whether it is this launch that copies, and then the bytes are
 * there. found: what was found, in a block that leads. */
MGDS_FN struct mgds_pull_found mgds_pull_decide(const struct mgds_self *self,
                                                const struct mgds_pull_args *a,
                                                struct mgds_pull_found found)
{
    if (!mgds_pull_leads(self, a)) {
        found = mgds_pull_hear(self, a);
    } else {
        if (mgds_pull_is_mine(&found) || a->delivers)
            mgds_pull_settle(self, a, &found.at);
        if (mgds_pull_is_shared(a))
            mgds_pull_share(a, &found);
    }
    if (mgds_pull_is_mine(&found) && !mgds_pull_await(self, a, &found.at))
        found.at.serial = MGDS_TAKE_NONE;
    return found;
}

/* The first look is not put off until the kernel ahead is through: a record is
 * the CPU's. All else is looked at behind that. */
MGDS_FN struct mgds_pull_found mgds_pull_look(const struct mgds_self *self,
                                              const struct mgds_pull_args *a)
{
    struct mgds_pull_found found = {{0, 0, 0, MGDS_TAKE_UNITS}, 0, 0};
#if MGDS_ON_GPU
    __shared__ struct mgds_pull_found all;
    int looks = self->thread < MGDS_LINE_READERS && mgds_pull_leads(self, a);

    if (looks)
        found = mgds_pull_glance(a);
    if (!a->joins)
        mgds_grid_wait();
    if (looks)
        mgds_pull_find(self, a, &found);
    if (self->thread == 0)
        all = mgds_pull_decide(self, a, found);
    mgds_block_sync(self);
    return all;
#else
    if (mgds_pull_leads(self, a)) {
        found = mgds_pull_glance(a);
        mgds_pull_find(self, a, &found);
    }
    return mgds_pull_decide(self, a, found);
#endif
}

/* The 0 that is made of what this thread has read. */
MGDS_FN uint64_t mgds_pull_bytes(const struct mgds_self *self,
                                 const struct mgds_pull_args *a,
                                 const struct mgds_pull_found *found)
{
    struct mgds_copy_args copy = {0, 0, 0, 0, 0, 0, 0};

    copy.dst = a->take.dst;
    copy.src = found->source;
    copy.bytes =
        found->at.length < a->take.bytes ? found->at.length : a->take.bytes;
    return mgds_none_of(mgds_wide_copy(self, &copy), copy.dst);
}

/* The sender is told when all was read, of which `none` is made; this GPU
 * behind that, when the data is there, and `done`, whose word the sender may
 * use again once it hears of `passed`. The cell, which comes behind `over` in
 * the program, may be seen before it, and then the claim may have another
 * message when it comes: that stays. */
MGDS_FN void mgds_pull_tell(const struct mgds_pull_args *a,
                            const struct mgds_pull_found *found, uint64_t none)
{
    struct mgds_claim *claim = mgds_pull_claim(a);

    if (found->done)
        mgds_store_having_read64((uint64_t *)(uintptr_t)found->done,
                                 found->at.serial, none);
    mgds_fence_gpu();
    if (claim)
        mgds_raise_fenced_gpu64(&claim->over, a->gen);
}

/* Behind the copy, or what was found instead of one, of which `none` is made:
 * true in the last thread of all. Threads that are given up differ in what they
 * found where nothing is shared: so all meet, whatever there is to tell. */
MGDS_FN int mgds_pull_ends(const struct mgds_self *self,
                           const struct mgds_pull_args *a,
                           const struct mgds_pull_found *found, uint64_t none,
                           enum mgds_take_read *read)
{
    struct mgds_cell *cell = (struct mgds_cell *)(uintptr_t)a->take.cell;

    *read = mgds_take_read_of(&found->at);
    if (!mgds_ring_is_last_of(self, cell, &none))
        return 0;
    if (mgds_pull_is_mine(found) ||
        (a->delivers && found->at.serial != MGDS_TAKE_NONE)) {
        mgds_pull_tell(a, found, none);
        *read = MGDS_READ_FENCED;
    }
    return 1;
}

MGDS_FN void mgds_pull_kernel_body(const struct mgds_self *self,
                                   const struct mgds_pull_args *a)
{
    struct mgds_pull_found found = mgds_pull_look(self, a);
    enum mgds_take_read read;
    uint64_t none = 0;

    if (mgds_pull_is_mine(&found)) {
        /* from here on it waits for nobody */
        mgds_grid_ready();
        none = mgds_pull_bytes(self, a, &found);
    } else {
        mgds_take_what(self, &a->take, &found.at);
    }
    mgds_grid_ready();
    if (a->joins)
        mgds_grid_wait();
    if (mgds_pull_ends(self, a, &found, none, &read))
        mgds_take_tell(&a->take, read, found.at.form != MGDS_TAKE_QUIET);
}

MGDS_KERNEL_WIDE(mgds_pull_kernel, struct mgds_pull_args)

#endif
