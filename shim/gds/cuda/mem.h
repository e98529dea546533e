/* Pinned host memory, a little device memory for trials, and copies between
 * any two kinds of memory. */
#ifndef MGDS_CUDA_MEM_H
#define MGDS_CUDA_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/defer.h"

/* A piece of pinned host memory, whole pages; all contexts may use it. When the
 * one it was made in goes it is plain memory until it is destroyed. */
struct mgds_pinned {
    void *addr;
    size_t bytes;
    struct mgds_context *ctx;
    uint64_t id; /* of the allocation, as in struct mgds_ptr */
    struct mgds_deferred deferred;
};

/* Takes a reference to ctx. -ENOMEM (said in one line, once a process),
 * -ESHUTDOWN. May take a millisecond; not where a wait stands. */
int mgds_pinned_create(struct mgds_pinned **out, struct mgds_context *ctx,
                       size_t bytes);

/* Never blocks: the memory goes back at the next safe point (defer.h). Nobody
 * may use it any more, copies that were queued included. */
void mgds_pinned_destroy(struct mgds_pinned *pinned);

/* Memory of the context's device, not zeroed: for a trial, not for messages.
 * -ENOMEM, -ESHUTDOWN, -ENOTSUP. Both calls wait for the device. */
int mgds_trial_alloc(void **out, const struct mgds_context *ctx, size_t bytes);
void mgds_trial_free(const struct mgds_context *ctx, void *addr);

/*
 * A copy of planes x rows x width bytes. Within a plane rows are a pitch
 * apart, planes a slice; what is 1 or contiguous needs neither.
 *
 *   plane 0: |width|..pitch..|width|..pitch..|width|      rows
 *   plane 1: a slice further on                          planes
 */
struct mgds_copy {
    void *dst;
    const void *src;
    size_t width, rows, planes;
    size_t dst_pitch, src_pitch; /* if rows > 1: >= width */
    size_t dst_slice, src_slice; /* if planes > 1: whole multiples of the
                                    pitch, at least rows of it */
};

/* Queues one copy on the stream, with one driver call whatever its shape. The
 * caller has entered the stream's context. 0 also for an empty one. -EINVAL:
 * the shape cannot be had in one call (see above; the driver also limits
 * pitches to 2 GiB), nothing was queued. With pageable host memory the call
 * may block until the copy is done. */
int mgds_copy_async(const struct mgds_copy *copy, void *stream);

/* The same of so many bytes in one piece, at least 2, in two rows, so that a
 * copy engine makes it however short it is (mem/uploads.h). */
int mgds_copy_rows_async(void *dst, const void *src, size_t bytes,
                         void *stream);

#endif
