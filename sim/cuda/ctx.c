/* Contexts: life, the current one, synchronisation, peers. */
#include "sim/cuda/ctx.h"

#include "sim/cuda/capture.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/stream.h"

CUresult mgds_ctx_current(struct mgds_gpu_ctx **out)
{
    struct mgds_gpu_thread *self = &mgds_gpu_thread;
    struct mgds_gpu_ctx *ctx =
        self->depth ? self->stack[self->depth - 1] : NULL;

    if (!ctx)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!ctx->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = ctx;
    return mgds_gpu_lost();
}

CUresult mgds_ctx_check(CUcontext handle, struct mgds_gpu_ctx **out)
{
    struct mgds_gpu_ctx *ctx = (struct mgds_gpu_ctx *)(void *)handle;

    if (!mgds_handle_is(MGDS_HANDLE_CTX, ctx) || !ctx->alive)
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = ctx;
    return CUDA_SUCCESS;
}

CUresult mgds_ctx_wait(struct mgds_gpu_ctx *ctx)
{
    mgds_stream_wait_all(ctx->device, ctx);
    return mgds_gpu_lost();
}

static struct mgds_gpu_ctx *ctx_new(struct mgds_gpu_device *device,
                                    unsigned flags)
{
    struct mgds_gpu_ctx *ctx = mgds_gpu_calloc(1, sizeof(*ctx));

    ctx->device = device;
    ctx->flags = flags;
    mgds_handle_add(MGDS_HANDLE_CTX, ctx);
    return ctx;
}

/* A primary context comes to life again with a new id and none of its past. */
static void ctx_open(struct mgds_gpu_ctx *ctx)
{
    ctx->id = mgds_gpu_next_id();
    ctx->alive = true;
    ctx->peers = 0;
    ctx->legacy = mgds_stream_new(ctx, 0, 0);
}

/* Lets its work end, then takes everything that belongs to it. */
static void ctx_close(struct mgds_gpu_ctx *ctx)
{
    mgds_ctx_wait(ctx);
    ctx->alive = false;
    ctx->refs = 0;
    mgds_stream_drop_all(ctx);
    ctx->legacy = NULL;
    mgds_mem_drop_all(ctx);
}

/* The same struct, and so the same handle, for the life of the process. */
static struct mgds_gpu_ctx *primary_of(struct mgds_gpu_device *device)
{
    if (!device->primary) {
        device->primary = ctx_new(device, 0);
        device->primary->primary = true;
    }
    return device->primary;
}

static CUresult primary_retain(CUcontext *out, CUdevice ordinal)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);
    struct mgds_gpu_ctx *ctx;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (mgds_gpu_lost())
        return mgds_gpu_lost();
    ctx = primary_of(device);
    if (!ctx->alive)
        ctx_open(ctx);
    ctx->refs++;
    *out = mgds_ctx_handle(ctx);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, primary_retain(ctx, device));
}

static CUresult primary_release(CUdevice ordinal)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!device->primary || !device->primary->alive ||
        device->primary->refs == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (--device->primary->refs)
        return CUDA_SUCCESS;
    /* another thread may retain it while its work ends */
    mgds_ctx_wait(device->primary);
    if (device->primary->refs == 0 && device->primary->alive)
        ctx_close(device->primary);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, primary_release(device));
}

/* Takes all of the context, retained or not; the next retain opens a new one.
 * A lost process stays lost. */
static CUresult primary_reset(CUdevice ordinal)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);
    struct mgds_gpu_ctx *ctx;

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    ctx = primary_of(device);
    if (ctx->alive)
        ctx_close(ctx);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, primary_reset(device));
}

/* At most one way of scheduling. */
static bool flags_are_good(unsigned flags)
{
    unsigned sched = flags & CU_CTX_SCHED_MASK;

    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) &&
           (sched == 0 || sched == 1 || sched == 2 || sched == 4);
}

static CUresult primary_set_flags(CUdevice ordinal, unsigned flags)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!flags_are_good(flags))
        return CUDA_ERROR_INVALID_VALUE;
    primary_of(device)->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, primary_set_flags(device, flags));
}

static CUresult primary_state(CUdevice ordinal, unsigned *flags, int *active)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);

    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (!flags || !active)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = primary_of(device)->flags;
    *active = device->primary->alive;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                    int *active)
{
    MGDS_API(call, MGDS_NEED_INIT, primary_state(device, flags, active));
}

