/* Driver calls about streams and host functions. */
#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/stream.h"

#define GREATEST_PRIORITY (-5)

static CUresult create(struct mgds_gpu_ctx *ctx, CUstream *out, unsigned flags,
                       int priority)
{
    struct mgds_gpu_stream *stream;

    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    if (priority > 0)
        priority = 0;
    if (priority < GREATEST_PRIORITY)
        priority = GREATEST_PRIORITY;
    stream = mgds_stream_new(ctx, flags, priority);
    mgds_handle_add(MGDS_HANDLE_STREAM, stream);
    *out = (CUstream)(void *)stream;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags,
                                    int priority)
{
    MGDS_API(call, MGDS_NEED_CTX, create(call.ctx, stream, flags, priority));
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    return cuStreamCreateWithPriority(stream, flags, 0);
}

/* What is on it still runs; the default streams cannot be destroyed. */
static CUresult destroy(CUstream handle)
{
    struct mgds_gpu_stream *stream = (struct mgds_gpu_stream *)(void *)handle;
    CUresult rc;

    if (!mgds_handle_is(MGDS_HANDLE_STREAM, stream))
        return CUDA_ERROR_INVALID_HANDLE;
    rc = mgds_gpu_lost();
    if (stream->capture)
        mgds_capture_abandon(stream);
    mgds_handle_drop(stream);
    stream->dropped = true;
    mgds_stream_put(stream);
    return rc;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy(stream));
}

static CUresult query(CUstream handle)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_sync(stream);
    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    return mgds_stream_is_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamQuery(CUstream stream)
{
    MGDS_API(call, MGDS_NEED_LITTLE, query(stream));
}

static CUresult synchronize(CUstream handle)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_sync(stream);
    if (rc == CUDA_SUCCESS)
        rc = mgds_capture_bars_unsafe();
    return rc == CUDA_SUCCESS ? mgds_stream_finish(stream) : rc;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    MGDS_API(call, MGDS_NEED_LITTLE, synchronize(stream));
}

static CUresult get_flags(CUstream handle, unsigned *flags)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *flags = stream->flags;
    return rc;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
    MGDS_API(call, MGDS_NEED_INIT, get_flags(stream, flags));
}

static CUresult get_priority(CUstream handle, int *priority)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *priority = stream->priority;
    return rc;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
    MGDS_API(call, MGDS_NEED_INIT, get_priority(stream, priority));
}

static CUresult get_ctx(CUstream handle, CUcontext *ctx)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (!ctx)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *ctx = mgds_ctx_handle(stream->ctx);
    return rc;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, get_ctx(stream, ctx));
}

/* No green contexts here. */
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *ctx, CUgreenCtx *green)
{
    CUresult rc = cuStreamGetCtx(stream, ctx);

    if (!green)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *green = NULL;
    return rc;
}

static CUresult get_id(CUstream handle, unsigned long long *id)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *id = stream->id;
    return rc;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
    MGDS_API(call, MGDS_NEED_INIT, get_id(stream, id));
}

static CUresult get_device(CUstream handle, CUdevice *device)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *device = stream->ctx->device->ordinal;
    return rc;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
    MGDS_API(call, MGDS_NEED_INIT, get_device(stream, device));
}

static CUresult launch_host(CUstream handle, struct mgds_op_host host)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_op *op;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!host.fn && !host.callback)
        return CUDA_ERROR_INVALID_VALUE;
    if (host.callback && stream->capture)
        return mgds_capture_bars_sync(stream);
    op = mgds_op_new(MGDS_OP_HOST, stream->ctx, NULL, 0);
    op->u.host = host;
    return mgds_stream_submit(stream, op);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
    struct mgds_op_host host = {fn, NULL, arg, stream};

    MGDS_API(call, MGDS_NEED_INIT, launch_host(stream, host));
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback,
                             void *arg, unsigned flags)
{
    struct mgds_op_host host = {NULL, callback, arg, stream};

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, launch_host(stream, host));
}
