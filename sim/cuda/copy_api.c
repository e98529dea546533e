/* Driver calls that copy. */
#include "sim/cuda/copy.h"

#include "sim/cuda/ctx.h"

/* Both ends are whatever they turn out to be, as for cuMemcpy. */
static struct mgds_copy_request line(CUdeviceptr dst, CUdeviceptr src,
                                     size_t bytes)
{
    return (struct mgds_copy_request){
        .copy = {.src = (uintptr_t)src,
                 .dst = (uintptr_t)dst,
                 .width = bytes,
                 .height = 1,
                 .depth = 1},
    };
}

static CUresult copy(CUstream stream, struct mgds_copy_request request)
{
    MGDS_API(call, MGDS_NEED_INIT, mgds_copy_submit(stream, &request));
}

/* Work of the legacy stream: a capture bars it only if it bars that. */
static CUresult copy_sync(struct mgds_copy_request request)
{
    request.sync = true;
    MGDS_API(call, MGDS_NEED_CTX, mgds_copy_submit(NULL, &request));
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    return copy_sync(line(dst, src, bytes));
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                       CUstream stream)
{
    return copy(stream, line(dst, src, bytes));
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
    struct mgds_copy_request request = line(dst, (uintptr_t)src, bytes);

    request.dst = MGDS_END_KNOWN;
    return copy_sync(request);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes,
                              CUstream stream)
{
    struct mgds_copy_request request = line(dst, (uintptr_t)src, bytes);

    request.dst = MGDS_END_KNOWN;
    return copy(stream, request);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
    struct mgds_copy_request request = line((uintptr_t)dst, src, bytes);

    request.src = MGDS_END_KNOWN;
    return copy_sync(request);
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes,
                              CUstream stream)
{
    struct mgds_copy_request request = line((uintptr_t)dst, src, bytes);

    request.src = MGDS_END_KNOWN;
    return copy(stream, request);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    struct mgds_copy_request request = line(dst, src, bytes);

    request.src = request.dst = MGDS_END_KNOWN;
    return copy_sync(request);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                              CUstream stream)
{
    struct mgds_copy_request request = line(dst, src, bytes);

    request.src = request.dst = MGDS_END_KNOWN;
    return copy(stream, request);
}

static CUresult check_contexts(CUcontext dst, CUcontext src)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc = mgds_ctx_check(dst, &ctx);

    return rc == CUDA_SUCCESS ? mgds_ctx_check(src, &ctx) : rc;
}

static CUresult copy_peer(CUstream stream, struct mgds_copy_request *request,
                          CUcontext dst, CUcontext src)
{
    CUresult rc = check_contexts(dst, src);

    request->src = request->dst = MGDS_END_KNOWN;
    return rc == CUDA_SUCCESS ? mgds_copy_submit(stream, request) : rc;
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                      CUcontext src_ctx, size_t bytes)
{
    struct mgds_copy_request request = line(dst, src, bytes);

    request.sync = true;
    MGDS_API(call, MGDS_NEED_CTX, copy_peer(NULL, &request, dst_ctx, src_ctx));
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src,
                           CUcontext src_ctx, size_t bytes, CUstream stream)
{
    struct mgds_copy_request request = line(dst, src, bytes);

    MGDS_API(call, MGDS_NEED_INIT,
             copy_peer(stream, &request, dst_ctx, src_ctx));
}

/* One end of a 2-D or 3-D copy, as both structs describe it. */
struct end {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z, pitch, height;
};

struct placed {
    uintptr_t addr;
    size_t pitch, slice;
    enum mgds_end end;
};

/* A pitch or height of 0 means that the rows, or planes, lie close. */
static CUresult place(struct end end, const struct mgds_op_copy *copy,
                      struct placed *out)
{
    uintptr_t base;

