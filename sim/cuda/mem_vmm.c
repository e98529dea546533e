/* Virtual memory management: addresses, physical memory and mappings apart. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/window.h"

/* Addresses that programs reserved; mappings inside are blocks. */
static struct mgds_range_map reserved;

static bool is_granular(size_t size)
{
    return size && size % MGDS_VMM_GRANULARITY == 0;
}

static CUresult reserve(CUdeviceptr *ptr, size_t size, size_t align,
                        CUdeviceptr wanted)
{
    uintptr_t addr;

    if (!ptr || !is_granular(size) || align & (align - 1))
        return CUDA_ERROR_INVALID_VALUE;
    if (align < MGDS_VMM_GRANULARITY)
        align = MGDS_VMM_GRANULARITY;
    addr = mgds_window_take(size, align, (uintptr_t)wanted);
    if (!addr)
        return CUDA_ERROR_OUT_OF_MEMORY;
    mgds_range_add(&reserved, addr, size, NULL);
    *ptr = addr;
    return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                             CUdeviceptr addr, unsigned long long flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, reserve(ptr, size, alignment, addr));
}

const struct mgds_range *mgds_vmm_reservation(uintptr_t addr)
{
    return mgds_range_find(&reserved, addr);
}

static CUresult address_free(CUdeviceptr ptr, size_t size)
{
    struct mgds_range *row = mgds_range_find(&reserved, (uintptr_t)ptr);

    if (!row || row->start != ptr || row->size != size)
        return CUDA_ERROR_INVALID_VALUE;
    if (mgds_range_overlaps(&mgds_gpu.blocks, row->start, size))
        return CUDA_ERROR_INVALID_VALUE;
    mgds_window_give(row->start);
    mgds_range_remove(&reserved, row->start);
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    MGDS_API(call, MGDS_NEED_INIT, address_free(ptr, size));
}

static struct mgds_gpu_physical *physical_new(int fd, size_t size)
{
    struct mgds_gpu_physical *physical = mgds_gpu_calloc(1, sizeof(*physical));

    physical->refs = physical->handles = 1;
    physical->fd = fd;
    physical->size = size;
    mgds_handle_add(MGDS_HANDLE_PHYSICAL, physical);
    return physical;
}

void mgds_physical_put(struct mgds_gpu_physical *physical)
{
    if (--physical->refs)
        return;
    if (physical->device)
        physical->device->used -= physical->size;
    close(physical->fd);
    free(physical);
}

static CUresult find(CUmemGenericAllocationHandle handle,
                     struct mgds_gpu_physical **out)
{
    struct mgds_gpu_physical *physical =
        (struct mgds_gpu_physical *)(uintptr_t)handle;

