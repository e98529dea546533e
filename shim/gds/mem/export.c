/* The table of allocations that were asked about; see export.h. */
#include "shim/gds/mem/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "shim/base/alloc.h"
#include "shim/base/lock.h"

enum {
    BUCKETS = 1024,
    SWEPT = 4 /* at a new one: what is freed is noticed in proportion */
};

struct export
{
    struct mgds_export_handle handle;
    int rc; /* why there is no name, or 0 */
    LIST_ENTRY(export) link;
    TAILQ_ENTRY(export) use;
};

LIST_HEAD(exports, export);

static struct mgds_lock exports_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
/* Each is in all three. Their memory does not overlap. */
static struct exports buckets[BUCKETS];           /* by id */
static struct export *by_base[MGDS_EXPORTS_MOST]; /* the first `count` */
static TAILQ_HEAD(, export) by_use = TAILQ_HEAD_INITIALIZER(by_use);
static unsigned count;
static unsigned hand;   /* of by_base: where the sweep goes on */
static uint64_t became; /* stale, how many; atomic, written under the lock */

static struct exports *bucket_of(uint64_t id)
{
    return &buckets[id % BUCKETS]; /* ids count up */
}

static struct export *find_locked(uint64_t id)
{
    struct export *export;

    LIST_FOREACH(export, bucket_of(id), link)
    {
        if (export->handle.id == id)
            break;
    }
    return export;
}

static uint64_t end_of(const struct export *export)
{
    return export->handle.base + export->handle.size;
}

/* In by_base: the first that ends behind addr. */
static unsigned place_locked(uint64_t addr)
{
    unsigned low = 0, high = count;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (end_of(by_base[middle]) > addr)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void shift_locked(unsigned from, unsigned to, unsigned end)
{
    memmove(&by_base[to], &by_base[from], (end - from) * sizeof(void *));
}

/* To be freed outside the lock: free may call into UCX, which has locks of its
 * own. */
static void drop_locked(struct exports *gone, struct export *export)
{
    unsigned at = place_locked(export->handle.base);

    shift_locked(at + 1, at, count);
    count--;
    TAILQ_REMOVE(&by_use, export, use);
    LIST_REMOVE(export, link);
    LIST_INSERT_HEAD(gone, export, link);
    if (export->rc == 0) /* release: who sees it does not find the id */
        __atomic_fetch_add(&became, 1, __ATOMIC_RELEASE);
}

static void free_all(struct exports *gone)
{
    struct export *export;

    while ((export = LIST_FIRST(gone)) != NULL) {
        LIST_REMOVE(export, link);
        free(export);
    }
}

/* What had its memory before is gone; for room goes what nobody has asked about
 * for the longest time. */
static void insert_locked(struct exports *gone, struct export *fresh)
{
    unsigned at = place_locked(fresh->handle.base);

    while (at < count && by_base[at]->handle.base < end_of(fresh))
        drop_locked(gone, by_base[at]);
    if (count == MGDS_EXPORTS_MOST)
        drop_locked(gone, TAILQ_FIRST(&by_use));
    at = place_locked(fresh->handle.base);
    shift_locked(at, at + 1, count);
    by_base[at] = fresh;
    count++;
    LIST_INSERT_HEAD(bucket_of(fresh->handle.id), fresh, link);
    TAILQ_INSERT_TAIL(&by_use, fresh, use);
}

/* Unless another thread was faster: then that one stays. */
static void add_export(struct export *fresh)
{
    struct exports gone = LIST_HEAD_INITIALIZER(gone);

    mgds_lock_acquire(&exports_lock);
    if (find_locked(fresh->handle.id))
        LIST_INSERT_HEAD(&gone, fresh, link);
    else
        insert_locked(&gone, fresh);
    mgds_lock_release(&exports_lock);
    free_all(&gone);
}

/* 1: it is not known. */
static int recall_handle(struct mgds_export_handle *out, uint64_t id)
{
    struct export *export;
    int rc = 1;

    mgds_lock_acquire(&exports_lock);
    export = find_locked(id);
    if (export) {
        rc = export->rc;
        if (rc == 0)
            *out = export->handle;
        if (TAILQ_NEXT(export, use)) {
            TAILQ_REMOVE(&by_use, export, use);
            TAILQ_INSERT_TAIL(&by_use, export, use);
        }
    }
    mgds_lock_release(&exports_lock);
    return rc;
}

/* What passes, or the caller has wrong, is not remembered. */
static bool is_final(int rc)
{
    return rc != -ENOMEM && rc != -EFAULT;
}

static int ask_driver(struct mgds_export_handle *out,
                      const struct mgds_ptr *ptr)
{
    struct export *fresh = (struct export *)mgds_calloc(1, sizeof(*fresh));
    int rc;

    if (!fresh)
        return -ENOMEM;
    fresh->handle = (struct mgds_export_handle){
        .id = ptr->id, .base = ptr->base, .size = ptr->size};
    rc = mgds_memory_tell(ptr, &fresh->handle.name);
    fresh->rc = rc;
    if (rc == 0)
        *out = fresh->handle;
    if (is_final(rc))
        add_export(fresh);
    else
        free(fresh);
    return rc;
}

int mgds_export_of(struct mgds_export_handle *out, const struct mgds_ptr *ptr)
{
    int rc;

    if (ptr->kind != MGDS_PTR_DEVICE || ptr->id == 0 || ptr->size == 0)
        return -ENOTSUP;
    rc = recall_handle(out, ptr->id);
    if (rc <= 0)
        return rc;
    mgds_exports_sweep(SWEPT);
    return ask_driver(out, ptr);
}

bool mgds_export_is_stale(uint64_t id)
{
    bool known;

    mgds_lock_acquire(&exports_lock);
    known = find_locked(id) != NULL;
    mgds_lock_release(&exports_lock);
    return !known;
}

uint64_t mgds_exports_stale(void)
{
    return __atomic_load_n(&became, __ATOMIC_ACQUIRE);
}

/* The one whose turn it is, or false: there is none. */
static bool pick_turn(struct mgds_export_handle *out)
{
    bool any;

    mgds_lock_acquire(&exports_lock);
    any = count > 0;
    if (any) {
        hand = hand < count ? hand : 0;
        *out = by_base[hand++]->handle;
    }
    mgds_lock_release(&exports_lock);
    return any;
}

static void drop_by_id(uint64_t id)
{
    struct exports gone = LIST_HEAD_INITIALIZER(gone);
    struct export *export;

    mgds_lock_acquire(&exports_lock);
    export = find_locked(id);
    if (export)
        drop_locked(&gone, export);
    mgds_lock_release(&exports_lock);
    free_all(&gone);
}

void mgds_exports_sweep(unsigned turns)
{
    struct mgds_export_handle handle;

    for (; turns > 0 && pick_turn(&handle); turns--) {
        if (!mgds_memory_lives(handle.id, handle.base))
            drop_by_id(handle.id);
    }
}

void mgds_exports_fini(void)
{
    struct exports gone = LIST_HEAD_INITIALIZER(gone);

    mgds_lock_acquire(&exports_lock);
    while (count > 0)
        drop_locked(&gone, by_base[count - 1]);
    mgds_lock_release(&exports_lock);
    free_all(&gone);
}
