/* Contexts: one primary per device, kept for good and switched on and off, and
 * those that programs create. The struct outlives the handle, because threads
 * may still have it current. Everything here is called locked. */
#ifndef MGDS_SIM_CTX_H
#define MGDS_SIM_CTX_H

#include "sim/cuda/state.h"

/* Written by the context's own calls (ctx.c), locked. */
struct mgds_gpu_ctx {
    uint64_t id; /* a new one each time a primary context is opened */
    struct mgds_gpu_device *device;
    unsigned flags;
    unsigned refs;       /* primary: retains; else 1 while alive */
    bool alive, primary; /* alive: between open and close */
    unsigned peers;      /* bit i: it may reach the memory of device i */
    struct mgds_gpu_stream *legacy; /* stream 0; NULL unless alive */
};

/* The current context of the calling thread: INVALID_CONTEXT without one,
 * CONTEXT_IS_DESTROYED, or what the process was lost to. */
CUresult mgds_ctx_current(struct mgds_gpu_ctx **out);

/* A context by handle: INVALID_CONTEXT if it is none or not alive. */
CUresult mgds_ctx_check(CUcontext handle, struct mgds_gpu_ctx **out);

/* Waits for all work of the context; mgds_gpu_lost() afterwards. */
CUresult mgds_ctx_wait(struct mgds_gpu_ctx *ctx);

/* What a program calls the context. */
static inline CUcontext mgds_ctx_handle(struct mgds_gpu_ctx *ctx)
{
    return (CUcontext)(void *)ctx;
}

#endif
