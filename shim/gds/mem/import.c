/* The table of mappings; see import.h.
 *
 *   OPENING -> OPEN -> CLOSING -> CLOSED
 *
 *   OPENING  its maker is in the driver; others who want it wait for him, and
 *            would wait in the driver if they did not
 *   OPEN     on the deferred list too once nobody had it; whoever takes that
 *            up looks again
 *   CLOSING  in the driver, at a safe point
 *   CLOSED   out of the table: whoever still has it frees it
 */
#include "shim/gds/mem/import.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/lock.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/ipc.h"

enum { BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS };

enum state { OPENING, OPEN, CLOSING, CLOSED };

struct mgds_import {
    struct mgds_context *ctx; /* a reference */
    struct mgds_export_handle of;
    struct mgds_mapped *mapped; /* in OPEN and CLOSING */
    char *addr;
    struct mgds_deferred deferred;
    LIST_ENTRY(mgds_import) link; /* until CLOSED */
    /* under imports_lock */
    enum state state;
    unsigned users;
    bool queued; /* it is on the deferred list */
    bool over;   /* whoever has it may only put it */
};

LIST_HEAD(imports, mgds_import);

static struct mgds_lock imports_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct imports buckets[BUCKETS];                 /* by name */
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER; /* move_locked */

static struct imports *bucket_of(const struct mgds_shared_name *name)
{
    uint64_t word, hash = 0;

    for (size_t i = 0; i < sizeof(*name); i += sizeof(word)) {
        memcpy(&word, name->bytes + i, sizeof(word));
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    }
    return &buckets[hash >> (64 - BUCKET_BITS)];
}

static bool is_of(const struct mgds_import *import,
                  const struct mgds_context *ctx,
                  const struct mgds_export_handle *of)
{
    return import->ctx == ctx && import->of.id == of->id &&
           import->of.base == of->base && import->of.size == of->size &&
           memcmp(&import->of.name, &of->name, sizeof(of->name)) == 0;
}

static struct mgds_import *find_locked(const struct mgds_context *ctx,
                                       const struct mgds_export_handle *of)
{
    struct mgds_import *import;

    LIST_FOREACH(import, bucket_of(&of->name), link)
    {
        if (is_of(import, ctx, of))
            break;
    }
    return import;
}

static bool use_locked(struct mgds_import *import)
{
    if (import->state != OPEN)
        return false;
    import->users++;
    import->over = false;
    return true;
}

/*
 * 0 and the one that is there, with the caller as one more user; or 1: there
 * was none, and fresh is now, OPENING. Memory that was freed and allocated
 * again has its old name if it lies in the same memory of the GPU (measured on
 * H200): the driver then gives the mapping that is open, counted once more.
 */
static int enter_locked(struct mgds_import **out, struct mgds_import *fresh)
{
    struct mgds_import *found;

    while ((found = find_locked(fresh->ctx, &fresh->of)) != NULL) {
        if (use_locked(found)) {
            *out = found;
            return 0;
        }
        pthread_cond_wait(&moved, &imports_lock.mutex);
    }
    LIST_INSERT_HEAD(bucket_of(&fresh->of.name), fresh, link);
    *out = fresh;
    return 1;
}

/* Out of OPENING or CLOSING: what others wait for. */
static void move_locked(struct mgds_import *import, enum state state)
{
    import->state = state;
    if (state == CLOSED)
        LIST_REMOVE(import, link);
    pthread_cond_broadcast(&moved);
}

static void free_import(struct mgds_import *import)
{
    mgds_context_put(import->ctx);
    free(import);
}

/* If it fails nobody knows of it: those who waited try for themselves. */
static int open_import(struct mgds_import *import)
{
    struct mgds_mapped *mapped = NULL;
    int rc = mgds_mapped_create(&mapped, import->ctx, &import->of.name);

    if (mapped) {
        import->mapped = mapped;
        import->addr = (char *)mapped->addr;
    }
    mgds_lock_acquire(&imports_lock);
    move_locked(import, rc == 0 ? OPEN : CLOSED);
    mgds_lock_release(&imports_lock);
    return rc;
}

static struct mgds_import *make_import(struct mgds_context *ctx,
                                       const struct mgds_export_handle *handle)
{
    struct mgds_import *import =
        (struct mgds_import *)mgds_calloc(1, sizeof(*import));

    if (!import)
        return NULL;
    import->ctx = mgds_context_get(ctx);
    import->of = *handle;
    import->state = OPENING;
    import->users = 1;
    return import;
}

int mgds_import_find(struct mgds_import **out, const struct mgds_context *ctx,
                     const struct mgds_export_handle *handle)
{
    struct mgds_import *found;
    bool used;

    mgds_lock_acquire(&imports_lock);
    found = find_locked(ctx, handle);
    used = found && use_locked(found);
    mgds_lock_release(&imports_lock);
    if (!used)
        return -ENOENT;
    *out = found;
    return 0;
}

int mgds_import_create(struct mgds_import **out, struct mgds_context *ctx,
                       const struct mgds_export_handle *handle)
{
    struct mgds_import *fresh = make_import(ctx, handle), *import = NULL;
    int rc;

    if (!fresh)
        return -ENOMEM;
    mgds_lock_acquire(&imports_lock);
    rc = enter_locked(&import, fresh);
    mgds_lock_release(&imports_lock);
    if (rc == 1)
        rc = open_import(fresh);
    if (rc < 0 || import != fresh)
        free_import(fresh);
    if (rc == 0)
        *out = import;
    return rc;
}

char *mgds_import_addr(const struct mgds_import *import)
{
    return import->addr;
}

/* At a safe point. */
static void close_unused(struct mgds_deferred *item)
{
    struct mgds_import *import =
        MGDS_CONTAINER_OF(item, struct mgds_import, deferred);
    bool unused;

    mgds_lock_acquire(&imports_lock);
    import->queued = false;
    unused = import->users == 0 || import->over;
    if (unused)
        import->state = CLOSING;
    mgds_lock_release(&imports_lock);
    if (!unused)
        return;
    mgds_mapped_close(import->mapped);
    mgds_lock_acquire(&imports_lock);
    move_locked(import, CLOSED);
    unused = import->users == 0;
    mgds_lock_release(&imports_lock);
    if (unused)
        free_import(import);
}

static void queue_locked(struct mgds_import *import)
{
    if (import->queued)
        return;
    import->queued = true;
    import->deferred.run = close_unused;
    mgds_defer(&import->deferred);
}

void mgds_import_put(struct mgds_import *import)
{
    bool closed = false;

    if (!import)
        return;
    mgds_lock_acquire(&imports_lock);
    if (--import->users == 0) {
        closed = import->state == CLOSED;
        if (import->state == OPEN)
            queue_locked(import);
    }
    mgds_lock_release(&imports_lock);
    if (closed)
        free_import(import);
}

void mgds_imports_fini(void)
{
    struct mgds_import *import;

    mgds_lock_acquire(&imports_lock);
    for (int i = 0; i < BUCKETS; i++) {
        LIST_FOREACH(import, &buckets[i], link)
        {
            if (import->state != OPEN) /* its maker comes after the end */
                continue;
            import->over = true;
            queue_locked(import);
        }
    }
    mgds_lock_release(&imports_lock);
}
