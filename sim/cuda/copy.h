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

/* A copy that a call asks for; the caller's. */
struct mgds_copy_request {
    struct mgds_op_copy copy;
    enum mgds_end src, dst;
    bool sync; /* the call without Async */
};

/* INVALID_VALUE for ranges that are not memory; notes in copy.link whether the
 * copy leaves the GPU. An empty copy is good wherever it points. */
CUresult mgds_copy_check(struct mgds_copy_request *request);

/* Checks and submits it as the driver does: reads pageable memory in the call,
 * which may kill the process, stages small sources of it, and waits where the
 * call or the memory demands it (for both the lock is let go; after a wait the
 * process's error is returned). */
CUresult mgds_copy_submit(CUstream stream, struct mgds_copy_request *request);

/* The request of a 2-D or 3-D copy; NOT_SUPPORTED for arrays. */
CUresult mgds_copy_from_2d(const CUDA_MEMCPY2D *in,
                           struct mgds_copy_request *out);
CUresult mgds_copy_from_3d(const CUDA_MEMCPY3D *in,
                           struct mgds_copy_request *out);

/* INVALID_VALUE for a set that is not aligned or not within known memory. */
CUresult mgds_set_check(const struct mgds_op_set *set);

#endif
