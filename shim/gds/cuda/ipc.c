/* Memory between processes; see ipc.h. */
#include "shim/gds/cuda/ipc.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"
#include "shim/gds/cuda/stream.h"

enum { PATIENCE = 2 /* seconds */ };

_Static_assert(sizeof(struct mgds_gpu_id) == sizeof(CUuuid), "the driver's");
_Static_assert(sizeof(struct mgds_shared_name) == sizeof(CUipcMemHandle),
               "the driver's handle");

static int identify_device(struct mgds_gpu_id *out, int device)
{
    const struct mgds_driver *driver = mgds_driver();
    CUuuid uuid;
    int rc;

    if (!driver || !driver->cuDeviceGetUuid)
        return -ENOTSUP;
    rc = mgds_cu(driver->cuDeviceGetUuid(&uuid, device));
    if (rc == 0)
        memcpy(out, &uuid, sizeof(*out));
    return rc;
}

int mgds_gpu_identify(struct mgds_gpu_id *out, const struct mgds_context *ctx)
{
    return identify_device(out, ctx->device);
}

/* Its ordinal here, or -1. */
static int device_of(const struct mgds_gpu_id *id)
{
    struct mgds_gpu_id it;
    int count = 0;

    if (mgds_cu(mgds_driver()->cuDeviceGetCount(&count)) < 0)
        return -1;
    while (--count >= 0)
        if (identify_device(&it, count) == 0 &&
            memcmp(&it, id, sizeof(it)) == 0)
            break;
    return count;
}

bool mgds_gpu_is_far(const struct mgds_context *ctx,
                     const struct mgds_gpu_id *id)
{
    const struct mgds_driver *driver = mgds_driver();
    int device, can = 1;

    if (!driver || !driver->cuDeviceCanAccessPeer)
        return false;
    device = device_of(id);
    return device >= 0 && device != ctx->device &&
           mgds_cu(driver->cuDeviceCanAccessPeer(&can, ctx->device, device)) ==
               0 &&
           !can;
}

static time_t read_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static bool has_calls(const struct mgds_driver *driver)
{
    return driver && driver->cuMemAlloc && driver->cuMemFree &&
           driver->cuMemsetD8Async && driver->cuIpcGetMemHandle &&
           driver->cuIpcOpenMemHandle && driver->cuIpcCloseMemHandle;
}

/* The stream is ours, nothing on it waits for anybody; but where waits stand in
 * all hardware queues it does not run before they are over: -EBUSY. */
static int finish_stream(void *stream)
{
    time_t end = read_seconds() + PATIENCE;
    int rc;

    while ((rc = mgds_stream_query(stream)) == 0) {
        if (read_seconds() > end)
            return -EBUSY;
        sched_yield();
    }
    return rc < 0 ? rc : 0;
}

int mgds_shared_clear(const struct mgds_shared *shared)
{
    void *stream;
    int rc = mgds_stream_own(&stream, shared->ctx);

    if (rc == 0)
        rc = mgds_context_enter(shared->ctx);
    if (rc < 0)
        return rc;
    rc = mgds_cu(mgds_driver()->cuMemsetD8Async(
        (CUdeviceptr)(uintptr_t)shared->addr, 0, shared->bytes, stream));
    if (rc == 0)
        rc = finish_stream(stream);
    mgds_context_leave();
    return rc;
}

static int allocate_memory(struct mgds_shared *shared)
{
    CUdeviceptr ptr = 0;
    int rc = mgds_context_enter(shared->ctx);

    if (rc < 0)
        return rc;
    rc = mgds_cu(mgds_driver()->cuMemAlloc(&ptr, shared->bytes));
    mgds_context_leave();
    shared->addr = (void *)(uintptr_t)ptr;
    return rc;
}

int mgds_shared_create_unset(struct mgds_shared **out, struct mgds_context *ctx,
                             size_t bytes)
{
    struct mgds_shared *shared;
    int rc;

    if (!has_calls(mgds_driver()))
        return -ENOTSUP;
    shared = (struct mgds_shared *)mgds_calloc(1, sizeof(*shared));
    if (!shared)
        return -ENOMEM;
    shared->ctx = mgds_context_get(ctx);
    shared->bytes = bytes;
    rc = allocate_memory(shared);
    if (rc < 0) {
        mgds_context_put(ctx);
        free(shared);
        return rc;
    }
    *out = shared;
    return 0;
}

