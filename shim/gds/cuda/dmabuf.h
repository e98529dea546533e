/* Memory of a GPU as a dma-buf, by which other devices of the machine get it.
 */
#ifndef MGDS_CUDA_DMABUF_H
#define MGDS_CUDA_DMABUF_H

#include <stddef.h>

#include "shim/gds/cuda/context.h"

/* A descriptor, the caller's to close, of an allocation: from its base on, so
 * offsets in the one are offsets in the other. -ENOTSUP: the driver, or its
 * kernel module, gives none of this memory; or what else it says. */
int mgds_dmabuf_export(int *fd, const struct mgds_context *ctx,
                       const void *base, size_t bytes);

#endif
