/* Stream-ordered memory and its pools. */
#include <stdlib.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/stream.h"

#define CHUNK ((uint64_t)2 << 20) /* pools grow by whole chunks */

static struct mgds_gpu_pool *pool_new(struct mgds_gpu_device *device)
{
    struct mgds_gpu_pool *pool = mgds_gpu_calloc(1, sizeof(*pool));

    pool->device = device;
    for (int i = 1; i < 4; i++)
        pool->reuse[i] = 1;
    mgds_handle_add(MGDS_HANDLE_POOL, pool);
    return pool;
}

static struct mgds_gpu_pool *default_pool(struct mgds_gpu_device *device)
{
    if (!device->default_pool) {
        device->default_pool = pool_new(device);
        device->default_pool->is_default = true;
        device->pool = device->default_pool;
    }
    return device->default_pool;
}

static struct mgds_gpu_pool *current_pool(struct mgds_gpu_device *device)
{
    default_pool(device);
    return device->pool;
}

static CUresult find(CUmemoryPool handle, struct mgds_gpu_pool **out)
{
    if (!mgds_handle_is(MGDS_HANDLE_POOL, handle))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (struct mgds_gpu_pool *)(void *)handle;
    return CUDA_SUCCESS;
}

/* An allocation's account; mgds_pool_forget is the other side. */
static void remember(struct mgds_gpu_pool *pool, uint64_t size)
{
    pool->blocks++;
    pool->used += size;
    if (pool->used > pool->used_high)
        pool->used_high = pool->used;
    if (pool->used > pool->reserved)
        pool->reserved = (pool->used + CHUNK - 1) / CHUNK * CHUNK;
    if (pool->reserved > pool->reserved_high)
        pool->reserved_high = pool->reserved;
}

/* Never below what is in use. */
static void trim(struct mgds_gpu_pool *pool, uint64_t keep)
{
    uint64_t least = (pool->used + CHUNK - 1) / CHUNK * CHUNK;
    uint64_t target = keep > least ? keep : least;

    if (pool->reserved > target)
        pool->reserved = target;
}

void mgds_pool_forget(struct mgds_gpu_pool *pool, size_t size)
{
    pool->blocks--;
    pool->used -= size;
    trim(pool, pool->threshold);
    if (pool->dropped && pool->blocks == 0)
        free(pool);
}

/* Memory that this stream frees before anything put on it from now on can run
 * may be used again at once: the free is taken back. */
static struct mgds_gpu_block *reuse(const struct mgds_gpu_pool *pool,
                                    const struct mgds_gpu_stream *stream,
                                    size_t bytes)
{
    for (size_t i = 0; i < mgds_gpu.blocks.count; i++) {
        struct mgds_gpu_block *block = mgds_gpu.blocks.rows[i].value;

        if (block->pool != pool || !block->freeing ||
            block->freed_in != stream || block->size != bytes)
            continue;
        block->freeing->u.block = NULL;
        block->freeing = NULL;
        block->id = mgds_gpu_next_id();
        return block;
    }
    return NULL;
}

static CUresult alloc_async(CUdeviceptr *ptr, size_t bytes,
                            struct mgds_gpu_pool *pool, CUstream handle)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_block *block;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!ptr)
        return CUDA_ERROR_INVALID_VALUE;
    if (bytes == 0) { /* unlike cuMemAlloc */
        *ptr = 0;
        return CUDA_SUCCESS;
    }
    if (stream->capture) /* no allocation nodes here */
        return mgds_capture_bars_sync(stream);
    rc = mgds_capture_bars_unsafe();
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!pool)
        pool = current_pool(stream->ctx->device);
    block = reuse(pool, stream, bytes);
    if (block) {
        *ptr = block->addr;
        return CUDA_SUCCESS;
    }
    rc = mgds_mem_alloc(stream->ctx, MGDS_BLOCK_POOL, bytes, &block);
    if (rc != CUDA_SUCCESS)
        return rc;
    block->pool = pool;
    remember(pool, (bytes + MGDS_PAGE - 1) & ~(MGDS_PAGE - 1));
    *ptr = block->addr;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t bytes, CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, alloc_async(ptr, bytes, NULL, stream));
}

static CUresult alloc_from(CUdeviceptr *ptr, size_t bytes, CUmemoryPool handle,
                           CUstream stream)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    return rc == CUDA_SUCCESS ? alloc_async(ptr, bytes, pool, stream) : rc;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ptr, size_t bytes,
                                 CUmemoryPool pool, CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, alloc_from(ptr, bytes, pool, stream));
}

/* In stream order, and of plain allocations too. From the call on it is not
 * the program's: freeing it twice is an error before it is gone. */
