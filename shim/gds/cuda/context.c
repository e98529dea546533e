/* Finding contexts and standing in them; see context.h. */
#include "shim/gds/cuda/context.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/base/tls.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

static struct mgds_lock context_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct mgds_context *contexts; /* under context_lock */

/* What makes a context: enough to find or make its object. */
struct identity {
    CUcontext handle;
    uint64_t id;
    int device;
};

struct mgds_context *mgds_context_get(struct mgds_context *ctx)
{
    __atomic_fetch_add(&ctx->refs, 1, __ATOMIC_RELAXED);
    return ctx;
}

/* Its stream went with the context, or goes with the process: destroying it
 * would need a context that may be gone. */
void mgds_context_put(struct mgds_context *ctx)
{
    if (__atomic_sub_fetch(&ctx->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(ctx);
}

/* The object of that context, with a reference, or NULL. An object of the same
 * handle with another id is of a context that was destroyed: it leaves. */
static struct mgds_context *find_locked(const struct identity *want,
                                        struct mgds_context **gone)
{
    struct mgds_context **at = &contexts;

    while (*at && (*at)->handle != want->handle)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    if ((*at)->id == want->id)
        return mgds_context_get(*at);
    *gone = *at;
    *at = (*at)->next;
    return NULL;
}

/* Made outside the lock, put in if nobody else was faster. */
static int add_context(struct mgds_context **out, const struct identity *want)
{
    struct mgds_context *gone = NULL, *found;
    struct mgds_context *fresh =
        (struct mgds_context *)mgds_calloc(1, sizeof(*fresh));

    if (!fresh)
        return -ENOMEM;
    *fresh = (struct mgds_context){.handle = want->handle,
                                   .id = want->id,
                                   .device = want->device,
                                   .refs = 1};
    mgds_lock_acquire(&context_lock);
    found = find_locked(want, &gone);
    if (!found) {
        found = mgds_context_get(fresh);
        fresh->next = contexts;
        contexts = fresh;
        fresh = NULL;
    }
    mgds_lock_release(&context_lock);
    free(fresh);
    if (gone)
        mgds_context_put(gone);
    *out = found;
    return 0;
}

static int get_context(struct mgds_context **out, const struct identity *want)
{
    struct mgds_context *gone = NULL, *found;

    mgds_lock_acquire(&context_lock);
    found = find_locked(want, &gone);
    mgds_lock_release(&context_lock);
    if (gone)
        mgds_context_put(gone);
    if (!found)
        return add_context(out, want);
    *out = found;
    return 0;
}

static int push_context(const struct mgds_driver *driver, CUcontext handle)
{
    return mgds_cu(driver->cuCtxPushCurrent(handle));
}

/* Fails only if somebody popped ours, and then there is nothing to put back. */
static void pop_context(const struct mgds_driver *driver)
{
    CUcontext ours;

    mgds_cu(driver->cuCtxPopCurrent(&ours));
}

/* Asked inside the context: the call that takes one is younger than 12.0. */
static int device_of(const struct mgds_driver *driver, CUcontext handle,
                     int *device)
{
    int rc = push_context(driver, handle);

    if (rc < 0)
        return rc;
    rc = mgds_cu(driver->cuCtxGetDevice(device));
    pop_context(driver);
    return rc;
}

static int get_by_handle(struct mgds_context **out,
                         const struct mgds_driver *driver, CUcontext handle)
{
    struct identity want = {.handle = handle};
    unsigned long long id;
    int rc = mgds_cu(driver->cuCtxGetId(handle, &id));

    if (rc == 0)
        rc = device_of(driver, handle, &want.device);
    if (rc < 0)
        return rc;
    want.id = id;
    return get_context(out, &want);
}

/* 1 if the primary context of the device is active, 0, or negative errno. */
static int ask_primary(const struct mgds_driver *driver, int device)
{
    unsigned flags;
    int active = 0;
    int rc =
        mgds_cu(driver->cuDevicePrimaryCtxGetState(device, &flags, &active));

    return rc < 0 ? rc : active != 0;
}

/*
 * 1 and the handle if the primary context of the device is active. The handle
 * is borrowed: only the program may end the context, so our own hold on it is
 * given back at once. If the program ends it between the first and the second
 * call, the second makes it and the third unmakes it: wasted, but unseen.
 */
static int find_primary(const struct mgds_driver *driver, int device,
                        CUcontext *handle)
{
    int rc = ask_primary(driver, device);

    if (rc <= 0)
        return rc;
    rc = mgds_cu(driver->cuDevicePrimaryCtxRetain(handle, device));
    if (rc < 0)
        return rc;
    rc = mgds_cu(driver->cuDevicePrimaryCtxRelease(device));
    return rc < 0 ? rc : 1;
}

/* 1 and the handle if the current context is on that device. */
static int find_current(const struct mgds_driver *driver, int device,
                        CUcontext *handle)
{
    int current = -1;
    int rc = mgds_cu(driver->cuCtxGetCurrent(handle));

    if (rc < 0 || !*handle)
        return rc;
    rc = mgds_cu(driver->cuCtxGetDevice(&current));
    return rc < 0 ? rc : current == device;
}

static int get_by_device(struct mgds_context **out,
                         const struct mgds_driver *driver, int device)
{
    CUcontext handle = NULL;
    int rc = find_primary(driver, device, &handle);

    if (rc == 0)
        rc = find_current(driver, device, &handle);
    if (rc == 0)
        return -ENODEV;
    return rc < 0 ? rc : get_by_handle(out, driver, handle);
}

static bool is_any_known(void)
{
    bool any;

    mgds_lock_acquire(&context_lock);
    any = contexts != NULL;
    mgds_lock_release(&context_lock);
    return any;
}

/* Whose streams may stand at waits of ours is known: the driver, which may
 * stand with them, is not asked then. */
bool mgds_context_is_any(void)
{
    const struct mgds_driver *driver = mgds_driver();
    CUcontext current = NULL;
    int devices = 0;

    if (is_any_known())
        return true;
    if (!driver || mgds_cu(driver->cuCtxGetCurrent(&current)) < 0)
        return false;
    if (current)
        return true;
    if (mgds_cu(driver->cuDeviceGetCount(&devices)) < 0)
        return false;
    for (int device = 0; device < devices; device++)
        if (ask_primary(driver, device) == 1)
            return true;
    return false;
}

int mgds_context_of_device(struct mgds_context **out, int device)
{
    const struct mgds_driver *driver = mgds_driver();
    CUcontext handle = NULL;
    int devices = 0, rc;

    if (!driver)
        return -EINVAL;
    rc = mgds_cu(driver->cuDeviceGetCount(&devices));
    if (rc == 0 && device >= devices)
        return -EINVAL;
    if (rc == 0)
        rc = find_primary(driver, device, &handle);
    if (rc <= 0)
        return rc < 0 ? rc : -ENODEV;
    return get_by_handle(out, driver, handle);
}

/* The device of imported memory may be another than its context's. */
int mgds_context_of_ptr(struct mgds_context **out, const struct mgds_ptr *ptr)
{
    const struct identity want = {ptr->ctx, ptr->ctx_id, ptr->device};
    const struct mgds_driver *driver = mgds_driver();

    if (!driver || ptr->kind == MGDS_PTR_HOST)
        return -EINVAL;
    if (ptr->kind == MGDS_PTR_IMPORTED)
        return get_by_handle(out, driver, ptr->ctx);
    if (ptr->ctx)
        return get_context(out, &want);
    return get_by_device(out, driver, ptr->device);
}

int mgds_context_of_stream(struct mgds_context **out, void *stream)
{
    const struct mgds_driver *driver = mgds_driver();
    CUcontext handle;
    int rc;

    if (!driver)
        return -EINVAL;
    rc = mgds_cu(driver->cuStreamGetCtx(stream, &handle));
    return rc < 0 ? rc : get_by_handle(out, driver, handle);
}

bool mgds_context_lives(const struct mgds_context *ctx)
{
    const struct mgds_driver *driver = mgds_driver();
    unsigned long long id;

    return driver->cuCtxGetId(ctx->handle, &id) == CUDA_SUCCESS &&
           id == ctx->id;
}

/* The mode belongs to the thread, and the outermost pair gives it back, if it
 * was changed: instead the driver may tell of an error of earlier work. */
static MGDS_TLS struct {
    unsigned depth;
    bool changed;
    CUstreamCaptureMode mode;
} thread;

static int exchange_mode(CUstreamCaptureMode *mode)
{
    return mgds_cu(mgds_driver()->cuThreadExchangeStreamCaptureMode(mode));
}

void mgds_capture_ignore(void)
{
    if (thread.depth++ > 0)
        return;
    thread.mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    thread.changed = exchange_mode(&thread.mode) == 0;
}

void mgds_capture_heed(void)
{
    if (--thread.depth == 0 && thread.changed)
        (void)exchange_mode(&thread.mode);
}

/* The driver takes the handle of a destroyed context for a good one here
 * (H200, driver 580), but has no id for it. */
int mgds_context_enter(const struct mgds_context *ctx)
{
    int rc;

    if (!mgds_context_lives(ctx))
        return -ESHUTDOWN;
    rc = push_context(mgds_driver(), ctx->handle);
    if (rc == 0)
        mgds_capture_ignore();
    return rc;
}

void mgds_context_leave(void)
{
    mgds_capture_heed();
    pop_context(mgds_driver());
}

void mgds_context_fini(void)
{
    while (contexts) {
        struct mgds_context *next = contexts->next;

        mgds_context_put(contexts);
        contexts = next;
    }
}
