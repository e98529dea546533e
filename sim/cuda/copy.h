/* Copies and sets: requests checked against what the driver knows, then
 * submitted. Called locked. */
#ifndef MGDS_SIM_COPY_H
#define MGDS_SIM_COPY_H

#include "sim/cuda/op.h"

/* What the call's name says about an end. */
enum mgds_end {
    MGDS_END_ANY,   /* cuMemcpy: found out */
    MGDS_END_KNOWN, /* must be memory the driver knows */
};

struct mgds_copy_request {
    struct mgds_op_copy copy;
    enum mgds_end src, dst;
    bool sync; /* the call without Async */
};

/* Refuses ranges that are not memory; notes whether the copy leaves the GPU. */
CUresult mgds_copy_check(struct mgds_copy_request *request);

/* As the driver does it: stages small pageable sources, waits where the call
 * or pageable memory demands it. */
CUresult mgds_copy_submit(CUstream stream, struct mgds_copy_request *request);

/* The request of a 2-D or 3-D copy; NOT_SUPPORTED for arrays. */
CUresult mgds_copy_from_2d(const CUDA_MEMCPY2D *in,
                           struct mgds_copy_request *out);
CUresult mgds_copy_from_3d(const CUDA_MEMCPY3D *in,
                           struct mgds_copy_request *out);

CUresult mgds_set_check(const struct mgds_op_set *set);

#endif
