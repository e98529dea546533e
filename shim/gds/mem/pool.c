/* Pieces, slabs and what becomes of idle ones; see pool.h. */
#include "shim/gds/mem/pool.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/mem.h"

#define SMALLEST ((size_t)4 << 10)
#define SLAB ((size_t)2 << 20) /* a huge page */
#define SMALL ((size_t)1 << 20)
#define LARGEST ((size_t)1 << 46)

enum {
    ALIGNMENT = 256,
    SMALL_BITS = 20,
    SMALL_CLASSES = 9, /* 4 KiB to 1 MiB */
    STEPS = 4,         /* of a doubling, above */
    CLASSES = SMALL_CLASSES + STEPS * (46 - SMALL_BITS),
    /* Idle for so many takes, a slab is given up; looked for every so many.
       Re-pinning then costs less than a microsecond a message. */
    IDLE_TAKES = 8192,
    LOOK_TAKES = 1024,
    RECENT_TAKES = 64,
};

struct slab;

struct entry {
    struct mgds_piece piece; /* first: a piece is its entry */
    struct slab *slab;       /* NULL: ordinary memory */
    struct entry *next;
    enum mgds_pool_use use; /* while it is taken */
};

/* In its class's list while it belongs to the pool; then only on the list of
 * what is done later. */
struct slab {
    struct mgds_pool *pool;
    struct mgds_pinned *pinned;
    struct slab *next, *previous;
    struct entry *idle;
    unsigned class, entries, idles;
    uint64_t last; /* the pool's takes when a piece came back */
    struct mgds_deferred deferred;
    struct entry entry[];
};

struct mgds_pool {
    struct mgds_context *ctx;
    size_t budget;
    struct mgds_lock lock;
    unsigned refs; /* atomic: its owner and its slabs */
    /* under lock */
    size_t pinned;
    size_t used, held, spare; /* bytes of pieces: of all, of HELD and SPARE
                               * ones, of SPARE ones */
    uint64_t takes;
    struct slab *slabs[CLASSES];
};

/* All pools' pinned bytes, now and at most: for counters. Atomic. */
static size_t all_pinned, most_pinned;

/* Atomic. */
static bool is_short;

static unsigned class_of(size_t bytes, size_t *size)
{
    unsigned class = 0, bits;
    size_t step;

    if (bytes <= SMALL) {
        for (*size = SMALLEST; *size < bytes; *size *= 2)
            class ++;
        return class;
    }
    bits = 63 - (unsigned)__builtin_clzll(bytes - 1);
    step = (size_t)1 << (bits - 2);
    *size = (bytes + step - 1) / step * step;
    return SMALL_CLASSES + (bits - SMALL_BITS) * STEPS +
           (unsigned)((*size - ((size_t)1 << bits)) / step) - 1;
}

