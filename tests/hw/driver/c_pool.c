/* Stream-ordered allocation and memory pools (Driver API, "Stream Ordered
 * Memory Allocator"). */
#include "case.h"

static void async_memory_is_used_in_its_stream(void)
{
    CUstream s = mgds_free_stream();
    uint32_t *host = mgds_pinned(4);
    CUdeviceptr at;

    OK(cu.MemAllocAsync(&at, 1 << 20, s));
    EXPECT_EQ(0, at % 256);
    OK(cu.MemsetD32Async(at, 5, 1 << 18, s));
    OK(cu.MemcpyDtoHAsync(host, at + (1 << 20) - 4, 4, s));
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(5, *host);
}

/* The free takes effect in stream order: work queued before it still uses
 * the memory, however late it runs, and nobody else gets it meanwhile. */
static void async_free_waits_for_the_work_before_it(void)
{
    CUstream s = mgds_free_stream(), other = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t *host = mgds_pinned(4);
    CUdeviceptr at, next;

    OK(cu.MemAllocAsync(&at, 4096, s));
    OK(cu.MemsetD32Async(at, 5, 1024, s));
    OK(cu.StreamSynchronize(s));
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemcpyDtoHAsync(host, at, 4, s));
    OK(cu.MemFreeAsync(at, s));
    OK(cu.MemAllocAsync(&next, 4096, other));
    EXPECT(next != at);
    OK(cu.MemsetD32Async(next, 6, 1024, other));
    OK(cu.StreamSynchronize(other));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(5, *host);
    OK(cu.MemFreeAsync(next, other));
    OK(cu.StreamSynchronize(other));
}

static void async_memory_crosses_streams_by_events(void)
{
    CUstream a = mgds_free_stream(), b = mgds_free_stream();
    CUevent ready = mgds_event(CU_EVENT_DISABLE_TIMING);
    CUevent used = mgds_event(CU_EVENT_DISABLE_TIMING);
    uint32_t *host = mgds_pinned(4);
    CUdeviceptr at;

    OK(cu.MemAllocAsync(&at, 4096, a));
    OK(cu.MemsetD32Async(at, 9, 1024, a));
    OK(cu.EventRecord(ready, a));
    OK(cu.StreamWaitEvent(b, ready, 0));
    OK(cu.MemcpyDtoHAsync(host, at, 4, b));
    OK(cu.EventRecord(used, b));
    OK(cu.StreamWaitEvent(a, used, 0));
    OK(cu.MemFreeAsync(at, a));
    OK(cu.StreamSynchronize(a));
    EXPECT_EQ(9, *host);
}

static void plain_free_takes_async_memory(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at;

    OK(cu.MemAllocAsync(&at, 4096, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_SUCCESS, cu.MemFree(at));
}

/* Programming Guide: cudaFreeAsync may free memory of cudaMalloc. */
static void async_free_takes_plain_memory(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at;

    OK(cu.MemAlloc(&at, 4096));
    EXPECT_CU(CUDA_SUCCESS, cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
}

static void async_memory_freed_twice_is_an_invalid_value(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at;

    OK(cu.MemAllocAsync(&at, 4096, s));
    OK(cu.MemFreeAsync(at, s));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
}

static void async_misuse_is_an_invalid_value(void)
{
    CUstream s = mgds_free_stream();
    static uint64_t plain;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemAllocAsync(NULL, 16, s));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemFreeAsync(mgds_address(&plain), s));
}

/* H200, driver 580. */
static void freeing_null_async_is_nothing(void)
{
    CUstream s = mgds_free_stream();

    EXPECT_CU(CUDA_SUCCESS, cu.MemFreeAsync(0, s));
    OK(cu.StreamSynchronize(s));
}

/* H200, driver 580; cuMemAlloc refuses it. */
static void empty_async_allocation_succeeds(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at = 0;

    EXPECT_CU(CUDA_SUCCESS, cu.MemAllocAsync(&at, 0, s));
    mgds_case_note("cuMemAllocAsync of 0 bytes gives an address: %d", at != 0);
    mgds_case_note("freeing that gives %d", (int)cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
}

static void async_allocation_beyond_the_device_is_out_of_memory(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at;
    size_t free_bytes, all;

    OK(cu.MemGetInfo(&free_bytes, &all));
    EXPECT_CU(CUDA_ERROR_OUT_OF_MEMORY, cu.MemAllocAsync(&at, 2 * all, s));
    OK(cu.MemAllocAsync(&at, 4096, s));
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
}

static void default_pool_is_the_current_one(void)
{
    CUmemoryPool base = NULL, now = NULL;

    OK(cu.DeviceGetDefaultMemPool(&base, mgds_env_device(0)));
    OK(cu.DeviceGetMemPool(&now, mgds_env_device(0)));
    EXPECT(base != NULL && base == now);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemPoolDestroy(base));
}

static CUmemoryPool pool_of_device(int index)
{
    CUmemPoolProps props = {0};
    CUmemoryPool pool;

    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    props.location.id = mgds_env_device(index);
    OK(cu.MemPoolCreate(&pool, &props));
    return pool;
}

