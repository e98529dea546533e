/* Allocation and release of device and host memory, and their misuse (Driver
 * API, "Memory Management"). */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "case.h"

static void allocation_is_aligned_and_writable_to_its_end(void)
{
    static const size_t sizes[] = {1, 7, 4096, 1 << 20, (1 << 21) + 3};
    CUdeviceptr at;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        unsigned char last = 0;

        OK(cu.MemAlloc(&at, sizes[i]));
        /* "suitably aligned for any kind of variable": 256 in fact. */
        EXPECT_EQ(0, at % 256);
        OK(cu.MemsetD8(at, 0xa5, sizes[i]));
        OK(cu.MemcpyDtoH(&last, at + sizes[i] - 1, 1));
        EXPECT_EQ(0xa5, last);
        OK(cu.MemFree(at));
    }
}

static void empty_allocation_is_refused(void)
{
    CUdeviceptr at = 1;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemAlloc(&at, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemAlloc(NULL, 16));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemHostAlloc(NULL, 16, 0));
}

static void allocation_beyond_the_device_is_out_of_memory(void)
{
    CUdeviceptr at;
    size_t free_bytes, all;

    OK(cu.MemGetInfo(&free_bytes, &all));
    EXPECT_CU(CUDA_ERROR_OUT_OF_MEMORY, cu.MemAlloc(&at, all * 2));
    /* Not sticky: the next one works. */
    OK(cu.MemAlloc(&at, 4096));
    OK(cu.MemFree(at));
}

static void allocations_do_not_overlap(void)
{
    CUdeviceptr at[32];

    for (uint32_t i = 0; i < 32; i++) {
        OK(cu.MemAlloc(&at[i], 1000));
        OK(cu.MemsetD32(at[i], i + 1, 250));
    }
    OK(cu.CtxSynchronize());
    for (uint32_t i = 0; i < 32; i++) {
        EXPECT_EQ(i + 1, mgds_peek(at[i]));
        EXPECT_EQ(i + 1, mgds_peek(at[i] + 996));
        OK(cu.MemFree(at[i]));
    }
}

static void memory_freed_twice_is_an_invalid_value(void)
{
    CUdeviceptr at;

    OK(cu.MemAlloc(&at, 4096));
    OK(cu.MemFree(at));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFree(at));
}

static void only_the_start_of_an_allocation_frees_it(void)
{
    CUdeviceptr at;

    OK(cu.MemAlloc(&at, 4096));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFree(at + 256));
    OK(cu.MemsetD32(at, 1, 1024));
    OK(cu.MemFree(at));
}

static void freeing_null_is_nothing(void)
{
    EXPECT_CU(CUDA_SUCCESS, cu.MemFree(0));
}

static void freeing_a_plain_pointer_is_an_invalid_value(void)
{
    static uint64_t plain;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFree(mgds_address(&plain)));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFreeHost(&plain));
}

static void address_range_gives_base_and_size(void)
{
    CUdeviceptr at, base = 0;
    size_t size = 0;

    OK(cu.MemAlloc(&at, 100000));
    OK(cu.MemGetAddressRange(&base, &size, at + 777));
    EXPECT_EQ(at, base);
    EXPECT_EQ(100000, size);
    OK(cu.MemFree(at));
}

static void address_range_of_unknown_memory_is_not_found(void)
{
    static uint64_t plain;
    CUdeviceptr at, base;
    size_t size;

    EXPECT_CU(CUDA_ERROR_NOT_FOUND,
              cu.MemGetAddressRange(&base, &size, mgds_address(&plain)));
    OK(cu.MemAlloc(&at, 64 << 20));
    OK(cu.MemFree(at));
    EXPECT_CU(CUDA_ERROR_NOT_FOUND, cu.MemGetAddressRange(&base, &size, at));
}

/* Unified addressing: one address for the host and every device. */
static void pinned_memory_has_one_address(void)
{
    void *host;
    CUdeviceptr at = 0;

    OK(cu.MemHostAlloc(&host, 5000, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cu.MemHostGetDevicePointer(&at, host, 0));
    EXPECT_EQ((uintptr_t)host, at);
    OK(cu.MemHostGetDevicePointer(&at, (char *)host + 100, 0));
    EXPECT_EQ((uintptr_t)host + 100, at);
    OK(cu.MemFreeHost(host));
}

static void pinned_memory_keeps_its_flags(void)
{
    void *host;
    unsigned flags = 0;

    OK(cu.MemHostAlloc(&host, 4096, CU_MEMHOSTALLOC_PORTABLE));
    OK(cu.MemHostGetFlags(&flags, host));
    EXPECT(flags & CU_MEMHOSTALLOC_PORTABLE);
    mgds_case_note("flags of MemHostAlloc(PORTABLE) are %#x", flags);
    OK(cu.MemFreeHost(host));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemHostAlloc(&host, 4096, 0x100));
}