static void count_pinned(size_t change)
{
    size_t now = __atomic_add_fetch(&all_pinned, change, __ATOMIC_RELAXED);
    size_t most = __atomic_load_n(&most_pinned, __ATOMIC_RELAXED);

    mgds_stats_add(MGDS_STAT_stage_pinned, change);
    if (now > PTRDIFF_MAX)
        return;
    while (now > most) {
        if (__atomic_compare_exchange_n(&most_pinned, &most, now, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            mgds_stats_add(MGDS_STAT_stage_pinned_most, now - most);
            break;
        }
    }
}

static void put_pool(struct mgds_pool *pool)
{
    if (__atomic_sub_fetch(&pool->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    mgds_lock_fini(&pool->lock);
    mgds_context_put(pool->ctx);
    free(pool);
}

int mgds_pool_create(struct mgds_pool **out, struct mgds_context *ctx,
                     size_t budget)
{
    struct mgds_pool *pool = (struct mgds_pool *)mgds_calloc(1, sizeof(*pool));
    int rc;

    if (!pool)
        return -ENOMEM;
    rc = mgds_lock_init(&pool->lock, MGDS_LOCK_LEAF);
    if (rc < 0) {
        free(pool);
        return rc;
    }
    pool->ctx = mgds_context_get(ctx);
    pool->budget = budget;
    pool->refs = 1;
    *out = pool;
    return 0;
}

/* Behind its memory in the drain: what is counted as pinned is. */
static void forget_slab(struct mgds_deferred *item)
{
    struct slab *slab = MGDS_CONTAINER_OF(item, struct slab, deferred);
    struct mgds_pool *pool = slab->pool;
    size_t bytes = (size_t)slab->entries * slab->entry[0].piece.bytes;

    mgds_lock_acquire(&pool->lock);
    pool->pinned -= bytes;
    mgds_lock_release(&pool->lock);
    count_pinned((size_t)0 - bytes);
    free(slab);
    put_pool(pool);
}

/* The drain runs last in, first out. */
static void give_up(struct slab *slab)
{
    mgds_count(stage_slabs_given_up);
    slab->deferred.run = forget_slab;
    mgds_defer(&slab->deferred);
    mgds_pinned_destroy(slab->pinned);
}

static void remove_locked(struct mgds_pool *pool, struct slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        pool->slabs[slab->class] = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static void put_first_locked(struct mgds_pool *pool, struct slab *slab)
{
    struct slab *first = pool->slabs[slab->class];

    slab->previous = NULL;
    slab->next = first;
    if (first)
        first->previous = slab;
    pool->slabs[slab->class] = slab;
}

static void move_first_locked(struct mgds_pool *pool, struct slab *slab)
{
    if (pool->slabs[slab->class] == slab)
        return;
    remove_locked(pool, slab);
    put_first_locked(pool, slab);
}

static bool is_idle(const struct slab *slab)
{
    return slab->idles == slab->entries;
}

/* Takes idle slabs out of a class. */
static struct slab *take_idle_locked(struct mgds_pool *pool, unsigned class)
{
    struct slab *slab = pool->slabs[class], *idle = NULL;

    while (slab) {
        struct slab *next = slab->next;

        if (is_idle(slab)) {
            remove_locked(pool, slab);
            slab->next = idle;
            idle = slab;
        }
        slab = next;
    }
    return idle;
}

void mgds_pool_trim(struct mgds_pool *pool)
{
    for (unsigned class = 0; class < CLASSES; class ++) {
        struct slab *idle;

        mgds_lock_acquire(&pool->lock);
        idle = take_idle_locked(pool, class);
        mgds_lock_release(&pool->lock);
        while (idle) {
            struct slab *next = idle->next;

            give_up(idle);
            idle = next;
        }
    }
}

void mgds_pool_destroy(struct mgds_pool *pool)
{
    mgds_pool_trim(pool);
    put_pool(pool);
}

size_t mgds_pool_pinned(struct mgds_pool *pool)
{
    size_t bytes;

    mgds_lock_acquire(&pool->lock);
    bytes = pool->pinned;
    mgds_lock_release(&pool->lock);
    return bytes;
}

/* An idle piece of the class. The slab it is in comes to the front, so that
 * the others fall idle together. */
static struct entry *pop_locked(struct mgds_pool *pool, unsigned class)
{
    struct slab *slab = pool->slabs[class];
    struct entry *entry;

    while (slab && !slab->idle)
        slab = slab->next;
    if (!slab)
        return NULL;
    move_first_locked(pool, slab);
    entry = slab->idle;
    slab->idle = entry->next;
    slab->idles--;
    return entry;
}

static bool reserve_bytes(struct mgds_pool *pool, size_t bytes)
{
    bool fits;

    mgds_lock_acquire(&pool->lock);
    fits = bytes <= pool->budget && pool->pinned <= pool->budget - bytes;
    if (fits)
        pool->pinned += bytes;
    mgds_lock_release(&pool->lock);
    return fits;
}

static void unreserve_bytes(struct mgds_pool *pool, size_t bytes)
{
    mgds_lock_acquire(&pool->lock);
    pool->pinned -= bytes;
    mgds_lock_release(&pool->lock);
}

/* Of pieces that are this long; its memory is to come. */
static struct slab *alloc_slab(struct mgds_pool *pool, unsigned class,
                               size_t size)
{
    unsigned entries = size <= SMALL ? (unsigned)(SLAB / size) : 1;
    struct slab *slab = (struct slab *)mgds_calloc(
        1, sizeof(*slab) + entries * sizeof(slab->entry[0]));

    if (!slab)
        return NULL;
    slab->pool = pool;
    slab->class = class;
    slab->entries = slab->idles = entries;
    return slab;
}

static void divide_slab(struct slab *slab, size_t size)
{
    for (unsigned i = 0; i < slab->entries; i++) {
        struct entry *entry = &slab->entry[i];

        entry->piece.addr = (char *)slab->pinned->addr + i * size;
        entry->piece.bytes = size;
        entry->piece.pinned = true;
        entry->slab = slab;
        entry->next = slab->idle;
        slab->idle = entry;
    }
}

static struct slab *create_slab(struct mgds_pool *pool, unsigned class,
                                size_t size)
{
    struct slab *slab = alloc_slab(pool, class, size);

    if (!slab)
        return NULL;
    if (mgds_pinned_create(&slab->pinned, pool->ctx, size * slab->entries) <
        0) {
        free(slab);
        return NULL;
    }
    divide_slab(slab, size);
    return slab;
}

/* The slab is in no list yet: it comes into its class's, and gives a piece. */
static struct entry *begin_slab(struct mgds_pool *pool, struct slab *slab)
{
    struct entry *entry;

    mgds_lock_acquire(&pool->lock);
    slab->last = pool->takes;
    put_first_locked(pool, slab);
    entry = pop_locked(pool, slab->class);
    mgds_lock_release(&pool->lock);
    return entry;
}

/* A piece of a slab that is pinned for it, if the budget allows. */
static struct entry *grow_class(struct mgds_pool *pool, unsigned class,
                                size_t size)
{
    size_t bytes = size <= SMALL ? SLAB : size;
    struct slab *slab;

    if (!reserve_bytes(pool, bytes))
        return NULL;
    slab = create_slab(pool, class, size);
    if (!slab) {
        unreserve_bytes(pool, bytes);
        return NULL;
    }
    mgds_count(stage_slabs_made);
    count_pinned(bytes);
    __atomic_fetch_add(&pool->refs, 1, __ATOMIC_RELAXED);
    return begin_slab(pool, slab);
}

/* The slab of small pieces that nobody has used for longest. */
static struct slab *find_idle_locked(const struct mgds_pool *pool)
{
    struct slab *slab, *oldest = NULL;

    for (unsigned class = 0; class < SMALL_CLASSES; class ++)
        for (slab = pool->slabs[class]; slab; slab = slab->next)
            if (is_idle(slab) && (!oldest || slab->last < oldest->last))
                oldest = slab;
    return oldest;
}

/* An idle slab of another class is divided into pieces of this size, without a
 * call of the driver. */
static struct entry *divide_again(struct mgds_pool *pool, unsigned class,
                                  size_t size)
{
    struct slab *idle, *fresh = NULL;

    if (class >= SMALL_CLASSES)
        return NULL;
    mgds_lock_acquire(&pool->lock);
    idle = find_idle_locked(pool);
    if (idle)
        fresh = alloc_slab(pool, class, size);
    if (fresh)
        remove_locked(pool, idle);
    mgds_lock_release(&pool->lock);
    if (!fresh)
        return NULL;
    fresh->pinned = idle->pinned;
    free(idle);
    divide_slab(fresh, size);
    mgds_count(stage_slabs_divided);
    return begin_slab(pool, fresh);
}

static struct entry *pop_larger(struct mgds_pool *pool, unsigned class)
{
    struct entry *entry = NULL;

    mgds_lock_acquire(&pool->lock);
    while (!entry && ++class < CLASSES)
        entry = pop_locked(pool, class);
    mgds_lock_release(&pool->lock);
    return entry;
}

static struct entry *ordinary_memory(struct mgds_pool *pool, size_t bytes)
{
    struct entry *entry =
        (struct entry *)mgds_malloc(sizeof(*entry) + ALIGNMENT + bytes);
    uintptr_t at = (uintptr_t)(entry + 1);

    if (!entry)
        return NULL;
    mgds_count(stage_unpinned);
    mgds_warn_once("a staged message of %zu bytes goes through ordinary "
                   "memory, which is slow: %zu bytes may be pinned, "
                   "MPIX_GDS_STAGE_POOL allows more",
                   bytes, pool->budget);
    *entry = (struct entry){.piece = {.addr = (void *)((at + ALIGNMENT - 1) /
                                                       ALIGNMENT * ALIGNMENT),
                                      .bytes = bytes}};
    return entry;
}

/* An idle slab stays in its list until a safe point comes: it may serve
 * somebody yet. */
static void note_idle(struct mgds_pool *pool, uint64_t since)
{
    bool any = false;

    mgds_lock_acquire(&pool->lock);
    for (unsigned class = 0; class < CLASSES && !any; class ++)
        for (const struct slab *slab = pool->slabs[class]; slab && !any;
             slab = slab->next)
            any = is_idle(slab) && slab->last <= since;
    mgds_lock_release(&pool->lock);
    if (any)
        __atomic_store_n(&is_short, true, __ATOMIC_RELAXED);
}

/* Now and then: what was idle for long. */
static void look_for_idle(struct mgds_pool *pool, uint64_t takes)
{
    if (takes > IDLE_TAKES && takes % LOOK_TAKES == 0)
        note_idle(pool, takes - IDLE_TAKES);
}

/* What came back before this is idle, even if memory is short. */
static uint64_t recent_use(struct mgds_pool *pool)
{
    uint64_t takes;

    mgds_lock_acquire(&pool->lock);
    takes = pool->takes;
    mgds_lock_release(&pool->lock);
    return takes > RECENT_TAKES ? takes - RECENT_TAKES : 0;
}

/* Beyond the budget idle slabs make room for what comes later. */
static struct entry *ordinary_beyond(struct mgds_pool *pool, size_t bytes)
{
    note_idle(pool, recent_use(pool));
    return ordinary_memory(pool, bytes);
}

static bool fits_locked(const struct mgds_pool *pool, size_t bytes,
                        enum mgds_pool_use use)
{
    size_t quarter = pool->budget / 4;

    if (use == MGDS_POOL_SPARE && pool->spare + bytes > quarter)
        return false;
    return use < MGDS_POOL_HELD || pool->held == 0 ||
           pool->held + bytes <= 3 * quarter;
}

static void begin_use_locked(struct mgds_pool *pool, struct entry *entry,
                             enum mgds_pool_use use)
{
    entry->use = use;
    pool->takes++;
    pool->used += entry->piece.bytes;
    if (use >= MGDS_POOL_HELD)
        pool->held += entry->piece.bytes;
    if (use == MGDS_POOL_SPARE)
        pool->spare += entry->piece.bytes;
}

static void end_use_locked(struct mgds_pool *pool, const struct entry *entry)
{
    pool->used -= entry->piece.bytes;
    if (entry->use >= MGDS_POOL_HELD)
        pool->held -= entry->piece.bytes;
    if (entry->use == MGDS_POOL_SPARE)
        pool->spare -= entry->piece.bytes;
}

/* Of this very class, and idle; fits: there may be another. */
static struct entry *pop_fitting(struct mgds_pool *pool, unsigned class,
                                 size_t size, enum mgds_pool_use use,
                                 bool *fits)
{
    struct entry *entry = NULL;
    uint64_t takes;

    mgds_lock_acquire(&pool->lock);
    *fits = fits_locked(pool, size, use);
    if (*fits)
        entry = pop_locked(pool, class);
    if (entry)
        begin_use_locked(pool, entry, use);
    takes = pool->takes;
    mgds_lock_release(&pool->lock);
    if (entry)
        look_for_idle(pool, takes);
    return entry;
}

/* What may not be needed is worth no larger piece. */
static struct entry *find_other(struct mgds_pool *pool, unsigned class,
                                size_t size, enum mgds_pool_use use)
{
    struct entry *entry = grow_class(pool, class, size);

    if (!entry)
        entry = divide_again(pool, class, size);
    if (!entry && use != MGDS_POOL_SPARE)
        entry = pop_larger(pool, class);
    mgds_lock_acquire(&pool->lock);
    if (entry)
        begin_use_locked(pool, entry, use);
    else if (use > MGDS_POOL_ANY && pool->pinned - pool->used >= size)
        __atomic_store_n(&is_short, true, __ATOMIC_RELAXED);
    mgds_lock_release(&pool->lock);
    return entry;
}

int mgds_pool_take(struct mgds_piece **out, struct mgds_pool *pool,
                   size_t bytes, enum mgds_pool_use use)
{
    struct entry *entry;
    unsigned class;
    size_t size;
    bool fits;

    if (bytes > LARGEST)
        return -ENOMEM;
    class = class_of(bytes, &size);
    entry = pop_fitting(pool, class, size, use, &fits);
    if (entry)
        mgds_count(stage_pieces_reused);
    else if (fits)
        entry = find_other(pool, class, size, use);
    if (!entry && use == MGDS_POOL_ANY)
        entry = ordinary_beyond(pool, bytes);
    if (!entry)
        return -ENOMEM;
    *out = &entry->piece;
    return 0;
}

bool mgds_pools_short(void)
{
    return __atomic_load_n(&is_short, __ATOMIC_RELAXED);
}

void mgds_pools_relieve(void)
{
    __atomic_store_n(&is_short, false, __ATOMIC_RELAXED);
}

void mgds_pool_give(struct mgds_pool *pool, struct mgds_piece *piece)
{
    struct entry *entry = (struct entry *)(void *)piece;
    struct slab *slab = entry->slab;

    if (!slab) {
        free(entry);
        return;
    }
    mgds_lock_acquire(&pool->lock);
    end_use_locked(pool, entry);
    entry->next = slab->idle;
    slab->idle = entry;
    slab->idles++;
    slab->last = pool->takes;
    move_first_locked(pool, slab);
    mgds_lock_release(&pool->lock);
}
