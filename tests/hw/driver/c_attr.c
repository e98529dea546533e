/* What the driver says about a pointer, for every kind of memory ("Unified
 * Addressing": cuPointerGetAttribute). This is what the library's pointer
 * kind rests on. */
#include <stdlib.h>
#include <string.h>

#include "case.h"

#define TYPE CU_POINTER_ATTRIBUTE_MEMORY_TYPE

static uint64_t number(CUdeviceptr at, CUpointer_attribute which, size_t bytes)
{
    uint64_t value = 0;
    uint32_t narrow = 0;

    if (bytes == 8)
        EXPECT_CU(CUDA_SUCCESS, cu.PointerGetAttribute(&value, which, at));
    else
        EXPECT_CU(CUDA_SUCCESS, cu.PointerGetAttribute(&narrow, which, at));
    return bytes == 8 ? value : narrow;
}

static bool flag(CUdeviceptr at, CUpointer_attribute which)
{
    unsigned char value[8] = {0}; /* a bool or an int, by attribute */

    EXPECT_CU(CUDA_SUCCESS, cu.PointerGetAttribute(value, which, at));
    return value[0];
}

static uint64_t buffer_id(CUdeviceptr at)
{
    return number(at, CU_POINTER_ATTRIBUTE_BUFFER_ID, 8);
}

static void expect_range(CUdeviceptr at, CUdeviceptr start, size_t bytes)
{
    EXPECT_EQ(start, number(at, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 8));
    EXPECT_EQ(bytes, number(at, CU_POINTER_ATTRIBUTE_RANGE_SIZE, 8));
}

static CUcontext context_of(CUdeviceptr at)
{
    return (CUcontext)(uintptr_t)number(at, CU_POINTER_ATTRIBUTE_CONTEXT, 8);
}

static void expect_unknown(CUdeviceptr at)
{
    uint64_t value[2] = {0};

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.PointerGetAttribute(value, TYPE, at));
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.PointerGetAttribute(value, CU_POINTER_ATTRIBUTE_BUFFER_ID, at));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.PointerGetAttribute(value, CU_POINTER_ATTRIBUTE_CONTEXT, at));
}

static void device_memory_tells_its_kind(void)
{
    CUdeviceptr at = mgds_zeroed(5000);
    uint64_t host;

    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, number(at, TYPE, 4));
    EXPECT(context_of(at) == mgds_env_ctx(0));
    EXPECT_EQ(at, number(at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8));
    EXPECT_EQ(0, number(at, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4));
    EXPECT(!flag(at, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    EXPECT(flag(at, CU_POINTER_ATTRIBUTE_MAPPED));
    EXPECT(flag(at, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE));
    EXPECT_EQ(0, number(at, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 8));
    expect_range(at, at, 5000);
    EXPECT_CU(
        CUDA_ERROR_INVALID_VALUE,
        cu.PointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, at));
}

static void interior_pointer_tells_of_its_allocation(void)
{
    CUdeviceptr at = mgds_zeroed(1 << 20), in = at + 12345;

    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, number(in, TYPE, 4));
    EXPECT_EQ(in, number(in, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8));
    EXPECT_EQ(buffer_id(at), buffer_id(in));
    expect_range(in, at, 1 << 20);
    expect_range(at + (1 << 20) - 1, at, 1 << 20);
}

static void plain_memory_is_unknown_to_the_driver(void)
{
    static uint64_t plain;
    void *heap = malloc(1 << 20);

    expect_unknown(mgds_address(&plain));
    expect_unknown(mgds_address(heap));
    expect_unknown(mgds_address(&heap));
    expect_unknown(0);
    free(heap);
}

static void freed_memory_is_unknown_to_the_driver(void)
{
    CUdeviceptr at;

    OK(cu.MemAlloc(&at, 64u << 20));
    OK(cu.MemFree(at));
    expect_unknown(at);
    expect_unknown(at + 4096);
}

static void buffer_ids_are_never_used_again(void)
{
    uint64_t ids[20];
    CUdeviceptr at;

    for (int i = 0; i < 20; i++) {
        OK(cu.MemAlloc(&at, 1 << 20));
        ids[i] = buffer_id(at);
        for (int j = 0; j < i; j++)
            EXPECT(ids[j] != ids[i]);
        OK(cu.MemFree(at));
    }
}

static void neighbours_have_different_buffer_ids(void)
{
    CUdeviceptr a = mgds_zeroed(512), b = mgds_zeroed(512);
    void *host = mgds_pinned(512);

    EXPECT(buffer_id(a) != buffer_id(b));
    EXPECT(buffer_id(a) != buffer_id(mgds_address(host)));
    EXPECT(buffer_id(a) != 0 && buffer_id(b) != 0);
}

