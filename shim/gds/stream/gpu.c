/* What contexts have: made, found, forgotten; see gpu.h. */
#include "shim/gds/stream/gpu.h"

#include <errno.h>
#include <stdlib.h>

#include "device/abi.h"
#include "device/kernels.h"
#include "shim/base/alloc.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/event.h"
#include "shim/gds/cuda/memop.h"
#include "shim/gds/cuda/peer.h"
#include "shim/gds/stream/hwqueue.h"
#include "shim/gds/mem/bounce_state.h"

static struct mgds_lock gpus_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct mgds_gpu *gpus; /* under gpus_lock */

static void destroy_gpu(struct mgds_gpu *gpu)
{
    struct mgds_kernel_handle *const kernels[] = {
        gpu->exchange.few, gpu->exchange.many, gpu->awaits.few,
        gpu->awaits.many,  gpu->pull,          gpu->post,
        gpu->copies,       gpu->tell,          gpu->takes.few,
        gpu->takes.many,   gpu->take,          gpu->push,
        gpu->flag,         gpu->copy};

    for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (kernels[i])
            mgds_kernel_unload(kernels[i]);
    while (gpu->owns > 0)
        mgds_shared_destroy(gpu->own[--gpu->owns]);
    mgds_syncwords_destroy(gpu->words);
    if (gpu->copyqueue) {
        mgds_stock_empty(&gpu->in, gpu->copyqueue->pool);
        mgds_stock_empty(&gpu->out, gpu->copyqueue->pool);
        mgds_copyqueue_put(gpu->copyqueue);
    }
    mgds_context_put(gpu->ctx);
    free(gpu);
}

void mgds_gpu_put(struct mgds_gpu *gpu)
{
    if (__atomic_sub_fetch(&gpu->refs, 1, __ATOMIC_ACQ_REL) == 0)
        destroy_gpu(gpu);
}

static int refuse_kernels(int rc)
{
    errno = -rc;
    mgds_err("no stream of this GPU can be used: the kernels for it cannot be "
             "loaded (%m): build mpix-gds with nvcc for this GPU");
    return -ENOTSUP;
}

static int load_kernels(struct mgds_gpu *gpu)
{
    const struct {
        struct mgds_kernel_handle **out;
        const char *name;
    } kernels[] = {{&gpu->copy, "mgds_copy_kernel"},
                   {&gpu->flag, "mgds_flag_kernel"},
                   {&gpu->push, "mgds_push_kernel"},
                   {&gpu->take, "mgds_take_kernel"},
                   {&gpu->takes.many, "mgds_takes_kernel"},
                   {&gpu->takes.few, "mgds_few_takes_kernel"},
                   {&gpu->tell, "mgds_tell_kernel"},
                   {&gpu->copies, "mgds_copies_kernel"},
                   {&gpu->post, "mgds_post_kernel"},
                   {&gpu->pull, "mgds_pull_kernel"},
                   {&gpu->awaits.many, "mgds_await_kernel"},
                   {&gpu->awaits.few, "mgds_few_awaits_kernel"},
                   {&gpu->exchange.many, "mgds_exchange_kernel"},
                   {&gpu->exchange.few, "mgds_few_exchange_kernel"}};
    int rc = 0;

    for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && rc == 0;
         i++)
        rc = mgds_kernel_load(kernels[i].out, gpu->ctx, mgds_kernel_image,
                              kernels[i].name);
    if (rc == 0 && !gpu->copyqueue->kernel)
        rc = -ENOTSUP;
    return rc == -ENOTSUP || rc == -ENOENT ? refuse_kernels(rc) : rc;
}

