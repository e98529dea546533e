/* Host memory the GPU may reach: allocated or registered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/hooks.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/window.h"

/* Shared, so that a child of a fork sees what the GPU of its parent writes,
 * as pinned memory is never copied on write. */
static CUresult host_alloc(struct mgds_gpu_ctx *ctx, void **ptr, size_t bytes,
                           unsigned flags)
{
    size_t size = (bytes + MGDS_PAGE - 1) & ~(MGDS_PAGE - 1);
    void *at;

    if (!ptr || bytes == 0 || flags > 7 || size < bytes)
        return CUDA_ERROR_INVALID_VALUE;
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
              -1, 0);
    if (at == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mgds_block_add(MGDS_BLOCK_HOST, (uintptr_t)at, bytes, ctx)->flags = flags;
    *ptr = at;
    return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **ptr, size_t bytes, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             host_alloc(call.ctx, ptr, bytes, flags));
}

CUresult cuMemAllocHost_v2(void **ptr, size_t bytes)
{
    return cuMemHostAlloc(ptr, bytes, 0);
}

/* `unknown` for what is not such memory. */
static CUresult drop(void *ptr, enum mgds_block_kind kind, CUresult unknown)
{
    struct mgds_gpu_block *block = mgds_mem_base((uintptr_t)ptr);

    if (!block || block->kind != kind)
        return unknown;
    return mgds_mem_release(block);
}

CUresult cuMemFreeHost(void *ptr)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             drop(ptr, MGDS_BLOCK_HOST, CUDA_ERROR_INVALID_VALUE));
}

/* True if every page can be pinned: populating (Linux 5.14) faults them in as
 * pinning does, and says so where that is impossible. */
static bool is_there(uintptr_t addr, size_t bytes, bool writable)
{
    uintptr_t start = addr & ~(uintptr_t)(MGDS_PAGE - 1);
    size_t size = addr + bytes - start;
    int advice = writable ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

    return madvise((void *)start, size, advice) == 0;
}

/* A line of /proc/self/maps that has `addr`: where it ends, if that is memory
 * of I/O; else 0. */
static uintptr_t io_end(const char *line, uintptr_t addr)
{
    char *end;
    uintptr_t first = strtoul(line, &end, 16);
    uintptr_t last = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;

    return addr >= first && addr < last &&
                   strstr(line, "/memfd:" MGDS_SIM_BAR_NAME)
               ? last
               : 0;
}

/* UAR pages of the software HCA, which a process has mapped as others do those
 * of hardware: the kernel says so. */
static bool is_io(uintptr_t addr, size_t bytes)
{
    uintptr_t at = addr, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    if (!maps)
        return false;
    while (at < addr + bytes && fgets(line, sizeof(line), maps)) {
        end = io_end(line, at);
        at = end ? end : at;
    }
    fclose(maps);
    return at >= addr + bytes;
}

static CUresult host_register(struct mgds_gpu_ctx *ctx, void *ptr, size_t bytes,
                              unsigned flags)
{
    uintptr_t addr = (uintptr_t)ptr;

    if (!ptr || bytes == 0 || flags > 15 || addr + bytes < addr)
        return CUDA_ERROR_INVALID_VALUE;
    if (mgds_range_overlaps(&mgds_gpu.blocks, addr, bytes))
        return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    /* ordinary memory is not I/O memory (H200), nor the other way round: the
     * kernel does not pin what has no pages */
    if (!(flags & CU_MEMHOSTREGISTER_IOMEMORY) == is_io(addr, bytes) ||
        mgds_window_has(addr) ||
        !is_there(addr, bytes, !(flags & CU_MEMHOSTREGISTER_READ_ONLY)))
        return CUDA_ERROR_INVALID_VALUE;
    mgds_block_add(MGDS_BLOCK_REGISTERED, addr, bytes, ctx)->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             host_register(call.ctx, ptr, bytes, flags));
}

CUresult cuMemHostUnregister(void *ptr)
{
    MGDS_API(call, MGDS_NEED_CTX | MGDS_NEED_SAFE,
             drop(ptr, MGDS_BLOCK_REGISTERED,
                  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED));
}

static CUresult device_pointer(CUdeviceptr *device, void *ptr, unsigned flags)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);

    if (!device || flags || !block || !mgds_block_is_host(block))
        return CUDA_ERROR_INVALID_VALUE;
    *device = (uintptr_t)ptr;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *ptr,
                                      unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX, device_pointer(device, ptr, flags));
}

/* With unified addressing all of it is mapped, asked for or not. */
static CUresult get_flags(unsigned *flags, void *ptr)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);

    if (!flags || !block || !mgds_block_is_host(block))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned *flags, void *ptr)
{
    MGDS_API(call, MGDS_NEED_CTX, get_flags(flags, ptr));
}
