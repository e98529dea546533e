/*
 * Layouts that are no few spans are copied by one kernel. It finds the place
 * of each byte in a table, the layout as nodes (device/kernels/pack_abi.h),
 * and reads or writes the pinned bounce directly: chosen over a scratch piece
 * of device memory and a driver copy, because that takes a second operation
 * and memory that would have to be allocated, while the stores of a block go
 * to the bounce in order and fill the link as well.
 */
#ifndef MGDS_MEM_PACK_H
#define MGDS_MEM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/mem/bounce_state.h"

/* How kernels get to a GPU, given by who can do that. Kernels take one struct
 * of args_bytes bytes. All return 0 or negative errno. */
struct mgds_pack_door {
    /* Loads the image (device/kernels.h) in the context and finds a kernel of
     * it. No context need be current. */
    int (*load)(void **kernel, struct mgds_context *ctx, const void *image,
                const char *name);
    /* Also when the context is gone. Does not block: may put it off. */
    void (*unload)(void *kernel, struct mgds_context *ctx);
    /* Queues one launch. The stream's context is current. */
    int (*launch)(void *kernel, void *stream, unsigned blocks, unsigned threads,
                  const void *args, size_t args_bytes);
};

/* Says how, instead of by the CUDA door: for tests. NULL: not at all. Constant,
 * and to be called before a buffer is staged. */
void mgds_pack_use(const struct mgds_pack_door *use);

/* Loads the kernel, and runs it once over nothing, since a first launch may
 * wait for the device. NULL, and one line, if it cannot be had. */
void mgds_pack_load(void **kernel, struct mgds_context *ctx, void *stream);

/* NULL is allowed, and a context that is gone. */
void mgds_pack_unload(void *kernel, struct mgds_context *ctx);

/* Queues the kernel for packed bytes [first, first + bytes). The bounce's
 * context is current. */
int mgds_pack_launch(struct mgds_bounce *bounce, bool up, size_t first,
                     size_t bytes);

/* Queues that kernel for all bytes of a bounce that has a table, on a stream of
 * the kernel's context, which is current. limit: a word in pinned
 * memory, packed bytes from whose value on are not touched, or NULL. */
int mgds_pack_queue(const struct mgds_bounce *bounce, void *kernel,
                    void *stream, bool up, const uint64_t *limit);

/* The threads of a block of a copying kernel, and the blocks for so many pieces
 * of work that a thread does at once. */
enum { MGDS_PACK_THREADS = 256 };
unsigned mgds_pack_blocks(uint64_t units);

#endif