/* The depth of the stack is a limit of the simulator. */
static CUresult push(CUcontext handle)
{
    struct mgds_gpu_thread *self = &mgds_gpu_thread;
    struct mgds_gpu_ctx *ctx;
    CUresult rc;

    if (!handle)
        return CUDA_ERROR_INVALID_VALUE;
    rc = mgds_ctx_check(handle, &ctx);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (self->depth == MGDS_CTX_DEPTH)
        return CUDA_ERROR_OUT_OF_MEMORY;
    self->stack[self->depth++] = ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, push(ctx));
}

static CUresult pop(CUcontext *out)
{
    struct mgds_gpu_thread *self = &mgds_gpu_thread;

    if (self->depth == 0)
        return CUDA_ERROR_INVALID_CONTEXT;
    self->depth--;
    if (out)
        *out = mgds_ctx_handle(self->stack[self->depth]);
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, pop(ctx));
}

/* Replaces the top of the stack; NULL takes it away. */
static CUresult set_current(CUcontext handle)
{
    struct mgds_gpu_thread *self = &mgds_gpu_thread;
    struct mgds_gpu_ctx *ctx;
    CUresult rc;

    if (!handle) {
        self->depth -= self->depth > 0;
        return CUDA_SUCCESS;
    }
    rc = mgds_ctx_check(handle, &ctx);
    if (rc != CUDA_SUCCESS)
        return rc;
    self->depth += self->depth == 0;
    self->stack[self->depth - 1] = ctx;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, set_current(ctx));
}

static CUresult get_current(CUcontext *out)
{
    struct mgds_gpu_thread *self = &mgds_gpu_thread;

    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = self->depth ? mgds_ctx_handle(self->stack[self->depth - 1]) : NULL;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, get_current(ctx));
}

static CUresult create(CUcontext *out, unsigned flags, CUdevice ordinal)
{
    struct mgds_gpu_device *device = mgds_gpu_device(ordinal);
    struct mgds_gpu_ctx *ctx;
    CUresult rc;

    if (!out || !flags_are_good(flags))
        return CUDA_ERROR_INVALID_VALUE;
    if (!device)
        return CUDA_ERROR_INVALID_DEVICE;
    if (mgds_gpu_lost())
        return mgds_gpu_lost();
    ctx = ctx_new(device, flags);
    ctx->refs = 1;
    ctx_open(ctx);
    rc = push(mgds_ctx_handle(ctx));
    if (rc == CUDA_SUCCESS)
        *out = mgds_ctx_handle(ctx);
    return rc;
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
    MGDS_API(call, MGDS_NEED_INIT, create(ctx, flags, device));
}

CUresult cuCtxCreate_v3(CUcontext *ctx, CUexecAffinityParam *params, int count,
                        unsigned flags, CUdevice device)
{
    if (params || count)
        return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    return cuCtxCreate_v2(ctx, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *ctx, CUctxCreateParams *params,
                        unsigned flags, CUdevice device)
{
    if (params)
        return CUDA_ERROR_NOT_SUPPORTED;
    return cuCtxCreate_v2(ctx, flags, device);
}

/* The calling thread loses it if it is on top of its stack; other threads
 * find it destroyed. */
static CUresult destroy(CUcontext handle)
{
    struct mgds_gpu_thread *self = &mgds_gpu_thread;
    struct mgds_gpu_ctx *ctx;
    CUresult rc = mgds_ctx_check(handle, &ctx);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (ctx->primary)
        return CUDA_ERROR_INVALID_CONTEXT;
    ctx_close(ctx);
    if (self->depth && self->stack[self->depth - 1] == ctx)
        self->depth--;
    return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, destroy(ctx));
}

static CUresult get_device(struct mgds_gpu_ctx *ctx, CUdevice *device)
{
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = ctx->device->ordinal;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    MGDS_API(call, MGDS_NEED_CTX, get_device(call.ctx, device));
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc;

    if (!handle)
        return cuCtxGetDevice(device);
    pthread_mutex_lock(&mgds_gpu.lock);
    rc = mgds_ctx_check(handle, &ctx);
    if (rc == CUDA_SUCCESS)
        rc = get_device(ctx, device);
    pthread_mutex_unlock(&mgds_gpu.lock);
    return rc;
}

