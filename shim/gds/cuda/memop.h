/* Memory operations: a stream writes a word of host memory, or waits for one,
 * without a kernel. */
#ifndef MGDS_CUDA_MEMOP_H
#define MGDS_CUDA_MEMOP_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"

struct mgds_memop {
    bool wait;      /* until *word >= value, cyclic; else *word = value, after
                       all before it, for the whole system */
    uint64_t *word; /* pinned, aligned; of 32 bits: its low half */
    uint64_t value; /* below 2^31, so that 32 bits do */
};

/* The most of one call. */
enum { MGDS_MEMOP_MOST = 64 };

/* The width in bits of memory operations on the context's device: 64 or 32. 0:
 * there are none. */
unsigned mgds_memop_width(const struct mgds_context *ctx);

/* Queues them, in order, with one driver call. count is 1 to MGDS_MEMOP_MOST.
 * The caller has entered the stream's context. -ENOTSUP, or what else the
 * driver says; then nothing was queued. */
int mgds_memop_queue(void *stream, unsigned width, const struct mgds_memop *ops,
                     unsigned count);

/* Two stores of a stream, in this order: what a device wants of one that rings
 * it. Addresses as the GPU has them (hostmap.h). */
struct mgds_memop_bell {
    uint64_t record; /* of 32 bits */
    uint64_t doorbell;
    uint32_t record_value;
    uint64_t doorbell_value;
};

/* After all before it on the stream, for the whole system; else as
 * mgds_memop_queue, of a device whose width is 64. */
int mgds_memop_ring(void *stream, const struct mgds_memop_bell *bell);

#endif
