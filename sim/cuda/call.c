/* Entry and exit of every driver call: start, fork, the gate, the current
 * context and its sticky error, capture. */
#include "sim/cuda/state.h"

#include <stdatomic.h>
#include <unistd.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/hooks.h"

static _Atomic uint64_t calls;
static _Thread_local uint64_t own_calls;

uint64_t mgds_sim_calls(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

uint64_t mgds_sim_own_calls(void)
{
    return own_calls;
}

/* The current context comes first: without one, or in a lost process, a call
 * says so whatever else is wrong with it. */
static CUresult check(struct mgds_call *call, unsigned needs)
{
    CUresult rc = CUDA_SUCCESS;

    if (needs & MGDS_NEED_CTX)
        rc = mgds_ctx_current(&call->ctx);
    if (rc == CUDA_SUCCESS && needs & MGDS_NEED_SAFE)
        rc = mgds_capture_bars_unsafe();
    return rc;
}

/* Whatever the call is about: with a context current, it takes that context's
 * lock in the driver. One that names a stream of another device also waits for
 * that device's gate (mgds_stream_find). */
static void pass_gate(void)
{
    const struct mgds_gpu_thread *self = &mgds_gpu_thread;

    if (self->depth)
        mgds_gpu_gate_pass(self->stack[self->depth - 1]->device);
}

CUresult mgds_call_begin(struct mgds_call *call, unsigned needs)
{
    CUresult rc;

    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    own_calls++;
    *call = (struct mgds_call){NULL, false};
    if (mgds_gpu_thread.host_function && !(needs & MGDS_NEED_LITTLE))
        return CUDA_ERROR_NOT_PERMITTED;
    /* without the lock: the child of a fork may have inherited it held */
    if (mgds_gpu.pid && mgds_gpu.pid != getpid())
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&mgds_gpu.lock);
    pass_gate();
    rc = mgds_gpu.started ? mgds_gpu.start_result : CUDA_ERROR_NOT_INITIALIZED;
    if (rc == CUDA_SUCCESS)
        rc = check(call, needs);
    if (rc != CUDA_SUCCESS) {
        pthread_mutex_unlock(&mgds_gpu.lock);
        return rc;
    }
    call->locked = true;
    return CUDA_SUCCESS;
}

CUresult mgds_call_end(struct mgds_call *call, CUresult rc)
{
    if (call->locked)
        pthread_mutex_unlock(&mgds_gpu.lock);
    return rc;
}