static CUresult get_flags(struct mgds_gpu_ctx *ctx, unsigned *flags)
{
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = ctx->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned *flags)
{
    MGDS_API(call, MGDS_NEED_CTX, get_flags(call.ctx, flags));
}

static CUresult set_flags(struct mgds_gpu_ctx *ctx, unsigned flags)
{
    if (!flags_are_good(flags))
        return CUDA_ERROR_INVALID_VALUE;
    ctx->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX, set_flags(call.ctx, flags));
}

/* NULL is the current one. */
static CUresult pick(CUcontext handle, struct mgds_gpu_ctx **ctx)
{
    return handle ? mgds_ctx_check(handle, ctx) : mgds_ctx_current(ctx);
}

static CUresult get_id(CUcontext handle, unsigned long long *id)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc = pick(handle, &ctx);

    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *id = ctx->id;
    return rc;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
    MGDS_API(call, MGDS_NEED_INIT, get_id(ctx, id));
}

static CUresult get_version(CUcontext handle, unsigned *version)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc = pick(handle, &ctx);

    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    if (rc == CUDA_SUCCESS)
        *version = 3020;
    return rc;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned *version)
{
    MGDS_API(call, MGDS_NEED_INIT, get_version(ctx, version));
}

/* A captured stream's work never ends: waiting for it is refused. */
static CUresult synchronize(struct mgds_gpu_ctx *ctx)
{
    CUresult rc = mgds_capture_bars_wait(ctx);

    return rc == CUDA_SUCCESS ? mgds_ctx_wait(ctx) : rc;
}

CUresult cuCtxSynchronize(void)
{
    MGDS_API(call, MGDS_NEED_CTX, synchronize(call.ctx));
}

static CUresult synchronize_one(CUcontext handle)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc = pick(handle, &ctx);

    return rc == CUDA_SUCCESS ? synchronize(ctx) : rc;
}

CUresult cuCtxSynchronize_v2(CUcontext ctx)
{
    MGDS_API(call, MGDS_NEED_INIT, synchronize_one(ctx));
}

static CUresult priority_range(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    MGDS_API(call, MGDS_NEED_CTX, priority_range(least, greatest));
}

/* The device of a peer in ctx->peers; 0 if it is the context's own. */
static CUresult peer_bit(const struct mgds_gpu_ctx *ctx, CUcontext handle,
                         unsigned *bit)
{
    struct mgds_gpu_ctx *peer;
    CUresult rc = mgds_ctx_check(handle, &peer);

    *bit = 0;
    if (rc == CUDA_SUCCESS && peer->device != ctx->device)
        *bit = 1u << peer->device->ordinal;
    return rc;
}

static CUresult enable_peer(struct mgds_gpu_ctx *ctx, CUcontext handle,
                            unsigned flags)
{
    unsigned bit;
    CUresult rc;

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    rc = peer_bit(ctx, handle, &bit);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!bit || !mgds_gpu.cfg.peers)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (ctx->peers & bit)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    ctx->peers |= bit;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_CTX, enable_peer(call.ctx, peer, flags));
}

static CUresult disable_peer(struct mgds_gpu_ctx *ctx, CUcontext handle)
{
    unsigned bit;
    CUresult rc = peer_bit(ctx, handle, &bit);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (!(ctx->peers & bit))
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    ctx->peers &= ~bit;
    return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    MGDS_API(call, MGDS_NEED_CTX, disable_peer(call.ctx, peer));
}

/* Limits have no effect here; they read as a fresh context of the driver's. */
static CUresult get_limit(size_t *value, CUlimit limit)
{
    static const size_t values[] = {1024, 6291456, 8388608, 0, 0, 64, 0, 0};

    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if (limit >= sizeof(values) / sizeof(*values))
        return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = values[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    MGDS_API(call, MGDS_NEED_CTX, get_limit(value, limit));
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    (void)value;
    MGDS_API(call, MGDS_NEED_CTX,
             limit > CU_LIMIT_PERSISTING_L2_CACHE_SIZE
                 ? CUDA_ERROR_UNSUPPORTED_LIMIT
                 : CUDA_SUCCESS);
}
