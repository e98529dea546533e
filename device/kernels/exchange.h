/* Messages of a group, or of a Waitall, in one launch: sends and receives at
 * once, short and long; mgds_exchange_args says what it promises.
 *
 * Each item has its own cell, so its blocks settle among themselves what those
 * of a launch of its own would; the last thread of each counts it, and the last
 * of those ends the launch. A block that has several takes does one after the
 * other: what each of them waits for comes by itself.
 *
 * What is behind in the stream is not let start early: blocks that are through
 * stand beside others that wait. */
#ifndef MGDS_DEVICE_KERNELS_EXCHANGE_H
#define MGDS_DEVICE_KERNELS_EXCHANGE_H

#include "device/kernels/post.h"
#include "device/kernels/pull.h"
#include "device/kernels/ring.h"

MGDS_FN struct mgds_exchange_cells *
mgds_exchange_cells(const struct mgds_exchange_head *head)
{
    return (struct mgds_exchange_cells *)(uintptr_t)head->cells;
}

MGDS_FN void mgds_exchange_call(const struct mgds_exchange_head *head)
{
    if (head->came)
        mgds_store_release64((uint64_t *)(uintptr_t)head->came,
                             head->came_value);
}

/* True for the last of so many; the count is 0 again. What the others did comes
 * before what that one does. */
MGDS_FN int mgds_exchange_counts(uint32_t *word, uint32_t all)
{
    if (mgds_add_gpu32(word, 1) != all - 1)
        return 0;
    mgds_store_relaxed32(word, 0);
    return 1;
}

/* By one thread for each item, and for all that are awaited together. */
MGDS_FN void mgds_exchange_ended(const struct mgds_exchange_head *head)
{
    uint32_t all = head->sends + head->takes + (head->awaits > 0);
    struct mgds_take_args end = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    if (!mgds_exchange_counts(&mgds_exchange_cells(head)->ended, all))
        return;
    end.cell = head->cell;
    end.flag = head->flag;
    end.value = head->value;
    mgds_take_tell(&end, MGDS_READ_BYTES, 1);
}

/* Told of before the end is counted, which may be told of at once. */
MGDS_FN void mgds_exchange_sent(const struct mgds_exchange_head *head)
{
    if (head->loud &&
        mgds_exchange_counts(&mgds_exchange_cells(head)->sent, head->sends))
        mgds_exchange_call(head);
    mgds_exchange_ended(head);
}

MGDS_FN void mgds_exchange_send(const struct mgds_self *self,
                                const struct mgds_exchange_head *head,
                                const struct mgds_exchange_item *item,
                                struct mgds_cell *cell)
{
    const struct mgds_push_args push = {
        item->buffer, item->bytes, item->units, item->serial, 0, 0, 0};
    const struct mgds_post_args post = {item->units, item->serial, 0, 0};

    mgds_grid_wait();
    if (item->kind == MGDS_EXCHANGE_PUSH)
        mgds_push_units(self, &push);
    else if (self->thread == 0)
        mgds_post_run(&post);
    if (mgds_ring_is_last(self, cell))
        mgds_exchange_sent(head);
}

MGDS_FN struct mgds_pull_args
mgds_exchange_pull(const struct mgds_exchange_head *head,
                   const struct mgds_exchange_item *item,
                   const struct mgds_cell *cell)
{
    struct mgds_pull_args one = {
        {item->buffer, item->bytes, 0, item->serial, item->length, 0,
         head->abort, head->loud ? 0 : head->came, head->came_value,
         (uintptr_t)cell, head->turn, 0, 0, head->stand},
        item->source,
        item->done,
        item->claim,
        item->gen,
        0,
        0};

    if (item->serial)
        one.take.units = item->units;
    else
        one.take.record = item->units;
    return one;
}

MGDS_FN void mgds_exchange_take(const struct mgds_self *self,
                                const struct mgds_exchange_head *head,
                                const struct mgds_exchange_item *item,
                                struct mgds_cell *cell)
{
    const struct mgds_pull_args one = mgds_exchange_pull(head, item, cell);
    struct mgds_pull_found found = mgds_pull_look(self, &one);
    enum mgds_take_read read;
    uint64_t none = 0;

    if (mgds_pull_is_mine(&found))
        none = mgds_pull_bytes(self, &one, &found);
    else
        mgds_take_what(self, &one.take, &found.at);
    if (mgds_pull_ends(self, &one, &found, none, &read))
        mgds_exchange_ended(head);
}

MGDS_FN void mgds_exchange_await(const struct mgds_self *self,
                                 const struct mgds_exchange_head *head,
                                 const struct mgds_exchange_item *item)
{
    struct mgds_await_head all = {{0, 0, 0, 0}, 0, 0, 0, 0, 0};

    all.abort = head->abort;
    all.stand = head->stand;
    mgds_grid_wait();
    for (uint32_t i = self->thread; i < head->awaits; i += self->threads) {
        const struct mgds_await_item one = {item[i].units, item[i].serial};

        (void)mgds_await_one(self, &all, &one);
    }
    mgds_block_sync(self);
    if (self->thread == 0)
        mgds_exchange_ended(head);
}

/* The part of the launch that an item has; no blocks: this one is not of it. */
MGDS_FN struct mgds_self
mgds_exchange_part(const struct mgds_self *self,
                   const struct mgds_exchange_item *item)
{
    struct mgds_self part = *self;

    part.block = self->block - item->first;
    part.blocks = part.block < item->blocks ? item->blocks : 0;
    return part;
}

MGDS_FN void mgds_exchange_run(const struct mgds_self *self,
                               const struct mgds_exchange_head *head,
                               const struct mgds_exchange_item *item)
{
    uint32_t count = head->sends + head->takes;

    if (head->loud && head->sends == 0 && self->block == 0 &&
        self->thread == 0) {
        mgds_grid_wait();
        mgds_exchange_call(head);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct mgds_self part = mgds_exchange_part(self, &item[i]);
        struct mgds_cell *cell;

        if (part.blocks == 0)
            continue;
        /* only here: a launch of no items, which loads the kernel, has none */
        cell = &mgds_exchange_cells(head)->item[i];
        if (i < head->sends)
            mgds_exchange_send(&part, head, &item[i], cell);
        else
            mgds_exchange_take(&part, head, &item[i], cell);
    }
    if (head->awaits > 0 && self->block == self->blocks - 1)
        mgds_exchange_await(self, head, item + count);
}

MGDS_FN void mgds_exchange_kernel_body(const struct mgds_self *self,
                                       const struct mgds_exchange_args *a)
{
    mgds_exchange_run(self, &a->head, a->item);
}

MGDS_FN void
mgds_few_exchange_kernel_body(const struct mgds_self *self,
                              const struct mgds_few_exchange_args *a)
{
    mgds_exchange_run(self, &a->head, a->item);
}

MGDS_KERNEL_WIDE(mgds_exchange_kernel, struct mgds_exchange_args)
MGDS_KERNEL_WIDE(mgds_few_exchange_kernel, struct mgds_few_exchange_args)

#endif
