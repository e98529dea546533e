/* Entry and exit of every driver call: start, fork, the gate, the current
 * context and its sticky error, capture. */
#include "sim/cuda/state.h"

#include <unistd.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"

static CUresult check(struct mgds_call *call, unsigned needs)
{
    CUresult rc = CUDA_SUCCESS;

    if (needs & MGDS_NEED_CTX)
        rc = mgds_ctx_current(&call->ctx);
    if (rc == CUDA_SUCCESS && needs & MGDS_NEED_SAFE)
        rc = mgds_capture_bars_unsafe();
    return rc;
}

CUresult mgds_call_begin(struct mgds_call *call, unsigned needs)
{
    CUresult rc;

    *call = (struct mgds_call){NULL, false, false};
    if (mgds_gpu_thread.host_function)
        return CUDA_ERROR_NOT_PERMITTED;
    if (mgds_gpu.pid && mgds_gpu.pid != getpid())
        return CUDA_ERROR_NOT_INITIALIZED;
    pthread_mutex_lock(&mgds_gpu.lock);
    while (mgds_gpu.gate_shut)
        pthread_cond_wait(&mgds_gpu.gate_moved, &mgds_gpu.lock);
    rc = mgds_gpu.started ? mgds_gpu.start_result : CUDA_ERROR_NOT_INITIALIZED;
    if (rc == CUDA_SUCCESS)
        rc = check(call, needs);
    if (rc != CUDA_SUCCESS) {
        pthread_mutex_unlock(&mgds_gpu.lock);
        return rc;
    }
    call->locked = true;
    call->shut = needs & MGDS_NEED_DEVICE;
    mgds_gpu.gate_shut = call->shut;
    return CUDA_SUCCESS;
}

CUresult mgds_call_end(struct mgds_call *call, CUresult rc)
{
    if (!call->locked)
        return rc;
    if (call->shut) {
        mgds_gpu.gate_shut = false;
        pthread_cond_broadcast(&mgds_gpu.gate_moved);
    }
    pthread_mutex_unlock(&mgds_gpu.lock);
    return rc;
}
