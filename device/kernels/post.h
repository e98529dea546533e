/* The two ends of a message that the receiver copies: the sender says that its
 * bytes may be read, and waits until they were; mgds_post_args and
 * mgds_await_args say what is promised. The copy is in pull.h. */
#ifndef MGDS_DEVICE_KERNELS_POST_H
#define MGDS_DEVICE_KERNELS_POST_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/ring.h"

MGDS_FN void mgds_post_run(const struct mgds_post_args *a)
{
    /* the bytes, which kernels ahead have stored, for who reads them */
    mgds_store_release64((uint64_t *)(uintptr_t)a->ready, a->serial);
    /* staged bytes of operations ahead, for the CPU */
    if (a->flag)
        mgds_store_release64((uint64_t *)(uintptr_t)a->flag, a->value);
}

MGDS_FN void mgds_post_kernel_body(const struct mgds_self *self,
                                   const struct mgds_post_args *a)
{
    mgds_grid_ready();
    if (self->block == 0 && self->thread == 0)
        mgds_post_run(a);
}

/* False if it was told to give up. Polls have no order, since each acquire
 * empties a cache that other blocks may have a use for. */
MGDS_FN int mgds_await_one(const struct mgds_self *self,
                           const struct mgds_await_head *head,
                           const struct mgds_await_item *item)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)item->word;
    uint32_t polls = 0;

    while (mgds_load_relaxed64(word) != item->value)
        if (!mgds_take_stands_for(self, head->abort, head->stand, polls++,
                                  item->word, item->value))
            return 0;
    /* the reads of who stored it come before what this stream writes next */
    mgds_load_acquire64(word);
    return 1;
}

MGDS_FN void mgds_await_run(const struct mgds_self *self,
                            const struct mgds_await_head *head,
                            const struct mgds_await_item *item)
{
    uint64_t i = self->thread;

    if (head->post.ready && self->thread == 0)
        mgds_post_run(&head->post);
    for (; i < head->count; i += self->threads)
        (void)mgds_await_one(self, head, &item[i]);
    mgds_grid_ready();
    mgds_block_sync(self);
    if (head->flag && self->thread == 0)
        mgds_store_release64((uint64_t *)(uintptr_t)head->flag, head->value);
}

MGDS_FN void mgds_await_kernel_body(const struct mgds_self *self,
                                    const struct mgds_await_args *a)
{
    mgds_await_run(self, &a->head, a->item);
}

MGDS_FN void mgds_few_awaits_kernel_body(const struct mgds_self *self,
                                         const struct mgds_few_awaits_args *a)
{
    mgds_await_run(self, &a->head, a->item);
}

MGDS_KERNEL(mgds_post_kernel, struct mgds_post_args)
MGDS_KERNEL(mgds_await_kernel, struct mgds_await_args)
MGDS_KERNEL(mgds_few_awaits_kernel, struct mgds_few_awaits_args)

#endif
