/* Driver calls that set memory. */
#include "sim/cuda/capture.h"
#include "sim/cuda/copy.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/stream.h"

/* The plain calls are work of the legacy stream (a capture bars them only if it
 * bars that) and wait only for host memory. */
static CUresult submit(CUstream handle, const struct mgds_op_set *set,
                       bool sync)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_block *block;
    struct mgds_gpu_op *op;
    CUresult rc = mgds_stream_find(handle, &stream);
    bool wait;

    if (rc == CUDA_SUCCESS)
        rc = mgds_set_check(set);
    if (rc != CUDA_SUCCESS || set->width == 0 || set->height == 0)
        return rc;
    block = mgds_mem_find(set->dst);
    if (sync && stream->capture)
        return mgds_capture_bars_sync(stream);
    wait = sync && !stream->capture &&
           (mgds_block_is_host(block) || block->sync_memops);
    op = mgds_op_new(MGDS_OP_SET, stream->ctx, NULL, 0);
    op->u.set = *set;
    rc = mgds_stream_submit(stream, op);
    if (sync)
        stream->unwaited = stream->last;
    return rc == CUDA_SUCCESS && wait ? mgds_stream_finish(stream) : rc;
}

static CUresult set_async(CUstream stream, struct mgds_op_set set)
{
    MGDS_API(call, MGDS_NEED_INIT, submit(stream, &set, false));
}

static CUresult set_sync(struct mgds_op_set set)
{
    MGDS_API(call, MGDS_NEED_CTX, submit(NULL, &set, true));
}

/* One row. */
static struct mgds_op_set line(CUdeviceptr dst, unsigned value,
                               unsigned element, size_t count)
{
    return (struct mgds_op_set){(uintptr_t)dst, count * element, count, 1,
                                value,          element};
}

CUresult cuMemsetD8_v2(CUdeviceptr dst, unsigned char value, size_t count)
{
    return set_sync(line(dst, value, 1, count));
}

CUresult cuMemsetD16_v2(CUdeviceptr dst, unsigned short value, size_t count)
{
    return set_sync(line(dst, value, 2, count));
}

CUresult cuMemsetD32_v2(CUdeviceptr dst, unsigned value, size_t count)
{
    return set_sync(line(dst, value, 4, count));
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t count,
                         CUstream stream)
{
    return set_async(stream, line(dst, value, 1, count));
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t count,
                          CUstream stream)
{
    return set_async(stream, line(dst, value, 2, count));
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t count,
                          CUstream stream)
{
    return set_async(stream, line(dst, value, 4, count));
}

CUresult cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char value,
                         size_t width, size_t height)
{
    return set_sync(
        (struct mgds_op_set){(uintptr_t)dst, pitch, width, height, value, 1});
}

CUresult cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short value,
                          size_t width, size_t height)
{
    return set_sync(
        (struct mgds_op_set){(uintptr_t)dst, pitch, width, height, value, 2});
}

CUresult cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned value,
                          size_t width, size_t height)
{
    return set_sync(
        (struct mgds_op_set){(uintptr_t)dst, pitch, width, height, value, 4});
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value,
                           size_t width, size_t height, CUstream stream)
{
    return set_async(stream, (struct mgds_op_set){(uintptr_t)dst, pitch, width,
                                                  height, value, 1});
}

CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value,
                            size_t width, size_t height, CUstream stream)
{
    return set_async(stream, (struct mgds_op_set){(uintptr_t)dst, pitch, width,
                                                  height, value, 2});
}

CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value,
                            size_t width, size_t height, CUstream stream)
{
    return set_async(stream, (struct mgds_op_set){(uintptr_t)dst, pitch, width,
                                                  height, value, 4});
}
