/* Memory of rings and views of it, kept for the next one; see ring.h. */
#include "shim/gds/proto/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/lock.h"

struct mgds_ring {
    struct mgds_shared *memory;
    struct mgds_shared_name name;
    struct mgds_gpu_id gpu;
    uint32_t regions, units;
    LIST_ENTRY(mgds_ring) link; /* while nobody has it */
};

struct mgds_ring_view {
    struct mgds_mapped *mapped; /* NULL: the process's own memory */
    struct mgds_ring_handle of;
    char *addr;
    unsigned refs;                   /* under rings_lock; 0: nobody has it */
    LIST_ENTRY(mgds_ring_view) link; /* if mapped */
};

static struct mgds_lock rings_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static LIST_HEAD(, mgds_ring) spare = LIST_HEAD_INITIALIZER(spare);
static LIST_HEAD(, mgds_ring_view) views = LIST_HEAD_INITIALIZER(views);

static size_t bytes_of(uint32_t regions, uint32_t units)
{
    return (size_t)regions * units * sizeof(struct mgds_unit);
}

static bool fits(const struct mgds_ring *ring, const struct mgds_context *ctx,
                 size_t bytes)
{
    return ring->memory->bytes == bytes && ring->memory->ctx == ctx;
}

static struct mgds_ring *take_spare(const struct mgds_context *ctx,
                                    size_t bytes)
{
    struct mgds_ring *ring;

    mgds_lock_acquire(&rings_lock);
    LIST_FOREACH(ring, &spare, link)
    {
        if (fits(ring, ctx, bytes)) {
            LIST_REMOVE(ring, link);
            break;
        }
    }
    mgds_lock_release(&rings_lock);
    return ring;
}

static void free_ring(struct mgds_ring *ring)
{
    if (ring->memory)
        mgds_shared_destroy(ring->memory);
    free(ring);
}

static int make(struct mgds_ring **out, struct mgds_context *ctx, size_t bytes)
{
    struct mgds_ring *ring = (struct mgds_ring *)mgds_calloc(1, sizeof(*ring));
    int rc;

    if (!ring)
        return -ENOMEM;
    rc = mgds_shared_create(&ring->memory, ctx, bytes);
    if (rc == 0)
        rc = mgds_shared_tell(ring->memory, &ring->name);
    if (rc == 0)
        rc = mgds_gpu_identify(&ring->gpu, ctx);
    if (rc < 0)
        free_ring(ring);
    else
        *out = ring;
    return rc;
}

int mgds_ring_create(struct mgds_ring **out, struct mgds_context *ctx,
                     uint32_t regions, uint32_t units)
{
    size_t bytes = bytes_of(regions, units);
    struct mgds_ring *ring = take_spare(ctx, bytes);
    int rc;

    rc = ring ? mgds_shared_clear(ring->memory) : make(&ring, ctx, bytes);
    if (rc < 0) {
        if (ring)
            free_ring(ring);
        return rc;
    }
    ring->regions = regions;
    ring->units = units;
    *out = ring;
    return 0;
}

void mgds_ring_destroy(struct mgds_ring *ring)
{
    if (!ring)
        return;
    mgds_lock_acquire(&rings_lock);
    LIST_INSERT_HEAD(&spare, ring, link);
    mgds_lock_release(&rings_lock);
}

void mgds_ring_tell(const struct mgds_ring *ring, struct mgds_ring_handle *out)
{
    *out = (struct mgds_ring_handle){.name = ring->name,
                                     .gpu = ring->gpu,
                                     .address = (uintptr_t)ring->memory->addr,
                                     .context = ring->memory->ctx->id,
                                     .regions = ring->regions,
                                     .units = ring->units};
}

uint32_t mgds_ring_units(const struct mgds_ring *ring)
{
    return ring->units;
}

char *mgds_ring_region(const struct mgds_ring *ring, uint32_t region)
{
    return (char *)ring->memory->addr + bytes_of(region, ring->units);
}

/* Mappings are of a context: of two that have the memory each its own. */
static bool shows(const struct mgds_ring_view *view,
                  const struct mgds_context *ctx,
                  const struct mgds_ring_handle *handle)
{
    return view->mapped->ctx == ctx &&
           memcmp(&view->of.name, &handle->name, sizeof(handle->name)) == 0;
}

static struct mgds_ring_view *find_view(const struct mgds_context *ctx,
                                        const struct mgds_ring_handle *handle)
{
    struct mgds_ring_view *view;

    mgds_lock_acquire(&rings_lock);
    LIST_FOREACH(view, &views, link)
    {
        if (shows(view, ctx, handle)) {
            view->refs++;
            /* Who has it of a ring of another shape has asked for its region
             * long ago; all others may be reading. */
            if (view->of.units != handle->units)
                view->of = *handle;
            break;
        }
    }
    mgds_lock_release(&rings_lock);
    return view;
}

static int look(struct mgds_ring_view *view, struct mgds_context *ctx, bool own)
{
    struct mgds_mapped *mapped = NULL;
    int rc;

    if (own) {
        view->addr = (char *)(uintptr_t)view->of.address;
        return view->of.context == ctx->id ? 0 : -EXDEV;
    }
    rc = mgds_mapped_create(&mapped, ctx, &view->of.name);
    if (rc < 0 || !mapped)
        return rc;
    view->mapped = mapped;
    view->addr = (char *)mapped->addr;
    return 0;
}

int mgds_ring_view_create(struct mgds_ring_view **out, struct mgds_context *ctx,
                          const struct mgds_ring_handle *handle, bool own)
{
    struct mgds_ring_view *view = own ? NULL : find_view(ctx, handle);
    int rc = 0;

    if (!view) {
        view = (struct mgds_ring_view *)mgds_calloc(1, sizeof(*view));
        if (!view)
            return -ENOMEM;
        view->of = *handle;
        view->refs = 1;
        rc = look(view, ctx, own);
        if (rc < 0) {
            free(view);
            return rc;
        }
        mgds_lock_acquire(&rings_lock);
        if (view->mapped)
            LIST_INSERT_HEAD(&views, view, link);
        mgds_lock_release(&rings_lock);
    }
    *out = view;
    return 0;
}

void mgds_ring_view_destroy(struct mgds_ring_view *view)
{
    bool own;

    if (!view)
        return;
    mgds_lock_acquire(&rings_lock);
    own = !view->mapped;
    view->refs--; /* from here on one that is mapped may be closed, and freed */
    mgds_lock_release(&rings_lock);
    if (own)
        free(view);
}

char *mgds_ring_view_region(const struct mgds_ring_view *view, uint32_t region)
{
    return view->addr + bytes_of(region, view->of.units);
}

void mgds_ring_views_fini(void)
{
    struct mgds_ring_view *view;
    struct mgds_ring_view *next;

    mgds_lock_acquire(&rings_lock);
    for (view = LIST_FIRST(&views); view; view = next) {
        next = LIST_NEXT(view, link);
        if (view->refs > 0)
            continue;
        LIST_REMOVE(view, link);
        mgds_mapped_destroy(view->mapped);
        free(view);
    }
    mgds_lock_release(&rings_lock);
}

void mgds_rings_fini(void)
{
    struct mgds_ring *ring;

    mgds_ring_views_fini();
    mgds_lock_acquire(&rings_lock);
    while ((ring = LIST_FIRST(&spare)) != NULL) {
        LIST_REMOVE(ring, link);
        free_ring(ring);
    }
    mgds_lock_release(&rings_lock);
}
