/* GPU memory that another process may map: the driver's IPC handles, and
 * memory made for that. */
#ifndef MGDS_CUDA_IPC_H
#define MGDS_CUDA_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/ptr.h"

/* Which GPU, or part of one, a context is of: the same in all processes. */
struct mgds_gpu_id {
    unsigned char bytes[16];
};

/* -ENOTSUP, or what the driver says. */
int mgds_gpu_identify(struct mgds_gpu_id *out, const struct mgds_context *ctx);

/* Whether the driver says that kernels of the context's GPU cannot reach memory
 * of that one. False also where it cannot say: this process does not see it. */
bool mgds_gpu_is_far(const struct mgds_context *ctx,
                     const struct mgds_gpu_id *id);

/* Memory of the context's device. */
struct mgds_shared {
    void *addr;
    size_t bytes;
    struct mgds_context *ctx; /* a reference */
    struct mgds_deferred deferred;
};

/* Whatever was in that memory is in it. -ENOMEM, -ESHUTDOWN, -ENOTSUP. */
int mgds_shared_create_unset(struct mgds_shared **out, struct mgds_context *ctx,
                             size_t bytes);

/* The same, and waits until it is zeroed, on a stream of our own. -EBUSY: no
 * hardware queue is free for that. Not on a path that a wait depends on. */
int mgds_shared_create(struct mgds_shared **out, struct mgds_context *ctx,
                       size_t bytes);

/* Zeroes it again. Nobody uses it. */
int mgds_shared_clear(const struct mgds_shared *shared);

/* Never blocks: it is freed at the next safe point (defer.h). */
void mgds_shared_destroy(struct mgds_shared *shared);

/* What another process needs: plain bytes, the same for the same memory. */
struct mgds_shared_name {
    unsigned char bytes[64];
};

int mgds_shared_tell(const struct mgds_shared *shared,
                     struct mgds_shared_name *out);

/* The same for an allocation of the program's, of kind DEVICE: from its base
 * on. Returns at once while waits stand. -ENOTSUP; -EFAULT: it is gone; or what
 * the driver says. */
int mgds_memory_tell(const struct mgds_ptr *ptr, struct mgds_shared_name *out);

/* Whether the allocation of this id is still what base lies in: one driver
 * call, which returns at once while waits stand. */
bool mgds_memory_lives(uint64_t id, uintptr_t base);

/* Another process's memory, mapped for kernels of a context. */
struct mgds_mapped {
    void *addr;
    struct mgds_context *ctx; /* a reference */
    struct mgds_deferred deferred;
};

/* Negative errno: it cannot be mapped here, be it that the other process is on
 * another host, that the devices do not reach each other, or that it is gone.
 * -EBUSY: older memory of that process is still mapped in its place. Not for
 * memory of this process. */
int mgds_mapped_create(struct mgds_mapped **out, struct mgds_context *ctx,
                       const struct mgds_shared_name *name);

/* As mgds_shared_destroy. */
void mgds_mapped_destroy(struct mgds_mapped *mapped);

/* The same now, at a safe point. */
void mgds_mapped_close(struct mgds_mapped *mapped);

#endif
