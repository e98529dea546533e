/* Several copies in one launch; mgds_copies_args says what it promises. Nothing
 * in it waits, so its blocks may be many. */
#ifndef MGDS_DEVICE_KERNELS_COPIES_H
#define MGDS_DEVICE_KERNELS_COPIES_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/copy.h"

/* Neighbouring blocks have different items: small ones, which have one block
 * each, are begun at once. */
MGDS_FN void mgds_copies_kernel_body(const struct mgds_self *self,
                                     const struct mgds_copies_args *a)
{
    unsigned count = (unsigned)a->count;
    struct mgds_copy_args one = {0, 0, 0, 0, 0, 0, 0};
    struct mgds_self part = *self;

    if (count == 0)
        return;
    part.block = self->block / count;
    part.blocks = self->blocks / count;
    one.dst = a->item[self->block % count].dst;
    one.src = a->item[self->block % count].src;
    one.bytes = a->item[self->block % count].bytes;
    one.limit = a->item[self->block % count].limit;
    mgds_copy_run(&part, &one, mgds_limit_bytes(self, one.limit, 0, one.bytes));
}

MGDS_KERNEL(mgds_copies_kernel, struct mgds_copies_args)

#endif