static void pinned_memory_tells_its_kind(void)
{
    char *host = mgds_pinned(10000);
    CUdeviceptr at = mgds_address(host);

    EXPECT_EQ(CU_MEMORYTYPE_HOST, number(at, TYPE, 4));
    EXPECT(context_of(at) == mgds_env_ctx(0));
    EXPECT_EQ(at, number(at, CU_POINTER_ATTRIBUTE_HOST_POINTER, 8));
    EXPECT_EQ(at, number(at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8));
    EXPECT_EQ(at + 99, number(at + 99, CU_POINTER_ATTRIBUTE_HOST_POINTER, 8));
    EXPECT(!flag(at, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    EXPECT(!flag(at, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE));
    EXPECT_EQ(at, number(at + 7, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, 8));
}

static void registered_memory_tells_its_kind(void)
{
    char *page = aligned_alloc(4096, 1 << 16);
    CUdeviceptr at = mgds_address(page);

    expect_unknown(at);
    OK(cu.MemHostRegister(page, 1 << 16, 0));
    EXPECT_EQ(CU_MEMORYTYPE_HOST, number(at, TYPE, 4));
    EXPECT(context_of(at) == mgds_env_ctx(0));
    EXPECT_EQ(at + 5, number(at + 5, CU_POINTER_ATTRIBUTE_HOST_POINTER, 8));
    EXPECT(buffer_id(at) != 0);
    OK(cu.MemHostUnregister(page));
    expect_unknown(at);
    free(page);
}

/* Registration covers what was named, not the pages around it. */
static void registered_range_is_what_was_named(void)
{
    char *page = aligned_alloc(4096, 1 << 16);
    CUdeviceptr at = mgds_address(page);

    OK(cu.MemHostRegister(page + 8192, 4096, 0));
    expect_unknown(at);
    expect_unknown(at + 8192 + 4096);
    EXPECT_EQ(CU_MEMORYTYPE_HOST, number(at + 8192, TYPE, 4));
    expect_range(at + 8200, at + 8192, 4096);
    OK(cu.MemHostUnregister(page + 8192));
    free(page);
}

static void managed_memory_tells_its_kind(void)
{
    CUdeviceptr at;

    OK(cu.MemAllocManaged(&at, 1 << 16, CU_MEM_ATTACH_GLOBAL));
    EXPECT(flag(at, CU_POINTER_ATTRIBUTE_IS_MANAGED));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, number(at, TYPE, 4));
    EXPECT_EQ(at, number(at, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, 8));
    EXPECT_EQ(at, number(at, CU_POINTER_ATTRIBUTE_HOST_POINTER, 8));
    EXPECT(!flag(at, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE));
    EXPECT(context_of(at) == mgds_env_ctx(0));
    expect_range(at + 100, at, 1 << 16);
    OK(cu.MemFree(at));
    expect_unknown(at);
}

/* Programming Guide, stream-ordered allocator, "Pointer Attributes": the
 * memory belongs to a device, so the context's query succeeds with NULL. */
static void pool_memory_tells_its_kind(void)
{
    CUstream s = mgds_free_stream();
    CUmemoryPool pool = NULL;
    CUdeviceptr at;

    OK(cu.DeviceGetDefaultMemPool(&pool, mgds_env_device(0)));
    OK(cu.MemAllocAsync(&at, 5000, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, number(at, TYPE, 4));
    EXPECT_EQ(0, number(at, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4));
    EXPECT(!flag(at, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE));
    EXPECT_EQ((uintptr_t)pool,
              number(at, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, 8));
    EXPECT(context_of(at) == NULL);
    EXPECT(buffer_id(at) != 0);
    expect_range(at + 10, at, 5000);
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
}

static void freed_pool_memory_is_unknown_to_the_driver(void)
{
    CUstream s = mgds_free_stream();
    CUdeviceptr at;
    uint32_t type = 0;

    OK(cu.MemAllocAsync(&at, 5000, s));
    OK(cu.MemFreeAsync(at, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.PointerGetAttribute(&type, TYPE, at));
}

/* Though the stream has not come to it, and what is ahead may still use it. */
static void pool_memory_is_unknown_as_soon_as_it_is_to_be_freed(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    uint32_t type = 0;
    CUdeviceptr at;

    OK(cu.MemAllocAsync(&at, 5000, s));
    mgds_hwqueue_hold(gate, s);
    OK(cu.MemFreeAsync(at, s));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.PointerGetAttribute(&type, TYPE, at));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
}

static void pool_memory_is_known_as_soon_as_allocated(void)
{
    CUstream s = mgds_free_stream();
    struct mgds_hwqueue gate = mgds_hwqueue_new();
    CUdeviceptr at;

    mgds_hwqueue_hold(gate, s);
    OK(cu.MemAllocAsync(&at, 5000, s));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, number(at, TYPE, 4));
    OK(cu.MemFreeAsync(at, s));
    mgds_hwqueue_open(gate);
    OK(cu.StreamSynchronize(s));
}

static void other_devices_memory_tells_its_device(void)
{
    CUdeviceptr at;

    OK(cu.CtxSetCurrent(mgds_env_ctx(1)));
    OK(cu.MemAlloc(&at, 4096));
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
    EXPECT_EQ(1, number(at, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 4));
    EXPECT(context_of(at) == mgds_env_ctx(1));
    OK(cu.MemFree(at));
}

static void pointer_query_needs_no_current_context(void)
{
    CUdeviceptr at = mgds_zeroed(64);
    CUcontext now;

    OK(cu.CtxSetCurrent(NULL));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, number(at, TYPE, 4));
    EXPECT(context_of(at) == mgds_env_ctx(0));
    EXPECT(buffer_id(at) != 0);
    OK(cu.CtxGetCurrent(&now));
    EXPECT(now == NULL);
    OK(cu.CtxSetCurrent(mgds_env_ctx(0)));
}