int mgds_shared_create(struct mgds_shared **out, struct mgds_context *ctx,
                       size_t bytes)
{
    struct mgds_shared *shared = NULL;
    int rc = mgds_shared_create_unset(&shared, ctx, bytes);

    if (rc < 0)
        return rc;
    rc = mgds_shared_clear(shared);
    if (rc < 0)
        mgds_shared_destroy(shared);
    else
        *out = shared;
    return rc;
}

static void free_shared(struct mgds_deferred *item)
{
    struct mgds_shared *shared =
        MGDS_CONTAINER_OF(item, struct mgds_shared, deferred);

    if (mgds_context_lives(shared->ctx) &&
        mgds_context_enter(shared->ctx) == 0) {
        mgds_cu(mgds_driver()->cuMemFree((CUdeviceptr)(uintptr_t)shared->addr));
        mgds_context_leave();
    }
    mgds_context_put(shared->ctx);
    free(shared);
}

void mgds_shared_destroy(struct mgds_shared *shared)
{
    shared->deferred.run = free_shared;
    mgds_defer(&shared->deferred);
}

static int tell_name(struct mgds_shared_name *out,
                     const struct mgds_context *ctx, uintptr_t addr)
{
    CUipcMemHandle handle;
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return rc;
    rc = mgds_cu(mgds_driver()->cuIpcGetMemHandle(&handle, addr));
    mgds_context_leave();
    if (rc == 0)
        memcpy(out, &handle, sizeof(handle));
    return rc;
}

int mgds_shared_tell(const struct mgds_shared *shared,
                     struct mgds_shared_name *out)
{
    return tell_name(out, shared->ctx, (uintptr_t)shared->addr);
}

bool mgds_memory_lives(uint64_t id, uintptr_t base)
{
    const struct mgds_driver *driver = mgds_driver();
    unsigned long long now = 0;

    return driver &&
           driver->cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                         base) == CUDA_SUCCESS &&
           now == id;
}

/* The name is of what is there when it is asked for: of this allocation, if
 * that is there afterwards. */
int mgds_memory_tell(const struct mgds_ptr *ptr, struct mgds_shared_name *out)
{
    struct mgds_shared_name name;
    struct mgds_context *ctx;
    int rc;

    if (!has_calls(mgds_driver()))
        return -ENOTSUP;
    rc = mgds_context_of_ptr(&ctx, ptr);
    if (rc < 0)
        return rc;
    rc = tell_name(&name, ctx, ptr->base);
    mgds_context_put(ctx);
    if (rc == 0 && !mgds_memory_lives(ptr->id, ptr->base))
        rc = -EFAULT;
    if (rc == 0)
        *out = name;
    return rc;
}

static int open_mapping(struct mgds_mapped *mapped,
                        const struct mgds_shared_name *name)
{
    CUdeviceptr ptr = 0;
    CUipcMemHandle handle;
    CUresult result;
    int rc = mgds_context_enter(mapped->ctx);

    if (rc < 0)
        return rc;
    memcpy(&handle, name, sizeof(handle));
    result = mgds_driver()->cuIpcOpenMemHandle(
        &ptr, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    rc = mgds_cu(result);
    mgds_context_leave();
    mapped->addr = (void *)(uintptr_t)ptr;
    return result == CUDA_ERROR_ALREADY_MAPPED ? -EBUSY : rc;
}

int mgds_mapped_create(struct mgds_mapped **out, struct mgds_context *ctx,
                       const struct mgds_shared_name *name)
{
    struct mgds_mapped *mapped;
    int rc;

    if (!has_calls(mgds_driver()))
        return -ENOTSUP;
    mapped = (struct mgds_mapped *)mgds_calloc(1, sizeof(*mapped));
    if (!mapped)
        return -ENOMEM;
    mapped->ctx = mgds_context_get(ctx);
    rc = open_mapping(mapped, name);
    if (rc < 0) {
        mgds_context_put(ctx);
        free(mapped);
    } else {
        *out = mapped;
    }
    return rc;
}

void mgds_mapped_close(struct mgds_mapped *mapped)
{
    if (mgds_context_lives(mapped->ctx) &&
        mgds_context_enter(mapped->ctx) == 0) {
        mgds_cu(mgds_driver()->cuIpcCloseMemHandle(
            (CUdeviceptr)(uintptr_t)mapped->addr));
        mgds_context_leave();
    }
    mgds_context_put(mapped->ctx);
    free(mapped);
}

static void close_mapping(struct mgds_deferred *item)
{
    mgds_mapped_close(MGDS_CONTAINER_OF(item, struct mgds_mapped, deferred));
}

void mgds_mapped_destroy(struct mgds_mapped *mapped)
{
    mapped->deferred.run = close_mapping;
    mgds_defer(&mapped->deferred);
}
