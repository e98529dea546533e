/* Depots: made, found, forgotten; see gpu.h. */
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

static struct mgds_lock depots_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct mgds_depot *depots; /* under depots_lock */

static void destroy_depot(struct mgds_depot *depot)
{
    struct mgds_kernel_handle *const kernels[] = {
        depot->exchange.few, depot->exchange.many, depot->awaits.few,
        depot->awaits.many,  depot->pull,          depot->post,
        depot->copies,       depot->tell,          depot->takes.few,
        depot->takes.many,   depot->take,          depot->push,
        depot->flag,         depot->copy};

    for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
        if (kernels[i])
            mgds_kernel_unload(kernels[i]);
    while (depot->owns > 0)
        mgds_shared_destroy(depot->own[--depot->owns]);
    mgds_words_destroy(depot->words);
    if (depot->copyqueue) {
        mgds_stock_empty(&depot->in, depot->copyqueue->pool);
        mgds_stock_empty(&depot->out, depot->copyqueue->pool);
        mgds_copyqueue_put(depot->copyqueue);
    }
    mgds_context_put(depot->ctx);
    free(depot);
}

void mgds_depot_put(struct mgds_depot *depot)
{
    if (__atomic_sub_fetch(&depot->refs, 1, __ATOMIC_ACQ_REL) == 0)
        destroy_depot(depot);
}

static int refuse_kernels(int rc)
{
    errno = -rc;
    mgds_err("no stream of this GPU can be used: the kernels for it cannot be "
             "loaded (%m): build mpix-gds with nvcc for this GPU");
    return -ENOTSUP;
}

static int load_kernels(struct mgds_depot *depot)
{
    const struct {
        struct mgds_kernel_handle **out;
        const char *name;
    } kernels[] = {{&depot->copy, "mgds_copy_kernel"},
                   {&depot->flag, "mgds_flag_kernel"},
                   {&depot->push, "mgds_push_kernel"},
                   {&depot->take, "mgds_take_kernel"},
                   {&depot->takes.many, "mgds_takes_kernel"},
                   {&depot->takes.few, "mgds_few_takes_kernel"},
                   {&depot->tell, "mgds_tell_kernel"},
                   {&depot->copies, "mgds_copies_kernel"},
                   {&depot->post, "mgds_post_kernel"},
                   {&depot->pull, "mgds_pull_kernel"},
                   {&depot->awaits.many, "mgds_await_kernel"},
                   {&depot->awaits.few, "mgds_few_awaits_kernel"},
                   {&depot->exchange.many, "mgds_exchange_kernel"},
                   {&depot->exchange.few, "mgds_few_exchange_kernel"}};
    int rc = 0;

    for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && rc == 0;
         i++)
        rc = mgds_kernel_load(kernels[i].out, depot->ctx, mgds_kernel_image,
                              kernels[i].name);
    if (rc == 0 && !depot->copyqueue->kernel)
        rc = -ENOTSUP;
    return rc == -ENOTSUP || rc == -ENOENT ? refuse_kernels(rc) : rc;
}

/* A first launch may wait for the device, so it is done here, over nothing. */
static int launch_once(struct mgds_depot *depot)
{
    static const struct mgds_copy_args copy;
    static const struct mgds_flag_args flag;
    const struct mgds_push_args push = {.units = (uintptr_t)&depot->trial[4]};
    static const struct mgds_take_args take = {.serial = MGDS_TAKE_NONE};
    static const struct mgds_takes_args takes;
    static const struct mgds_copies_args copies;
    static const struct mgds_pull_args pull = {
        .take = {.serial = MGDS_TAKE_NONE}};
    static const struct mgds_await_args awaits;
    static const struct mgds_exchange_args exchange;
    const struct mgds_post_args post = {.ready = (uintptr_t)&depot->trial[1]};
    const struct mgds_tell_args tell = {.from = (uintptr_t)&depot->trial[1],
                                        .to = (uintptr_t)&depot->trial[1],
                                        .done = (uintptr_t)&depot->trial[2]};
    const struct {
        struct mgds_kernel_handle *kernel;
        const void *args;
    } launches[] = {{depot->copy, &copy},
                    {depot->flag, &flag},
                    {depot->push, &push},
                    {depot->take, &take},
                    {depot->takes.many, &takes},
                    {depot->takes.few, &takes},
                    {depot->copies, &copies},
                    {depot->tell, &tell},
                    {depot->post, &post},
                    {depot->pull, &pull},
                    {depot->awaits.many, &awaits},
                    {depot->awaits.few, &awaits},
                    {depot->exchange.many, &exchange},
                    {depot->exchange.few, &exchange}};
    int rc = 0;

    for (unsigned i = 0; i < sizeof(launches) / sizeof(launches[0]) && rc == 0;
         i++)
        rc = mgds_kernel_launch(launches[i].kernel, depot->copyqueue->stream, 1,
                                1, launches[i].args);
    return rc;
}

