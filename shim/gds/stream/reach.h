/* Whether kernels of a context may touch a buffer: one that touches what is not
 * mapped there breaks the program's context for good. */
#ifndef MGDS_STREAM_REACH_H
#define MGDS_STREAM_REACH_H

#include "shim/gds/stream/gpu.h"

struct mgds_bounce;

/* This allocation: 0; -EFAULT: it is no GPU memory; -EXDEV: it is of another
 * context, and no peer. */
int mgds_reach_ptr(const struct mgds_ptr *ptr, const struct mgds_gpu *gpu);

/* The same of all bytes of a bounce's buffer. */
int mgds_reach_check(const struct mgds_bounce *bounce,
                     const struct mgds_gpu *gpu);

#endif
