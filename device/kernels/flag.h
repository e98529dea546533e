/* The flag kernel: mgds_flag_args says what it promises. */
#ifndef MGDS_DEVICE_KERNELS_FLAG_H
#define MGDS_DEVICE_KERNELS_FLAG_H

#include "device/abi.h"
#include "device/impl/kernel.h"
#include "device/kernels/help.h"

/* Polls from one look at the desk to the next, which lies in host memory, a
 * slow read; and from one word on where it stands to the next: a millisecond.
 */
enum {
    MGDS_FLAG_LOOK = MGDS_ON_GPU ? 64 : 4,
    MGDS_FLAG_SAY = MGDS_ON_GPU ? 1024 : 4
};

MGDS_FN uint64_t mgds_flag_stand(const struct mgds_flag_args *a, uint32_t polls)
{
    return polls && polls % MGDS_FLAG_SAY == 0 ? a->stand : 0;
}

/* False if it was told to give up. */
MGDS_FN int mgds_flag_await(const struct mgds_self *self,
                            const struct mgds_flag_args *a)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)a->wait;
    uint32_t polls = 0;

    while ((int64_t)(mgds_load_acquire64(word) - a->wait_value) < 0) {
        if (a->abort && polls % MGDS_FLAG_LOOK == 0 &&
            !mgds_help_look(self, a->abort, mgds_flag_stand(a, polls), polls, 0,
                            0))
            return 0;
        polls++;
        mgds_self_pause(self);
    }
    return 1;
}

MGDS_FN void mgds_flag_kernel_body(const struct mgds_self *self,
                                   const struct mgds_flag_args *a)
{
    if (self->block != 0 || self->thread != 0)
        return;
    if (a->wait && !mgds_flag_await(self, a))
        return;
    /* what was waited for, and all before it, comes before the word */
    if (a->write)
        mgds_store_release64((uint64_t *)(uintptr_t)a->write, a->write_value);
}

MGDS_KERNEL(mgds_flag_kernel, struct mgds_flag_args)

#endif
