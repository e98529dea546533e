/* cuMemAlloc and its kin, and what a device says about its memory. */
#include <errno.h>
#include <sys/mman.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/mem.h"

#define PITCH_ALIGN 512

static CUresult alloc(struct mgds_gpu_ctx *ctx, CUdeviceptr *ptr, size_t bytes)
{
    struct mgds_gpu_block *block;
    CUresult rc;

    if (!ptr || bytes == 0)
        return CUDA_ERROR_INVALID_VALUE;
    rc = mgds_mem_alloc(ctx, MGDS_BLOCK_DEVICE, bytes, &block);
    if (rc == CUDA_SUCCESS)
        *ptr = block->addr;
    return rc;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t bytes)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE, alloc(call.ctx, ptr, bytes));
}

static CUresult alloc_pitch(struct mgds_gpu_ctx *ctx, CUdeviceptr *ptr,
                            size_t *pitch, size_t width, size_t height)
{
    size_t row = (width + PITCH_ALIGN - 1) & ~(size_t)(PITCH_ALIGN - 1);
    size_t bytes;
    CUresult rc;

    if (!pitch || row < width || __builtin_mul_overflow(row, height, &bytes))
        return CUDA_ERROR_INVALID_VALUE;
    rc = alloc(ctx, ptr, bytes);
    if (rc == CUDA_SUCCESS)
        *pitch = row;
    return rc;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ptr, size_t *pitch, size_t width,
                            size_t height, unsigned element)
{
    if (element != 4 && element != 8 && element != 16)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             alloc_pitch(call.ctx, ptr, pitch, width, height));
}

static bool is_freeable(const struct mgds_gpu_block *block)
{
    return block && (block->kind == MGDS_BLOCK_DEVICE ||
                     block->kind == MGDS_BLOCK_POOL ||
                     block->kind == MGDS_BLOCK_MANAGED);
}

/* Freeing NULL is nothing; memory that is being freed in stream order is not
 * the program's any more. */
static CUresult release(CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = mgds_mem_base((uintptr_t)ptr);

    if (!ptr)
        return CUDA_SUCCESS;
    if (!is_freeable(block))
        return CUDA_ERROR_INVALID_VALUE;
    return mgds_mem_release(block);
}

CUresult cuMemFree_v2(CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE, release(ptr));
}

static CUresult address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);

    if (!block)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = block->addr;
    if (bytes)
        *bytes = block->size;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes,
                                 CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_CTX, address_range(base, bytes, ptr));
}

static CUresult get_info(struct mgds_gpu_ctx *ctx, size_t *room, size_t *total)
{
    if (!room || !total)
        return CUDA_ERROR_INVALID_VALUE;
    *total = mgds_gpu.cfg.memory << 20;
    *room = *total - ctx->device->used;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *room, size_t *total)
{
    MGDS_API(call, MGDS_NEED_CTX, get_info(call.ctx, room, total));
}

/* Not in the window: the CPU may touch it, at the same address. */
static CUresult alloc_managed(struct mgds_gpu_ctx *ctx, CUdeviceptr *ptr,
                              size_t bytes, unsigned flags)
{
    size_t size = (bytes + MGDS_PAGE - 1) & ~(MGDS_PAGE - 1);
    struct mgds_gpu_block *block;
    void *at;

    if (!ptr || bytes == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    if (size > (mgds_gpu.cfg.memory << 20) - ctx->device->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
              -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    block = mgds_block_add(MGDS_BLOCK_MANAGED, (uintptr_t)at, bytes, ctx);
    block->flags = flags;
    ctx->device->used += size;
    *ptr = block->addr;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t bytes, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             alloc_managed(call.ctx, ptr, bytes, flags));
}

/* The memfd itself: it covers whole blocks, so the range must be one, or its
 * beginning. As a dma-buf it keeps its memory when the block is freed. */
static CUresult range_handle(void *handle, CUdeviceptr ptr, size_t bytes,
                             CUmemRangeHandleType type)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);
    int fd;

    if (!handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !block ||
        bytes == 0 || ptr != block->addr || bytes % MGDS_PAGE ||
        bytes > ((block->size + MGDS_PAGE - 1) & ~(MGDS_PAGE - 1)))
        return CUDA_ERROR_INVALID_VALUE;
    fd = mgds_mem_share(block);
    if (fd < 0)
        return fd == -EBADF ? CUDA_ERROR_INVALID_VALUE
                            : CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)handle = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr,
                                       size_t bytes, CUmemRangeHandleType type,
                                       unsigned long long flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_CTX, range_handle(handle, ptr, bytes, type));
}