/* Some platforms know the calls and refuse them. */
static int try_memops(struct mgds_depot *depot, unsigned width)
{
    const struct mgds_memop trial[] = {
        {.word = depot->trial, .value = 1},
        {.wait = true, .word = depot->trial, .value = 1},
    };

    if (width == 0)
        return -ENOTSUP;
    return mgds_memop_queue(depot->copyqueue->stream, width, trial, 2);
}

static int set_trigger(struct mgds_depot *depot)
{
    enum mgds_trigger trigger = mgds_ctx()->config.trigger;
    unsigned width = mgds_memop_width(depot->ctx);
    int rc;

    if (trigger == MGDS_TRIGGER_KERNEL)
        return 0;
    rc = try_memops(depot, width);
    if (rc == 0)
        depot->width = width;
    if (rc == -ENOTSUP && trigger == MGDS_TRIGGER_MEMOP) {
        mgds_err("MPIX_GDS_TRIGGER=memop, but this GPU has no stream memory "
                 "operations: leave it at auto, kernels wait then");
        return rc;
    }
    return rc == -ENOTSUP ? 0 : rc;
}

/* The first event ever may wait for the device as well. */
static int make_event(struct mgds_depot *depot)
{
    struct mgds_event event;
    int rc = mgds_event_init(&event, depot->ctx);

    if (rc == 0)
        mgds_event_fini(&event);
    return rc;
}

static int warm_kernels(struct mgds_depot *depot)
{
    int rc = mgds_context_enter(depot->ctx);

    if (rc < 0)
        return rc;
    rc = launch_once(depot);
    if (rc == 0)
        rc = set_trigger(depot);
    mgds_context_leave();
    return rc < 0 ? rc : make_event(depot);
}

/* So that parts begin where units do, and at addresses that are as good as
 * those of whole messages. */
enum { FRAGMENT_ALIGNMENT = 256 };

static void fill_stocks(struct mgds_depot *depot)
{
    const struct mgds_config *config = &mgds_ctx()->config;
    struct mgds_pool *pool = depot->copyqueue->pool;
    unsigned count = (unsigned)config->fragments;
    size_t bytes = config->fragment / FRAGMENT_ALIGNMENT * FRAGMENT_ALIGNMENT;

    mgds_stock_fill(&depot->in, pool, bytes, count);
    mgds_stock_fill(&depot->out, pool, bytes, count);
}

static int fill_depot(struct mgds_depot *depot)
{
    int rc = mgds_copyqueue_of_context(&depot->copyqueue, depot->ctx);

    if (rc == 0)
        rc = load_kernels(depot);
    if (rc == 0)
        rc = mgds_words_create(&depot->words, depot->ctx);
    if (rc == 0)
        rc = mgds_words_take(&depot->trial, depot->words);
    if (rc == 0)
        fill_stocks(depot);
    return rc < 0 ? rc : warm_kernels(depot);
}

static int create_depot(struct mgds_depot **out, struct mgds_context *ctx)
{
    struct mgds_depot *depot =
        (struct mgds_depot *)mgds_calloc(1, sizeof(*depot));
    int rc;

    if (!depot)
        return -ENOMEM;
    depot->ctx = mgds_context_get(ctx);
    depot->refs = 1;
    rc = fill_depot(depot);
    if (rc < 0)
        destroy_depot(depot);
    else
        *out = depot;
    return rc;
}

