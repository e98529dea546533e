/* Memory of rings and views of it; see ring.h. */
#include "shim/gds/proto/ring.h"

#include <errno.h>
#include <stdlib.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/gds/cuda/defer.h"

struct mgds_ring {
    struct mgds_shared *memory;
    struct mgds_shared_name name;
    uint32_t units;
    struct mgds_deferred deferred;
};

struct mgds_ring_view {
    struct mgds_mapped *mapped; /* NULL: the process's own memory */
    char *addr;
    struct mgds_deferred deferred;
    void (*closed)(void *arg);
    void *arg;
};

static uint64_t bytes; /* of all rings; atomic */

static uint64_t bytes_of(const struct mgds_ring *ring)
{
    return (uint64_t)ring->units * sizeof(struct mgds_unit);
}

static int make_memory(struct mgds_ring *ring, struct mgds_context *ctx)
{
    int rc = mgds_shared_create_unset(&ring->memory, ctx, bytes_of(ring));

    if (rc < 0)
        return rc;
    rc = mgds_shared_tell(ring->memory, &ring->name);
    if (rc < 0)
        mgds_shared_destroy(ring->memory);
    return rc;
}

int mgds_ring_create(struct mgds_ring **out, struct mgds_context *ctx,
                     uint32_t units)
{
    struct mgds_ring *ring = (struct mgds_ring *)mgds_calloc(1, sizeof(*ring));
    int rc;

    if (!ring)
        return -ENOMEM;
    ring->units = units;
    rc = make_memory(ring, ctx);
    if (rc < 0) {
        free(ring);
        return rc;
    }
    __atomic_fetch_add(&bytes, bytes_of(ring), __ATOMIC_RELAXED);
    *out = ring;
    return 0;
}

/* Behind its memory on the list, which is freed by then. */
static void forget_ring(struct mgds_deferred *item)
{
    struct mgds_ring *ring =
        MGDS_CONTAINER_OF(item, struct mgds_ring, deferred);

    __atomic_fetch_sub(&bytes, bytes_of(ring), __ATOMIC_RELAXED);
    free(ring);
}

void mgds_ring_destroy(struct mgds_ring *ring)
{
    if (!ring)
        return;
    mgds_shared_destroy(ring->memory);
    ring->deferred.run = forget_ring;
    mgds_defer(&ring->deferred);
}

void mgds_ring_tell(const struct mgds_ring *ring, struct mgds_ring_handle *out)
{
    *out = (struct mgds_ring_handle){.name = ring->name,
                                     .address = mgds_ring_address(ring),
                                     .context = ring->memory->ctx->id,
                                     .units = ring->units};
}

uint64_t mgds_ring_address(const struct mgds_ring *ring)
{
    return (uintptr_t)ring->memory->addr;
}

uint64_t mgds_ring_place(const struct mgds_ring *ring, uint32_t units,
                         size_t count)
{
    if (units >= ring->units || count > ring->units - units)
        return 0;
    return mgds_ring_address(ring) + (uint64_t)units * sizeof(struct mgds_unit);
}

uint64_t mgds_rings_bytes(void)
{
    return __atomic_load_n(&bytes, __ATOMIC_RELAXED);
}

static int open_memory(struct mgds_ring_view *view, struct mgds_context *ctx,
                       const struct mgds_ring_handle *handle, bool own)
{
    struct mgds_mapped *mapped = NULL;
    int rc;

    if (own) {
        view->addr = (char *)(uintptr_t)handle->address;
        return handle->context == ctx->id ? 0 : -EXDEV;
    }
    rc = mgds_mapped_create(&mapped, ctx, &handle->name);
    if (rc < 0 || !mapped)
        return rc;
    view->mapped = mapped;
    view->addr = (char *)mapped->addr;
    return 0;
}

int mgds_ring_view_create(struct mgds_ring_view **out, struct mgds_context *ctx,
                          const struct mgds_ring_handle *handle, bool own)
{
    struct mgds_ring_view *view =
        (struct mgds_ring_view *)mgds_calloc(1, sizeof(*view));
    int rc;

    if (!view)
        return -ENOMEM;
    rc = open_memory(view, ctx, handle, own);
    if (rc < 0)
        free(view);
    else
        *out = view;
    return rc;
}

char *mgds_ring_view_address(const struct mgds_ring_view *view)
{
    return view->addr;
}

static void close_view(struct mgds_deferred *item)
{
    struct mgds_ring_view *view =
        MGDS_CONTAINER_OF(item, struct mgds_ring_view, deferred);

    if (view->mapped)
        mgds_mapped_close(view->mapped);
    if (view->closed)
        view->closed(view->arg);
    free(view);
}

void mgds_ring_view_destroy(struct mgds_ring_view *view,
                            void (*closed)(void *arg), void *arg)
{
    if (!view)
        return;
    view->closed = closed;
    view->arg = arg;
    view->deferred.run = close_view;
    mgds_defer(&view->deferred);
}