/* A first launch may wait for the device, so it is done here, over nothing. */
static int launch_once(struct mgds_gpu *gpu)
{
    static const struct mgds_copy_args copy;
    static const struct mgds_flag_args flag;
    const struct mgds_push_args push = {.units = (uintptr_t)&gpu->trial[4]};
    static const struct mgds_take_args take = {.serial = MGDS_TAKE_NONE};
    static const struct mgds_takes_args takes;
    static const struct mgds_copies_args copies;
    static const struct mgds_pull_args pull = {
        .take = {.serial = MGDS_TAKE_NONE}};
    static const struct mgds_await_args awaits;
    static const struct mgds_exchange_args exchange;
    const struct mgds_post_args post = {.ready = (uintptr_t)&gpu->trial[1]};
    const struct mgds_tell_args tell = {.from = (uintptr_t)&gpu->trial[1],
                                        .to = (uintptr_t)&gpu->trial[1],
                                        .done = (uintptr_t)&gpu->trial[2]};
    const struct {
        struct mgds_kernel_handle *kernel;
        const void *args;
    } launches[] = {{gpu->copy, &copy},
                    {gpu->flag, &flag},
                    {gpu->push, &push},
                    {gpu->take, &take},
                    {gpu->takes.many, &takes},
                    {gpu->takes.few, &takes},
                    {gpu->copies, &copies},
                    {gpu->tell, &tell},
                    {gpu->post, &post},
                    {gpu->pull, &pull},
                    {gpu->awaits.many, &awaits},
                    {gpu->awaits.few, &awaits},
                    {gpu->exchange.many, &exchange},
                    {gpu->exchange.few, &exchange}};
    int rc = 0;

    for (unsigned i = 0; i < sizeof(launches) / sizeof(launches[0]) && rc == 0;
         i++)
        rc = mgds_kernel_launch(launches[i].kernel, gpu->copyqueue->stream, 1,
                                1, launches[i].args);
    return rc;
}

/* Some platforms know the calls and refuse them. */
static int try_memops(struct mgds_gpu *gpu, unsigned width)
{
    const struct mgds_memop trial[] = {
        {.word = gpu->trial, .value = 1},
        {.wait = true, .word = gpu->trial, .value = 1},
    };

    if (width == 0)
        return -ENOTSUP;
    return mgds_memop_queue(gpu->copyqueue->stream, width, trial, 2);
}

static int set_trigger(struct mgds_gpu *gpu)
{
    enum mgds_trigger trigger = mgds_ctx()->config.trigger;
    unsigned width = mgds_memop_width(gpu->ctx);
    int rc;

    if (trigger == MGDS_TRIGGER_KERNEL)
        return 0;
    rc = try_memops(gpu, width);
    if (rc == 0)
        gpu->width = width;
    if (rc == -ENOTSUP && trigger == MGDS_TRIGGER_MEMOP) {
        mgds_err("MPIX_GDS_TRIGGER=memop, but this GPU has no stream memory "
                 "operations: leave it at auto, kernels wait then");
        return rc;
    }
    return rc == -ENOTSUP ? 0 : rc;
}

/* The first event ever may wait for the device as well. */
static int make_event(struct mgds_gpu *gpu)
{
    struct mgds_event event;
    int rc = mgds_event_init(&event, gpu->ctx);

    if (rc == 0)
        mgds_event_fini(&event);
    return rc;
}

static int warm_kernels(struct mgds_gpu *gpu)
{
    int rc = mgds_context_enter(gpu->ctx);

    if (rc < 0)
        return rc;
    rc = launch_once(gpu);
    if (rc == 0)
        rc = set_trigger(gpu);
    mgds_context_leave();
    return rc < 0 ? rc : make_event(gpu);
}

/* So that parts begin where units do, and at addresses that are as good as
 * those of whole messages. */
enum { FRAGMENT_ALIGNMENT = 256 };

/* By turns: a pool that has not enough for all has some for both. What is
 * refused once is not asked for again. */
static void fill_stocks(struct mgds_gpu *gpu)
{
    const struct mgds_config *config = &mgds_ctx()->config;
    struct mgds_pool *pool = gpu->copyqueue->pool;
    size_t bytes = config->fragment / FRAGMENT_ALIGNMENT * FRAGMENT_ALIGNMENT;

    for (unsigned count = 1;
         count <= config->fragments && gpu->out.count == count - 1; count++) {
        mgds_stock_fill(&gpu->in, pool, bytes, count);
        mgds_stock_fill(&gpu->out, pool, bytes, count);
    }
}

static int fill_gpu(struct mgds_gpu *gpu)
{
    int rc = mgds_copyqueue_of_context(&gpu->copyqueue, gpu->ctx);

    if (rc == 0)
        rc = load_kernels(gpu);
    if (rc == 0)
        rc = mgds_syncwords_create(&gpu->words, gpu->ctx);
    if (rc == 0)
        rc = mgds_syncwords_take(&gpu->trial, gpu->words);
    if (rc == 0)
        fill_stocks(gpu);
    return rc < 0 ? rc : warm_kernels(gpu);
}

