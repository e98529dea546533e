/* Kernels of our own: loaded from the image of the device folder, launched with
 * one struct as their only parameter. */
#ifndef MGDS_CUDA_KERNEL_H
#define MGDS_CUDA_KERNEL_H

#include <stddef.h>

#include "shim/gds/cuda/context.h"

struct mgds_kernel_handle;

/* Loads the image in the context and finds a kernel of it. Takes a reference
 * to ctx. May compile, so not where a wait stands. -ENOMEM, -ENOTSUP (no image
 * for this GPU, or the driver cannot load any), -ENOENT (no such kernel),
 * -ESHUTDOWN. */
int mgds_kernel_load(struct mgds_kernel_handle **out, struct mgds_context *ctx,
                     const void *image, const char *name);

/* Never blocks: the code goes at the next safe point (defer.h), or went with
 * its context. Nobody may launch it any more. */
void mgds_kernel_unload(struct mgds_kernel_handle *kernel);

/* Queues one launch: a programmatic dependent one where the GPU can (compute
 * capability 9.0 and up), so that its start overlaps the end of a kernel of
 * ours ahead of it. The caller has entered the stream's context. args is read
 * before this returns. */
int mgds_kernel_launch(struct mgds_kernel_handle *kernel, void *stream,
                       unsigned blocks, unsigned threads, const void *args);

/* How many multiprocessors the context's device has; 0: it does not say. */
unsigned mgds_kernel_processors(const struct mgds_context *ctx);

#endif