static void memory_registers_once(void)
{
    size_t bytes = 1 << 16;
    char *page = aligned_alloc(4096, bytes);

    OK(cu.MemHostRegister(page, bytes, 0));
    EXPECT_CU(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              cu.MemHostRegister(page, bytes, 0));
    EXPECT_CU(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              cu.MemHostRegister(page + 4096, 4096, 0));
    OK(cu.MemHostUnregister(page));
    EXPECT_CU(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
              cu.MemHostUnregister(page));
    OK(cu.MemHostRegister(page, bytes, 0));
    OK(cu.MemHostUnregister(page));
    free(page);
}

static void registered_memory_is_copied_to_and_from(void)
{
    size_t bytes = 1 << 16;
    uint32_t *page = aligned_alloc(4096, bytes);
    CUdeviceptr at, device = mgds_zeroed(bytes);
    CUstream s = mgds_free_stream();

    OK(cu.MemHostRegister(page, bytes, CU_MEMHOSTREGISTER_PORTABLE));
    OK(cu.MemHostGetDevicePointer(&at, page, 0));
    mgds_case_note("registered memory has the host's address: %d",
                   at == (uintptr_t)page);
    page[1] = 42;
    OK(cu.MemcpyHtoDAsync(device, page, bytes, s));
    OK(cu.MemcpyDtoHAsync(page + 2, device + 4, 4, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(42, page[2]);
    OK(cu.MemHostUnregister(page));
    free(page);
}

static void registration_of_nothing_is_refused(void)
{
    size_t bytes = 1 << 16;
    void *hole =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST(hole != MAP_FAILED && page != MAP_FAILED);
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemHostRegister(page, 0, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemHostRegister(NULL, 4096, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemHostRegister(hole, bytes, 0));
    munmap(hole, bytes);
    munmap(page, bytes);
}

/* Measured on an H200: not an I/O mapping. */
static void ordinary_memory_is_not_io_memory(void)
{
    size_t bytes = 1 << 16;
    void *page = aligned_alloc(4096, bytes);

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemHostRegister(page, bytes, CU_MEMHOSTREGISTER_IOMEMORY));
    free(page);
}

static void unregistered_memory_has_no_device_pointer(void)
{
    static uint64_t plain;
    CUdeviceptr at;
    unsigned flags;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemHostGetDevicePointer(&at, &plain, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemHostGetFlags(&flags, &plain));
}

static void pinned_memory_is_not_freed_as_device_memory(void)
{
    void *host;

    OK(cu.MemHostAlloc(&host, 4096, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFree(mgds_address(host)));
    OK(cu.MemFreeHost(host));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemFreeHost(host));
}

static void managed_memory_is_seen_by_host_and_device(void)
{
    CUdeviceptr at;
    uint32_t *host;
    CUstream s = mgds_free_stream();

    OK(cu.MemAllocManaged(&at, 8192, CU_MEM_ATTACH_GLOBAL));
    host = (uint32_t *)(uintptr_t)at;
    host[0] = 11;
    OK(cu.MemcpyDtoDAsync(at + 4, at, 4, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(11, host[1]);
    OK(cu.MemsetD32Async(at, 12, 2048, s));
    OK(cu.StreamSynchronize(s));
    EXPECT_EQ(12, host[2047]);
    OK(cu.MemFree(at));
}

static void managed_memory_flags_are_checked(void)
{
    CUdeviceptr at;

    EXPECT_CU(CUDA_ERROR_INVALID_VALUE, cu.MemAllocManaged(&at, 4096, 0));
    EXPECT_CU(CUDA_ERROR_INVALID_VALUE,
              cu.MemAllocManaged(&at, 0, CU_MEM_ATTACH_GLOBAL));
}

const struct mgds_case mgds_cases_memory[] = {
    CASE(allocation_is_aligned_and_writable_to_its_end),
    CASE(empty_allocation_is_refused),
    CASE(allocation_beyond_the_device_is_out_of_memory),
    CASE(allocations_do_not_overlap),
    CASE(memory_freed_twice_is_an_invalid_value),
    CASE(only_the_start_of_an_allocation_frees_it),
    CASE(freeing_null_is_nothing),
    CASE(freeing_a_plain_pointer_is_an_invalid_value),
    CASE(address_range_gives_base_and_size),
    CASE(address_range_of_unknown_memory_is_not_found),
    CASE(pinned_memory_has_one_address),
    CASE(pinned_memory_keeps_its_flags),
    CASE(memory_registers_once),
    CASE(registered_memory_is_copied_to_and_from),
    CASE(registration_of_nothing_is_refused),
    CASE(ordinary_memory_is_not_io_memory),
    CASE(unregistered_memory_has_no_device_pointer),
    CASE(pinned_memory_is_not_freed_as_device_memory),
    CASE(managed_memory_is_seen_by_host_and_device, NEED_MANAGED),
    CASE(managed_memory_flags_are_checked, NEED_MANAGED),
    CASE_END,
};