static int create_gpu(struct mgds_gpu **out, struct mgds_context *ctx)
{
    struct mgds_gpu *gpu = (struct mgds_gpu *)mgds_calloc(1, sizeof(*gpu));
    int rc;

    if (!gpu)
        return -ENOMEM;
    gpu->ctx = mgds_context_get(ctx);
    gpu->refs = 1;
    rc = fill_gpu(gpu);
    if (rc < 0)
        destroy_gpu(gpu);
    else
        *out = gpu;
    return rc;
}

static struct mgds_gpu *find_locked(const struct mgds_context *ctx)
{
    struct mgds_gpu *gpu = gpus;

    while (gpu && gpu->ctx != ctx)
        gpu = gpu->next;
    if (gpu)
        __atomic_fetch_add(&gpu->refs, 1, __ATOMIC_RELAXED);
    return gpu;
}

/* Takes the caller's reference over; the one that is in the list, with one. */
static struct mgds_gpu *insert_gpu(struct mgds_gpu *fresh)
{
    struct mgds_gpu *found;

    mgds_lock_acquire(&gpus_lock);
    found = find_locked(fresh->ctx);
    if (!found) {
        fresh->refs = 2;
        fresh->next = gpus;
        gpus = found = fresh;
    }
    mgds_lock_release(&gpus_lock);
    if (found != fresh)
        mgds_gpu_put(fresh);
    return found;
}

int mgds_gpu_of(struct mgds_gpu **out, struct mgds_context *ctx)
{
    struct mgds_gpu *gpu;
    int rc;

    mgds_lock_acquire(&gpus_lock);
    gpu = find_locked(ctx);
    mgds_lock_release(&gpus_lock);
    if (gpu) {
        *out = gpu;
        return 0;
    }
    rc = create_gpu(&gpu, ctx);
    if (rc == 0)
        *out = insert_gpu(gpu);
    return rc;
}

/* Not while a stream of either GPU stands in a wait of ours: nobody says that
 * enabling does not wait for the device. The next stream made tries again. */
static void allow_access(struct mgds_gpu *gpu, const struct mgds_context *ctx)
{
    uint64_t *peer = &gpu->peer[ctx->device];
    int rc;

    if (__atomic_load_n(peer, __ATOMIC_RELAXED) == ctx->id ||
        mgds_hwqueue_count(gpu->ctx->device) > 0 ||
        mgds_hwqueue_count(ctx->device) > 0)
        return;
    rc = mgds_peer_enable(gpu->ctx, ctx);
    if (rc == 0) {
        __atomic_store_n(peer, ctx->id, __ATOMIC_RELAXED);
        return;
    }
    errno = -rc;
    mgds_debug("kernels of GPU %d do not reach memory of GPU %d: %m",
               gpu->ctx->device, ctx->device);
}

static void meet_context(struct mgds_gpu *gpu, struct mgds_context *ctx)
{
    struct mgds_gpu *other;

    if (mgds_gpu_of(&other, ctx) != 0)
        return;
    allow_access(gpu, ctx);
    allow_access(other, gpu->ctx);
    mgds_gpu_put(other);
}

void mgds_gpu_meet(struct mgds_gpu *gpu)
{
    int own = gpu->ctx->device;
    int rc = own < MGDS_GPU_PEERS ? 0 : -EINVAL;
    struct mgds_context *ctx = NULL;

    for (int device = 0; device < MGDS_GPU_PEERS && rc != -EINVAL; device++) {
        rc = device == own ? -ENODEV : mgds_context_of_device(&ctx, device);
        if (rc < 0)
            continue;
        meet_context(gpu, ctx);
        mgds_context_put(ctx);
    }
}

/* The driver is asked as well: what was enabled the program may disable. */
bool mgds_gpu_sees(const struct mgds_gpu *gpu, const struct mgds_ptr *ptr)
{
    if (ptr->kind != MGDS_PTR_DEVICE || ptr->device < 0 ||
        ptr->device >= MGDS_GPU_PEERS)
        return false;
    return __atomic_load_n(&gpu->peer[ptr->device], __ATOMIC_RELAXED) ==
               ptr->ctx_id &&
           mgds_peer_reaches(gpu->ctx, ptr->base);
}

static struct mgds_gpu *take_first(void)
{
    struct mgds_gpu *first;

    mgds_lock_acquire(&gpus_lock);
    first = gpus;
    if (first)
        gpus = first->next;
    mgds_lock_release(&gpus_lock);
    return first;
}

void mgds_gpu_fini(void)
{
    struct mgds_gpu *gpu;

    while ((gpu = take_first()) != NULL)
        mgds_gpu_put(gpu);
}
