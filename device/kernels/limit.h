/* The limit of a copy, known only when it runs: a count in host memory. */
#ifndef MGDS_DEVICE_KERNELS_LIMIT_H
#define MGDS_DEVICE_KERNELS_LIMIT_H

#include "device/impl/kernel.h"

/* How many of `bytes` bytes lie below the limit, the first of them being byte
 * `first`. One thread of a block reads it: every read crosses the host link. */
MGDS_FN uint64_t mgds_limit_bytes(const struct mgds_self *self, uint64_t limit,
                                  uint64_t first, uint64_t bytes)
{
    const uint64_t *word = (const uint64_t *)(uintptr_t)limit;
    uint64_t most;

    if (!limit)
        return bytes;
#if MGDS_ON_GPU
    __shared__ uint64_t seen;

    if (self->thread == 0)
        seen = mgds_load_acquire64(word);
    mgds_block_sync(self);
    most = seen;
#else
    (void)self;
    most = mgds_load_acquire64(word);
#endif
    most = most > first ? most - first : 0;
    return most < bytes ? most : bytes;
}

#endif