static void own_pool_is_set_and_used(void)
{
    CUmemoryPool pool = pool_of_device(0), base, now = NULL;
    CUstream s = mgds_free_stream();
    uint64_t owner = 0;
    CUdeviceptr at;

    OK(cu.DeviceGetMemPool(&base, mgds_env_device(0)));
    OK(cu.DeviceSetMemPool(mgds_env_device(0), pool));
    OK(cu.DeviceGetMemPool(&now, mgds_env_device(0)));
    EXPECT(now == pool);
    OK(cu.MemAllocAsync(&at, 4096, s));
    OK(cu.PointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at));
    EXPECT_EQ((uintptr_t)pool, owner);
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
    OK(cu.DeviceSetMemPool(mgds_env_device(0), base));
    OK(cu.MemPoolDestroy(pool));
}

static uint64_t figure(CUmemoryPool pool, CUmemPool_attribute which)
{
    cuuint64_t value = 0;

    OK(cu.MemPoolGetAttribute(pool, which, &value));
    return value;
}

static void pool_counts_what_is_used(void)
{
    CUmemoryPool pool = pool_of_device(0);
    CUstream s = mgds_free_stream();
    cuuint64_t threshold = 1 << 30;
    CUdeviceptr at;

    EXPECT_EQ(0, figure(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    OK(cu.MemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                              &threshold));
    EXPECT_EQ(threshold, figure(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD));
    EXPECT_EQ(0, figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    OK(cu.MemAllocFromPoolAsync(&at, 1 << 20, pool, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1 << 20, figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    EXPECT(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 1 << 20);
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(0, figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT));
    EXPECT(figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) > 0);
    OK(cu.MemPoolTrimTo(pool, 0));
    EXPECT_EQ(0, figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT));
    OK(cu.MemPoolDestroy(pool));
}

/* Memory freed in a stream is given to the same stream's next allocation
 * while the first work has not even run. */
static void freed_memory_is_reused_in_the_same_stream(void)
{
    CUmemoryPool pool = pool_of_device(0);
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t *host = mgds_pinned(8);
    CUdeviceptr first, second;

    mgds_hwqueue_hold(gate, s);
    OK(cu.MemAllocFromPoolAsync(&first, 4096, pool, s));
    OK(cu.MemsetD32Async(first, 1, 1024, s));
    OK(cu.MemcpyDtoHAsync(host, first, 4, s));
    OK(cu.MemFreeAsync(first, s));
    OK(cu.MemAllocFromPoolAsync(&second, 4096, pool, s));
    OK(cu.MemsetD32Async(second, 2, 1024, s));
    OK(cu.MemcpyDtoHAsync(host + 1, second, 4, s));
    OK(cu.MemFreeAsync(second, s));
    EXPECT_EQ(first, second);
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(1, host[0]);
    EXPECT_EQ(2, host[1]);
    OK(cu.MemPoolDestroy(pool));
}

static void pool_memory_is_opened_to_the_peer_by_its_pool(void)
{
    CUmemAccessDesc desc = {0};
    CUmemoryPool pool = pool_of_device(0);
    CUmemAccess_flags flags = 99;
    CUstream s = mgds_free_stream(), other;
    CUdeviceptr at;
    uint32_t got = 0;

    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = mgds_env_device(1);
    OK(cu.MemPoolGetAccess(&flags, pool, &desc.location));
    EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_NONE, flags);
    desc.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cu.MemPoolSetAccess(pool, &desc, 1));
    OK(cu.MemPoolGetAccess(&flags, pool, &desc.location));
    EXPECT_EQ(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, flags);
    OK(cu.MemAllocFromPoolAsync(&at, 4096, pool, s));
    OK(cu.StreamSynchronize(s));
    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    other = mgds_free_stream();
    OK(cu.MemsetD32Async(at, 7, 1024, other));
    OK(cu.StreamSynchronize(other));
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    OK(cu.MemcpyDtoH(&got, at, 4));
    EXPECT_EQ(7, got);
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
    OK(cu.MemPoolDestroy(pool));
}

const struct mgds_case mgds_cases_pool[] = {
    CASE(async_memory_is_used_in_its_stream, NEED_POOLS),
    CASE(async_free_waits_for_the_work_before_it, NEED_POOLS | NEED_MEMOPS),
    CASE(async_memory_crosses_streams_by_events, NEED_POOLS),
    CASE(plain_free_takes_async_memory, NEED_POOLS),
    CASE(async_free_takes_plain_memory, NEED_POOLS),
    CASE(async_memory_freed_twice_is_an_invalid_value, NEED_POOLS),
    CASE(async_misuse_is_an_invalid_value, NEED_POOLS),
    CASE(freeing_null_async_is_nothing, NEED_POOLS),
    CASE(empty_async_allocation_succeeds, NEED_POOLS),
    CASE(async_allocation_beyond_the_device_is_out_of_memory, NEED_POOLS),
    CASE(default_pool_is_the_current_one, NEED_POOLS),
    CASE(own_pool_is_set_and_used, NEED_POOLS),
    CASE(pool_counts_what_is_used, NEED_POOLS),
    CASE(freed_memory_is_reused_in_the_same_stream, NEED_POOLS | NEED_MEMOPS),
    CASE(pool_memory_is_opened_to_the_peer_by_its_pool, NEED_POOLS | NEED_PEER),
    CASE_END,
};
