/* Whether kernels of a context may touch a buffer: one that touches what is not
 * mapped there breaks the program's context for good. */
#ifndef MGDS_QUEUE_REACH_H
#define MGDS_QUEUE_REACH_H

#include "shim/gds/cuda/context.h"

struct mgds_bounce;

/* All bytes of a bounce's buffer: 0; -EFAULT: some are no GPU memory; -EXDEV:
 * some are of another GPU or context (one line). */
int mgds_reach_check(const struct mgds_bounce *bounce,
                     const struct mgds_context *ctx);

#endif