static CUresult free_async(CUdeviceptr ptr, CUstream handle)
{
    struct mgds_gpu_block *block = mgds_mem_base((uintptr_t)ptr);
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_op *op;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc != CUDA_SUCCESS || !ptr)
        return rc;
    if (!block ||
        (block->kind != MGDS_BLOCK_POOL && block->kind != MGDS_BLOCK_DEVICE))
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return mgds_capture_bars_sync(stream);
    op = mgds_op_new(MGDS_OP_FREE, stream->ctx, NULL, 0);
    op->u.block = block;
    block->freeing = op;
    block->freed_in = stream;
    return mgds_stream_submit(stream, op);
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
    MGDS_API(call, MGDS_NEED_INIT, free_async(ptr, stream));
}

static CUresult device_pool(CUmemoryPool *out, CUdevice ordinal, bool standard)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);
    struct mgds_gpu_pool *pool;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    pool = standard ? default_pool(device) : current_pool(device);
    *out = (CUmemoryPool)(void *)pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, device_pool(pool, device, true));
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, device_pool(pool, device, false));
}

static CUresult set_device_pool(CUdevice ordinal, CUmemoryPool handle)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (rc != CUDA_SUCCESS)
        return rc;
    if (pool->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    default_pool(device);
    device->pool = pool;
    return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
    MGDS_API(call, MGDS_NEED_INIT, set_device_pool(device, pool));
}

static CUresult create(CUmemoryPool *out, const CUmemPoolProps *props)
{
    struct mgds_gpu_device *device;

    if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        props->handleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    device = mgds_gpu_device(props->location.id);
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUmemoryPool)(void *)pool_new(device);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    MGDS_API(call, MGDS_NEED_INIT, create(pool, props));
}

/* Its blocks stay until they are freed. */
static CUresult destroy(CUmemoryPool handle)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (pool->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    if (pool->device->pool == pool)
        pool->device->pool = pool->device->default_pool;
    mgds_handle_drop(pool);
    pool->dropped = true;
    if (pool->blocks == 0)
        free(pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy(pool));
}

static CUresult trim_to(CUmemoryPool handle, size_t keep)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    if (rc == CUDA_SUCCESS)
        trim(pool, keep);
    return rc;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep)
{
    MGDS_API(call, MGDS_NEED_INIT, trim_to(pool, keep));
}

/* The 64-bit attributes; NULL for the others. */
static uint64_t *counter_of(struct mgds_gpu_pool *pool, unsigned attribute)
{
    switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &pool->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &pool->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &pool->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high;
    default:
        return NULL;
    }
}

static CUresult get_attribute(CUmemoryPool handle, unsigned attribute,
                              void *value)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);
    uint64_t *counter;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    counter = counter_of(pool, attribute);
    if (counter)
        *(cuuint64_t *)value = *counter;
    else if (attribute >= 1 && attribute <= 3)
        *(int *)value = pool->reuse[attribute];
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                               void *value)
{
    MGDS_API(call, MGDS_NEED_INIT, get_attribute(pool, attribute, value));
}

/* High marks can only be set back to now. */
static CUresult set_high(struct mgds_gpu_pool *pool, unsigned attribute,
                         uint64_t value)
{
    if (value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
        pool->used_high = pool->used;
    else if (attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)
        pool->reserved_high = pool->reserved;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult set_attribute(CUmemoryPool handle, unsigned attribute,
                              const void *value)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (attribute >= 1 && attribute <= 3) {
        pool->reuse[attribute] = *(const int *)value;
        return CUDA_SUCCESS;
    }
    if (attribute != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        return set_high(pool, attribute, *(const cuuint64_t *)value);
    pool->threshold = *(const cuuint64_t *)value;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
                               void *value)
{
    MGDS_API(call, MGDS_NEED_INIT, set_attribute(pool, attribute, value));
}

static CUresult get_access(CUmemAccess_flags *flags, CUmemoryPool handle,
                           const CUmemLocation *location)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!flags || !location || !mgds_gpu_device(location->id) ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == pool->device->ordinal ||
                     pool->peers & 1u << location->id
                 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool,
                            CUmemLocation *location)
{
    MGDS_API(call, MGDS_NEED_INIT, get_access(flags, pool, location));
}

static CUresult set_one_access(struct mgds_gpu_pool *pool,
                               const CUmemAccessDesc *desc)
{
    unsigned bit;

    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    if (!mgds_gpu_device(desc->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    bit = 1u << desc->location.id;
    if (desc->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        pool->peers |= bit;
    else if (desc->location.id == pool->device->ordinal)
        return CUDA_ERROR_INVALID_VALUE; /* its own device always may */
    else
        pool->peers &= ~bit;
    return CUDA_SUCCESS;
}

static CUresult set_access(CUmemoryPool handle, const CUmemAccessDesc *map,
                           size_t count)
{
    struct mgds_gpu_pool *pool;
    CUresult rc = find(handle, &pool);

    if (rc == CUDA_SUCCESS && count && !map)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++)
        rc = set_one_access(pool, &map[i]);
    return rc;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map,
                            size_t count)
{
    MGDS_API(call, MGDS_NEED_INIT, set_access(pool, map, count));
}