    if (!mgds_handle_is(MGDS_HANDLE_PHYSICAL, physical))
        return CUDA_ERROR_INVALID_VALUE;
    *out = physical;
    return CUDA_SUCCESS;
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!mgds_gpu_device(prop->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    if (prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE &&
        prop->requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

static CUresult create(CUmemGenericAllocationHandle *handle, size_t size,
                       const CUmemAllocationProp *prop)
{
    struct mgds_gpu_physical *physical;
    struct mgds_gpu_device *device;
    CUresult rc = check_prop(prop);
    int fd;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!handle || !is_granular(size))
        return CUDA_ERROR_INVALID_VALUE;
    device = mgds_gpu_device(prop->location.id);
    if (size > (mgds_gpu.cfg.memory << 20) - device->used)
        return CUDA_ERROR_OUT_OF_MEMORY;
    fd = mgds_memfd_new(size, device);
    if (fd < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    physical = physical_new(fd, size);
    physical->prop = *prop;
    physical->device = device;
    device->used += size;
    *handle = (uintptr_t)physical;
    return CUDA_SUCCESS;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, create(handle, size, prop));
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    struct mgds_gpu_physical *physical;
    CUresult rc = find(handle, &physical);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (--physical->handles == 0)
        mgds_handle_drop(physical);
    mgds_physical_put(physical);
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    MGDS_API(call, MGDS_NEED_INIT, release(handle));
}

/* No access to it yet: that comes with cuMemSetAccess. */
static CUresult map(CUdeviceptr ptr, size_t size, size_t offset,
                    CUmemGenericAllocationHandle handle)
{
    struct mgds_gpu_physical *physical;
    struct mgds_gpu_block *block;
    struct mgds_range *row = mgds_range_find(&reserved, (uintptr_t)ptr);
    CUresult rc = find(handle, &physical);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!row || !is_granular(size) || ptr % MGDS_VMM_GRANULARITY ||
        offset % MGDS_VMM_GRANULARITY || offset > physical->size ||
        size > physical->size - offset ||
        size > row->start + row->size - (uintptr_t)ptr ||
        mgds_range_overlaps(&mgds_gpu.blocks, (uintptr_t)ptr, size))
        return CUDA_ERROR_INVALID_VALUE;
    if (size != physical->size) /* H200, driver 580 */
        return CUDA_ERROR_NOT_SUPPORTED;
    block = mgds_block_add(MGDS_BLOCK_VIRTUAL, (uintptr_t)ptr, size, NULL);
    block->device = mgds_gpu_device(physical->prop.location.id);
    block->physical = physical;
    block->offset = offset;
    physical->refs++;
    return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, map(ptr, size, offset, handle));
}

/* What a list of access descriptions asks for. */
struct wish {
    const CUmemAccessDesc *desc;
    size_t count;
};

/* The range must be whole mappings without a hole: calls `each` for all, or
 * for none. */
static CUresult for_mappings(CUdeviceptr ptr, size_t size,
                             CUresult (*each)(struct mgds_gpu_block *block,
                                              const struct wish *wish),
                             const struct wish *wish)
{
    uintptr_t at = (uintptr_t)ptr, end = at + size;
    CUresult rc = CUDA_SUCCESS;

    while (at < end) {
        struct mgds_gpu_block *block = mgds_mem_find(at);

        if (!block || block->kind != MGDS_BLOCK_VIRTUAL || block->addr != at ||
            block->size > end - at)
            return CUDA_ERROR_INVALID_VALUE;
        at += block->size;
    }
    for (at = (uintptr_t)ptr; at < end && rc == CUDA_SUCCESS;) {
        struct mgds_gpu_block *block = mgds_mem_find(at);

        at += block->size;
        rc = each(block, wish);
    }
    return rc;
}

static CUresult unmap_one(struct mgds_gpu_block *block, const struct wish *wish)
{
    (void)wish;
    mgds_mem_drop(block);
    return CUDA_SUCCESS;
}

/* Reserved addresses without a mapping may be unmapped as well. */
static CUresult unmap(CUdeviceptr ptr, size_t size)
{
    const struct mgds_range *around = mgds_vmm_reservation((uintptr_t)ptr);

    if (around && ptr % MGDS_VMM_GRANULARITY == 0 &&
        size <= around->start + around->size - (uintptr_t)ptr &&
        !mgds_range_overlaps(&mgds_gpu.blocks, (uintptr_t)ptr, size))
        return CUDA_SUCCESS;
    return for_mappings(ptr, size, unmap_one, NULL);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    if (!is_granular(size))
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, unmap(ptr, size));
}

