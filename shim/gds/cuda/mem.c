/* Pinned memory and copies; see mem.h. */
#include "shim/gds/cuda/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

#define HUGE ((size_t)2 << 20)

/* 0 where the driver gives none. */
static uint64_t buffer_id(const void *addr)
{
    unsigned long long id = 0;

    mgds_cu(mgds_driver()->cuPointerGetAttribute(
        &id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (CUdeviceptr)(uintptr_t)addr));
    return id;
}

static int pin_memory(void *addr, const struct mgds_context *ctx, size_t bytes)
{
    char text[MGDS_CU_TEXT];
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return rc;
    rc = mgds_cu(mgds_driver()->cuMemHostRegister(
        addr, bytes,
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
    mgds_context_leave();
    if (rc == -ENOMEM)
        mgds_warn_once("no %zu bytes of pinned host memory: %s: free host "
                       "memory, or raise the job's memory limit",
                       bytes, mgds_cu_text(mgds_driver_found(), text));
    return rc;
}

/* Large memory begins where a huge page can: the MPI below copies it with the
 * CPU, and in small pages pays for a miss of the TLB every 4 KiB. */
static void *map_pages(size_t bytes)
{
    size_t room = bytes < HUGE ? bytes : bytes + HUGE;
    char *addr = (char *)mmap(NULL, room, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t head = (HUGE - (uintptr_t)addr % HUGE) % HUGE;

    if (addr == MAP_FAILED)
        return NULL;
    if (room == bytes)
        return addr;
    if (head > 0)
        munmap(addr, head);
    if (head < HUGE)
        munmap(addr + head + bytes, HUGE - head);
    madvise(addr + head, bytes, MADV_HUGEPAGE); /* or small pages it is */
    return addr + head;
}

/* Memory of our own, registered, rather than the driver's: that goes with its
 * context while the MPI below may still write to it. */
static int alloc_pinned(void **out, const struct mgds_context *ctx,
                        size_t bytes)
{
    void *addr = map_pages(bytes);
    int rc;

    if (!addr)
        return -ENOMEM;
    rc = pin_memory(addr, ctx, bytes);
    if (rc < 0)
        munmap(addr, bytes);
    else
        *out = addr;
    return rc;
}

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

int mgds_trial_alloc(void **out, const struct mgds_context *ctx, size_t bytes)
{
    const struct mgds_driver *driver = mgds_driver();
    CUdeviceptr ptr = 0;
    int rc;

    if (!driver || !driver->cuMemAlloc || !driver->cuMemFree)
        return -ENOTSUP;
    rc = mgds_context_enter(ctx);
    if (rc < 0)
        return rc;
    rc = mgds_cu(driver->cuMemAlloc(&ptr, bytes));
    mgds_context_leave();
    if (rc == 0)
        *out = (void *)(uintptr_t)ptr;
    return rc;
}

void mgds_trial_free(const struct mgds_context *ctx, void *addr)
{
    if (mgds_context_enter(ctx) < 0)
        return;
    mgds_cu(mgds_driver()->cuMemFree((CUdeviceptr)(uintptr_t)addr));
    mgds_context_leave();
}

int mgds_pinned_create(struct mgds_pinned **out, struct mgds_context *ctx,
                       size_t bytes)
{
    struct mgds_pinned *pinned =
        (struct mgds_pinned *)mgds_calloc(1, sizeof(*pinned));
    int rc;

    if (!pinned)
        return -ENOMEM;
    pinned->bytes = whole_pages(bytes);
    rc = alloc_pinned(&pinned->addr, ctx, pinned->bytes);
    if (rc < 0) {
        free(pinned);
        return rc;
    }
    pinned->ctx = mgds_context_get(ctx);
    pinned->id = buffer_id(pinned->addr);
    *out = pinned;
    return 0;
}

/* With its context the registration went too, and somebody else may have
 * registered the same pages meanwhile: the id tells. */
static void free_pinned(struct mgds_deferred *item)
{
    struct mgds_pinned *pinned =
        MGDS_CONTAINER_OF(item, struct mgds_pinned, deferred);

    if (mgds_context_lives(pinned->ctx) &&
        buffer_id(pinned->addr) == pinned->id &&
        mgds_context_enter(pinned->ctx) == 0) {
        mgds_cu(mgds_driver()->cuMemHostUnregister(pinned->addr));
        mgds_context_leave();
    }
    munmap(pinned->addr, pinned->bytes);
    mgds_context_put(pinned->ctx);
    free(pinned);
}

void mgds_pinned_destroy(struct mgds_pinned *pinned)
{
    pinned->deferred.run = free_pinned;
    mgds_defer(&pinned->deferred);
}

static CUdeviceptr address_of(const void *addr)
{
    return (CUdeviceptr)(uintptr_t)addr;
}

static int copy_line(const struct mgds_copy *copy, size_t bytes,
                     CUstream stream)
{
    return mgds_cu(mgds_driver()->cuMemcpyAsync(
        address_of(copy->dst), address_of(copy->src), bytes, stream));
}

static int copy_plane(const struct mgds_copy *copy, CUstream stream)
{
    const CUDA_MEMCPY2D plane = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = address_of(copy->src),
        .srcPitch = copy->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = address_of(copy->dst),
        .dstPitch = copy->dst_pitch,
        .WidthInBytes = copy->width,
        .Height = copy->rows,
    };

    return mgds_cu(mgds_driver()->cuMemcpy2DAsync(&plane, stream));
}

/* The driver takes slices in rows. */
static int copy_planes(const struct mgds_copy *copy, CUstream stream)
{
    const CUDA_MEMCPY3D cube = {
        .srcMemoryType = CU_MEMORYTYPE_UNIFIED,
        .srcDevice = address_of(copy->src),
        .srcPitch = copy->src_pitch,
        .srcHeight = copy->src_slice / copy->src_pitch,
        .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
        .dstDevice = address_of(copy->dst),
        .dstPitch = copy->dst_pitch,
        .dstHeight = copy->dst_slice / copy->dst_pitch,
        .WidthInBytes = copy->width,
        .Height = copy->rows,
        .Depth = copy->planes,
    };

    return mgds_cu(mgds_driver()->cuMemcpy3DAsync(&cube, stream));
}

static bool slice_fits(size_t slice, size_t pitch, size_t rows)
{
    return slice % pitch == 0 && slice / pitch >= rows;
}

/* Folds rows into the width, and planes into rows, where there is one only or
 * nothing lies between them on either side: fewer dimensions copy faster. */
static void fold_rows(struct mgds_copy *copy)
{
    if (copy->rows > 1 &&
        (copy->dst_pitch != copy->width || copy->src_pitch != copy->width))
        return;
    copy->width *= copy->rows;
    copy->rows = copy->planes;
    copy->planes = 1;
    copy->dst_pitch = copy->dst_slice;
    copy->src_pitch = copy->src_slice;
}

int mgds_copy_async(const struct mgds_copy *copy, void *stream)
{
    struct mgds_copy shape = *copy;

    if (shape.width == 0 || shape.rows == 0 || shape.planes == 0)
        return 0;
    fold_rows(&shape);
    fold_rows(&shape);
    if (shape.rows == 1 && shape.planes == 1)
        return copy_line(&shape, shape.width, stream);
    if (shape.dst_pitch < shape.width || shape.src_pitch < shape.width)
        return -EINVAL;
    if (shape.planes == 1)
        return copy_plane(&shape, stream);
    if (!slice_fits(shape.dst_slice, shape.dst_pitch, shape.rows) ||
        !slice_fits(shape.src_slice, shape.src_pitch, shape.rows))
        return -EINVAL;
    return copy_planes(&shape, stream);
}

/* An odd byte goes with the one ahead of it, once more. */
int mgds_copy_rows_async(void *dst, const void *src, size_t bytes, void *stream)
{
    const size_t half = bytes / 2, rest = bytes - 2;
    const struct mgds_copy both = {.dst = dst,
                                   .src = src,
                                   .width = half,
                                   .rows = 2,
                                   .dst_pitch = half,
                                   .src_pitch = half};
    const struct mgds_copy last = {.dst = (char *)dst + rest,
                                   .src = (const char *)src + rest,
                                   .width = 1,
                                   .rows = 2,
                                   .dst_pitch = 1,
                                   .src_pitch = 1};
    int rc = copy_plane(&both, stream);

    return rc == 0 && bytes % 2 != 0 ? copy_plane(&last, stream) : rc;
}
