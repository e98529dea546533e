/* Stream memory operations: waits on and writes of single words. */
#ifndef MGDS_SIM_MEMOP_H
#define MGDS_SIM_MEMOP_H

#include "sim/cuda/op.h"

/* INVALID_VALUE or NOT_SUPPORTED if the driver would say so: too many, flags or
 * an operation it has not, a word that is misaligned, unknown or out of the
 * context's reach. None at all is fine. Locked. */
CUresult mgds_memop_check(const struct mgds_gpu_ctx *ctx,
                          const CUstreamBatchMemOpParams *ops, unsigned count,
                          unsigned flags);

/* The operation for a checked list. Locked. */
struct mgds_gpu_op *mgds_memop_op(struct mgds_gpu_ctx *ctx,
                                  const CUstreamBatchMemOpParams *ops,
                                  unsigned count);

#endif