/* One mapping serves all devices, with the widest access that one has. */
static CUresult access_one(struct mgds_gpu_block *block,
                           const struct wish *wish)
{
    unsigned access;

    for (size_t i = 0; i < wish->count; i++)
        block->access[wish->desc[i].location.id] =
            (unsigned char)wish->desc[i].flags;
    access = mgds_block_access(block);
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE) {
        mgds_window_unmap(block->addr, block->size);
        return CUDA_SUCCESS;
    }
    if (mgds_window_map(block->addr, block->size, block->physical->fd,
                        block->offset,
                        access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return CUDA_SUCCESS;
}

static CUresult set_access(CUdeviceptr ptr, size_t size,
                           const CUmemAccessDesc *desc, size_t count)
{
    struct wish wish = {desc, count};

    if (!desc || count == 0 || !is_granular(size))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            !mgds_gpu_device(desc[i].location.id))
            return CUDA_ERROR_INVALID_VALUE;
        if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
            desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return CUDA_ERROR_INVALID_VALUE;
    }
    return for_mappings(ptr, size, access_one, &wish);
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size,
                        const CUmemAccessDesc *desc, size_t count)
{
    MGDS_API(call, MGDS_NEED_INIT, set_access(ptr, size, desc, count));
}

static CUresult get_access(unsigned long long *flags,
                           const CUmemLocation *location, CUdeviceptr ptr)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)ptr);

    if (!flags || !location || !block || block->kind != MGDS_BLOCK_VIRTUAL ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !mgds_gpu_device(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = block->access[location->id];
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags,
                        const CUmemLocation *location, CUdeviceptr ptr)
{
    MGDS_API(call, MGDS_NEED_INIT, get_access(flags, location, ptr));
}

static CUresult granularity(size_t *out, const CUmemAllocationProp *prop,
                            unsigned option)
{
    CUresult rc = check_prop(prop);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!out || option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *out = MGDS_VMM_GRANULARITY;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *out,
                                       const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    MGDS_API(call, MGDS_NEED_INIT, granularity(out, prop, option));
}

static CUresult get_prop(CUmemAllocationProp *prop,
                         CUmemGenericAllocationHandle handle)
{
    struct mgds_gpu_physical *physical;
    CUresult rc = find(handle, &physical);

    if (!prop)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *prop = physical->prop;
    return rc;
}

CUresult
cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                       CUmemGenericAllocationHandle handle)
{
    MGDS_API(call, MGDS_NEED_INIT, get_prop(prop, handle));
}

static CUresult export(void *shareable, CUmemGenericAllocationHandle handle,
                       CUmemAllocationHandleType type)
{
    struct mgds_gpu_physical *physical;
    CUresult rc = find(handle, &physical);
    int fd;

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!shareable || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(physical->prop.requestedHandleTypes & type))
        return CUDA_ERROR_INVALID_VALUE;
    fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)shareable = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shareable,
                                      CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type,
                                      unsigned long long flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    MGDS_API(call, MGDS_NEED_INIT, export(shareable, handle, type));
}

/* Of another process: which device it is on is not told, so it counts as the
 * first one's, which is not charged for it. */
static CUresult import(CUmemGenericAllocationHandle *handle, int fd,
                       CUmemAllocationHandleType type)
{
    struct mgds_gpu_physical *physical;
    struct stat status;
    int mine;

    if (!handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    if (!mgds_memfd_is_ours(fd) || fstat(fd, &status))
        return CUDA_ERROR_INVALID_VALUE;
    mine = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (mine < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    physical = physical_new(mine, (size_t)status.st_size);
    physical->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    physical->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    physical->prop.requestedHandleTypes = type;
    *handle = (uintptr_t)physical;
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                        void *shareable,
                                        CUmemAllocationHandleType type)
{
    MGDS_API(call, MGDS_NEED_INIT,
             import(handle, (int)(intptr_t)shareable, type));
}

/* A handle that was released while mapped comes to life again. */
static CUresult retain(CUmemGenericAllocationHandle *handle, const void *addr)
{
    struct mgds_gpu_block *block = mgds_mem_find((uintptr_t)addr);

    if (!handle || !block || block->kind != MGDS_BLOCK_VIRTUAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (block->physical->handles++ == 0)
        mgds_handle_add(MGDS_HANDLE_PHYSICAL, block->physical);
    block->physical->refs++;
    *handle = (uintptr_t)block->physical;
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle,
                                     void *addr)
{
    MGDS_API(call, MGDS_NEED_INIT, retain(handle, addr));
}