static struct mgds_depot *find_locked(const struct mgds_context *ctx)
{
    struct mgds_depot *depot = depots;

    while (depot && depot->ctx != ctx)
        depot = depot->next;
    if (depot)
        __atomic_fetch_add(&depot->refs, 1, __ATOMIC_RELAXED);
    return depot;
}

/* Takes the caller's reference over; the one that is in the list, with one. */
static struct mgds_depot *insert_depot(struct mgds_depot *fresh)
{
    struct mgds_depot *found;

    mgds_lock_acquire(&depots_lock);
    found = find_locked(fresh->ctx);
    if (!found) {
        fresh->refs = 2;
        fresh->next = depots;
        depots = found = fresh;
    }
    mgds_lock_release(&depots_lock);
    if (found != fresh)
        mgds_depot_put(fresh);
    return found;
}

int mgds_depot_of(struct mgds_depot **out, struct mgds_context *ctx)
{
    struct mgds_depot *depot;
    int rc;

    mgds_lock_acquire(&depots_lock);
    depot = find_locked(ctx);
    mgds_lock_release(&depots_lock);
    if (depot) {
        *out = depot;
        return 0;
    }
    rc = create_depot(&depot, ctx);
    if (rc == 0)
        *out = insert_depot(depot);
    return rc;
}

/* Not while a stream of either GPU stands in a wait of ours: nobody says that
 * enabling does not wait for the device. The next stream made tries again. */
static void allow_access(struct mgds_depot *depot,
                         const struct mgds_context *ctx)
{
    uint64_t *peer = &depot->peer[ctx->device];
    int rc;

    if (__atomic_load_n(peer, __ATOMIC_RELAXED) == ctx->id ||
        mgds_gate_count(depot->ctx->device) > 0 ||
        mgds_gate_count(ctx->device) > 0)
        return;
    rc = mgds_peer_enable(depot->ctx, ctx);
    if (rc == 0) {
        __atomic_store_n(peer, ctx->id, __ATOMIC_RELAXED);
        return;
    }
    errno = -rc;
    mgds_debug("kernels of GPU %d do not reach memory of GPU %d: %m",
               depot->ctx->device, ctx->device);
}

static void meet_context(struct mgds_depot *depot, struct mgds_context *ctx)
{
    struct mgds_depot *other;

    if (mgds_depot_of(&other, ctx) != 0)
        return;
    allow_access(depot, ctx);
    allow_access(other, depot->ctx);
    mgds_depot_put(other);
}

void mgds_depot_meet(struct mgds_depot *depot)
{
    int own = depot->ctx->device;
    int rc = own < MGDS_DEPOT_PEERS ? 0 : -EINVAL;
    struct mgds_context *ctx = NULL;

    for (int device = 0; device < MGDS_DEPOT_PEERS && rc != -EINVAL; device++) {
        rc = device == own ? -ENODEV : mgds_context_of_device(&ctx, device);
        if (rc < 0)
            continue;
        meet_context(depot, ctx);
        mgds_context_put(ctx);
    }
}

/* The driver is asked as well: what was enabled the program may disable. */
bool mgds_depot_sees(const struct mgds_depot *depot, const struct mgds_ptr *ptr)
{
    if (ptr->kind != MGDS_PTR_DEVICE || ptr->device < 0 ||
        ptr->device >= MGDS_DEPOT_PEERS)
        return false;
    return __atomic_load_n(&depot->peer[ptr->device], __ATOMIC_RELAXED) ==
               ptr->ctx_id &&
           mgds_peer_reaches(depot->ctx, ptr->base);
}

static struct mgds_depot *take_first(void)
{
    struct mgds_depot *first;

    mgds_lock_acquire(&depots_lock);
    first = depots;
    if (first)
        depots = first->next;
    mgds_lock_release(&depots_lock);
    return first;
}

void mgds_depot_fini(void)
{
    struct mgds_depot *depot;

    while ((depot = take_first()) != NULL)
        mgds_depot_put(depot);
}
