/* Many short messages in one launch: all takes of a Waitall;
 * mgds_takes_args says what it promises.
 *
 * One block, however many messages: it stands until the last of them has come,
 * and what stands on a GPU keeps others out. Were the blocks many, those that
 * have found room could wait for a push that finds none, behind those of this
 * launch that have not: on a GPU that is nearly full a stream would hang that
 * goes on with one.
 *
 * The threads are dealt out in groups, a message each at a time; a message that
 * is long beside the others is left to all threads. */
#ifndef MGDS_DEVICE_KERNELS_TAKES_H
#define MGDS_DEVICE_KERNELS_TAKES_H

#include "device/kernels/ring.h"

/* Of that many units a thread of a group, one of more is long. */
enum { MGDS_TAKES_LONG = 128 };

MGDS_FN struct mgds_take_args
mgds_takes_args_of(const struct mgds_takes_head *head,
                   const struct mgds_takes_item *item)
{
    struct mgds_take_args one = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

    one.dst = item->dst;
    one.bytes = item->bytes;
    one.serial = item->serial;
    one.length = item->length;
    one.abort = head->abort;
    one.stand = head->stand;
    if (item->serial)
        one.units = item->units;
    else
        one.record = item->units;
    return one;
}

/* Where the messages are, found once for the block, since records lie across
 * the host link, and all at a time, each by neighbours that read its line. The
 * host's threads look each for itself. */
struct mgds_takes_found {
    struct mgds_take_source *at; /* NULL: look */
    int longs;                   /* 1: some may be long */
    enum mgds_take_read read;
};

MGDS_FN int mgds_takes_is_long(const struct mgds_take_source *at,
                               unsigned lanes)
{
    return at->serial != MGDS_TAKE_NONE &&
           mgds_ring_units(at->length) > (uint64_t)MGDS_TAKES_LONG * lanes;
}

MGDS_FN struct mgds_takes_found
mgds_takes_look(const struct mgds_self *self,
                const struct mgds_takes_head *head,
                const struct mgds_takes_item *item, unsigned lanes)
{
    struct mgds_takes_found found = {NULL, 1, MGDS_READ_BYTES};

#if MGDS_ON_GPU
    __shared__ struct mgds_take_source at[MGDS_TAKES_MOST];
    unsigned first = self->thread / MGDS_LINE_READERS;
    unsigned step = self->threads / MGDS_LINE_READERS;
    int longs = 0, bytes = 0;

    for (unsigned i = first; i < head->count; i += step) {
        struct mgds_take_args one = mgds_takes_args_of(head, &item[i]);

        at[i] = mgds_take_glance(&one);
    }
    mgds_grid_wait();
    for (unsigned i = first; i < head->count; i += step) {
        struct mgds_take_args one = mgds_takes_args_of(head, &item[i]);
        struct mgds_take_source found_at = at[i];

        mgds_take_find(self, &one, &found_at);
        at[i] = found_at;
        longs |= mgds_takes_is_long(&found_at, lanes);
        bytes |= mgds_take_read_of(&found_at) == MGDS_READ_BYTES;
    }
    found.at = at;
    found.longs = __syncthreads_or(longs) != 0;
    found.read = __syncthreads_or(bytes) ? MGDS_READ_BYTES : MGDS_READ_UNITS;
#else
    (void)self;
    (void)head;
    (void)item;
    (void)lanes;
#endif
    return found;
}

/* The threads of self take item i, if it is long, or if it is not. */
struct mgds_takes_pass {
    const struct mgds_takes_head *head;
    const struct mgds_takes_item *item;
    struct mgds_takes_found found;
    unsigned lanes;
    int longs;
};

MGDS_FN void mgds_takes_one(const struct mgds_self *self,
                            const struct mgds_takes_pass *pass, unsigned i)
{
    struct mgds_take_args one = mgds_takes_args_of(pass->head, &pass->item[i]);
    struct mgds_take_source at;

    if (pass->found.at) {
        at = pass->found.at[i];
    } else {
        at = mgds_take_glance(&one);
        mgds_take_find(self, &one, &at);
    }
    if (mgds_takes_is_long(&at, pass->lanes) == pass->longs)
        mgds_take_what(self, &one, &at);
}

/* How many threads each of the messages can have: a power of two. */
MGDS_FN unsigned mgds_takes_lanes(unsigned threads, unsigned count)
{
    unsigned lanes = 1;

    while (count && 2 * lanes * count <= threads)
        lanes *= 2;
    return lanes;
}

/* One group of threads a message, or all of them. */
MGDS_FN void mgds_takes_all(const struct mgds_self *self,
                            const struct mgds_takes_pass *pass)
{
    unsigned lanes = pass->longs ? self->threads : pass->lanes;
    unsigned groups = self->threads / lanes;
    struct mgds_self group = *self;

    group.threads = lanes;
    group.thread = self->thread % lanes;
    /* threads that are too few for a group have nothing to do */
    if (self->thread >= groups * lanes)
        return;
    for (unsigned i = self->thread / lanes; i < pass->head->count; i += groups)
        mgds_takes_one(&group, pass, i);
}

MGDS_FN void mgds_takes_run(const struct mgds_self *self,
                            const struct mgds_takes_head *head,
                            const struct mgds_takes_item *item)
{
    struct mgds_take_args end = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct mgds_takes_pass pass;

    pass.head = head;
    pass.item = item;
    pass.lanes = mgds_takes_lanes(self->threads, head->count);
    pass.found = mgds_takes_look(self, head, item, pass.lanes);
    for (pass.longs = 0; pass.longs <= pass.found.longs; pass.longs++)
        mgds_takes_all(self, &pass);
    end.cell = head->cell;
    end.flag = head->flag;
    end.value = head->value;
    mgds_take_end(self, &end, pass.found.read);
}

MGDS_FN void mgds_takes_kernel_body(const struct mgds_self *self,
                                    const struct mgds_takes_args *a)
{
    mgds_takes_run(self, &a->head, a->item);
}

MGDS_FN void mgds_few_takes_kernel_body(const struct mgds_self *self,
                                        const struct mgds_few_takes_args *a)
{
    mgds_takes_run(self, &a->head, a->item);
}

MGDS_KERNEL_EARLY(mgds_takes_kernel, struct mgds_takes_args)
MGDS_KERNEL_EARLY(mgds_few_takes_kernel, struct mgds_few_takes_args)

#endif