/* The plural form answers for any pointer: "will not return an error for an
 * invalid ptr; the attributes are set to default values (0 / NULL)". */
static void plural_query_answers_zero_for_plain_memory(void)
{
    static uint64_t plain;
    uint32_t type = 77;
    CUcontext ctx = (CUcontext)&plain;
    uint64_t id = 77;
    CUpointer_attribute which[] = {TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
                                   CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *data[] = {&type, &ctx, &id};

    OK(cu.PointerGetAttributes(3, which, data, mgds_address(&plain)));
    EXPECT_EQ(0, type);
    EXPECT(ctx == NULL);
    EXPECT_EQ(0, id);
}

static void plural_query_agrees_with_the_single_one(void)
{
    CUdeviceptr at = mgds_zeroed(4096), start = 0;
    uint32_t type = 0;
    uint64_t id = 0;
    size_t size = 0;
    CUpointer_attribute which[] = {TYPE, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                   CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *data[] = {&type, &id, &start, &size};

    OK(cu.PointerGetAttributes(4, which, data, at + 40));
    EXPECT_EQ(CU_MEMORYTYPE_DEVICE, type);
    EXPECT_EQ(buffer_id(at), id);
    EXPECT_EQ(at, start);
    EXPECT_EQ(4096, size);
}

static void sync_memops_is_set_and_read(void)
{
    CUdeviceptr at = mgds_zeroed(4096);
    int on = 1;

    EXPECT(!flag(at, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS));
    OK(cu.PointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    EXPECT(flag(at, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS));
}

static void unknown_pointer_attribute_is_an_invalid_value(void)
{
    CUdeviceptr at = mgds_zeroed(64);
    uint64_t value[4];

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.PointerGetAttribute(value, (CUpointer_attribute)9999, at));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.PointerGetAttribute(NULL, TYPE, at));
}

const struct mgds_case mgds_cases_attr[] = {
    CASE(device_memory_tells_its_kind),
    CASE(interior_pointer_tells_of_its_allocation),
    CASE(plain_memory_is_unknown_to_the_driver),
    CASE(freed_memory_is_unknown_to_the_driver),
    CASE(buffer_ids_are_never_used_again),
    CASE(neighbours_have_different_buffer_ids),
    CASE(pinned_memory_tells_its_kind),
    CASE(registered_memory_tells_its_kind),
    CASE(registered_range_is_what_was_named),
    CASE(managed_memory_tells_its_kind, NEED_MANAGED),
    CASE(pool_memory_tells_its_kind, NEED_POOLS),
    CASE(freed_pool_memory_is_unknown_to_the_driver, NEED_POOLS),
    CASE(pool_memory_is_unknown_as_soon_as_it_is_to_be_freed,
         NEED_POOLS | NEED_MEMOPS),
    CASE(pool_memory_is_known_as_soon_as_allocated, NEED_POOLS | NEED_MEMOPS),
    CASE(other_devices_memory_tells_its_device, NEED_2DEV),
    CASE(pointer_query_needs_no_current_context),
    CASE(plural_query_answers_zero_for_plain_memory),
    CASE(plural_query_agrees_with_the_single_one),
    CASE(sync_memops_is_set_and_read),
    CASE(unknown_pointer_attribute_is_an_invalid_value),
    CASE_END,
};