    if (end.type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (end.type < CU_MEMORYTYPE_HOST || end.type > CU_MEMORYTYPE_UNIFIED)
        return CUDA_ERROR_INVALID_VALUE;
    base = end.type == CU_MEMORYTYPE_HOST ? (uintptr_t)end.host
                                          : (uintptr_t)end.device;
    if (end.pitch == 0)
        end.pitch = end.x + copy->width;
    if (end.height == 0)
        end.height = end.y + copy->height;
    if (end.pitch < end.x + copy->width || end.height < end.y + copy->height)
        return CUDA_ERROR_INVALID_VALUE;
    out->pitch = end.pitch;
    out->slice = end.pitch * end.height;
    out->addr = base + end.z * out->slice + end.y * end.pitch + end.x;
    out->end = end.type == CU_MEMORYTYPE_DEVICE ? MGDS_END_KNOWN : MGDS_END_ANY;
    return CUDA_SUCCESS;
}

static CUresult assemble(struct end src, struct end dst,
                         struct mgds_copy_request *out)
{
    struct placed from, to;
    CUresult rc = place(src, &out->copy, &from);

    if (rc == CUDA_SUCCESS)
        rc = place(dst, &out->copy, &to);
    if (rc != CUDA_SUCCESS)
        return rc;
    out->copy.src = from.addr;
    out->copy.src_pitch = from.pitch;
    out->copy.src_slice = from.slice;
    out->src = from.end;
    out->copy.dst = to.addr;
    out->copy.dst_pitch = to.pitch;
    out->copy.dst_slice = to.slice;
    out->dst = to.end;
    return CUDA_SUCCESS;
}

CUresult mgds_copy_from_3d(const CUDA_MEMCPY3D *in,
                           struct mgds_copy_request *out)
{
    struct end src, dst;

    if (!in || in->srcLOD || in->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    src = (struct end){.type = in->srcMemoryType,
                       .host = in->srcHost,
                       .device = in->srcDevice,
                       .x = in->srcXInBytes,
                       .y = in->srcY,
                       .z = in->srcZ,
                       .pitch = in->srcPitch,
                       .height = in->srcHeight};
    dst = (struct end){.type = in->dstMemoryType,
                       .host = in->dstHost,
                       .device = in->dstDevice,
                       .x = in->dstXInBytes,
                       .y = in->dstY,
                       .z = in->dstZ,
                       .pitch = in->dstPitch,
                       .height = in->dstHeight};
    *out = (struct mgds_copy_request){.copy = {.width = in->WidthInBytes,
                                               .height = in->Height,
                                               .depth = in->Depth}};
    return assemble(src, dst, out);
}

/* A slice of a 3-D copy. */
CUresult mgds_copy_from_2d(const CUDA_MEMCPY2D *in,
                           struct mgds_copy_request *out)
{
    CUDA_MEMCPY3D slice;

    if (!in)
        return CUDA_ERROR_INVALID_VALUE;
    slice = (CUDA_MEMCPY3D){
        .srcXInBytes = in->srcXInBytes,
        .srcY = in->srcY,
        .srcMemoryType = in->srcMemoryType,
        .srcHost = in->srcHost,
        .srcDevice = in->srcDevice,
        .srcPitch = in->srcPitch,
        .dstXInBytes = in->dstXInBytes,
        .dstY = in->dstY,
        .dstMemoryType = in->dstMemoryType,
        .dstHost = in->dstHost,
        .dstDevice = in->dstDevice,
        .dstPitch = in->dstPitch,
        .WidthInBytes = in->WidthInBytes,
        .Height = in->Height,
        .Depth = 1,
    };
    return mgds_copy_from_3d(&slice, out);
}

static CUresult copy_2d(const CUDA_MEMCPY2D *in, CUstream stream, bool sync)
{
    struct mgds_copy_request request;
    CUresult rc = mgds_copy_from_2d(in, &request);

    if (rc != CUDA_SUCCESS)
        return rc;
    return sync ? copy_sync(request) : copy(stream, request);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *in)
{
    return copy_2d(in, NULL, true);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *in)
{
    return copy_2d(in, NULL, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *in, CUstream stream)
{
    return copy_2d(in, stream, false);
}

static CUresult copy_3d(const CUDA_MEMCPY3D *in, CUstream stream, bool sync)
{
    struct mgds_copy_request request;
    CUresult rc = mgds_copy_from_3d(in, &request);

    if (rc != CUDA_SUCCESS)
        return rc;
    return sync ? copy_sync(request) : copy(stream, request);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *in)
{
    return copy_3d(in, NULL, true);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *in, CUstream stream)
{
    return copy_3d(in, stream, false);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *in)
{
    return copy_3d(in, NULL, true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *in, CUstream stream)
{
    return copy_3d(in, stream, false);
}
