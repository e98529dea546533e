/* Requests that have staged GPU memory behind them. */
#include "shim/pmpi/staged.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"

enum { BUCKETS = 256, DRAIN_SECONDS = 10 };

unsigned mgds_staged_alive;

static struct mgds_lock staged_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static struct mgds_staged *buckets[BUCKETS] MGDS_GUARDED_BY(staged_lock);
static struct mgds_staged *orphans MGDS_GUARDED_BY(staged_lock);
static unsigned orphan_count; /* atomic; those being polled included */

static void count(int by)
{
    __atomic_fetch_add(&mgds_staged_alive, (unsigned)by, __ATOMIC_RELAXED);
}

static struct mgds_staged **place_of(MPI_Request handle)
{
    uint32_t mixed = (uint32_t)handle * 2654435761u;
    struct mgds_staged **place = &buckets[mixed >> 24];

    while (*place && (*place)->handle != handle)
        place = &(*place)->next;
    return place;
}

static void destroy(struct mgds_staged *staged)
{
    if (staged)
        staged->ops->destroy(staged);
}

void mgds_staged_add(struct mgds_staged *staged)
{
    struct mgds_staged **place;
    struct mgds_staged *old;

    mgds_lock_acquire(&staged_lock);
    place = place_of(staged->handle);
    old = *place;
    staged->next = old ? old->next : NULL;
    *place = staged;
    mgds_lock_release(&staged_lock);
    if (!old)
        count(1);
    destroy(old);
}

mgds_word mgds_staged_made(struct mgds_staged *staged,
                           const MPI_Request *handle, mgds_word result)
{
    if ((int)result != MPI_SUCCESS) {
        destroy(staged);
        return result;
    }
    staged->handle = *handle;
    mgds_staged_add(staged);
    return result;
}

enum mgds_staged_kind mgds_staged_look(struct mgds_staged **out,
                                       MPI_Request handle)
{
    enum mgds_staged_kind kind = 0;
    struct mgds_staged *staged;

    *out = NULL;
    mgds_lock_acquire(&staged_lock);
    staged = *place_of(handle);
    if (staged)
        kind = staged->ops->kind;
    if (kind != MGDS_STAGED_SEND)
        *out = staged;
    mgds_lock_release(&staged_lock);
    return kind;
}

struct mgds_staged *mgds_staged_find(MPI_Request handle)
{
    struct mgds_staged *staged;

    mgds_staged_look(&staged, handle);
    return staged;
}

struct mgds_staged *mgds_staged_take_send(MPI_Request handle)
{
    struct mgds_staged **place;
    struct mgds_staged *staged;

    mgds_lock_acquire(&staged_lock);
    place = place_of(handle);
    staged = *place;
    if (staged && staged->ops->kind == MGDS_STAGED_SEND)
        *place = staged->next;
    else
        staged = NULL;
    mgds_lock_release(&staged_lock);
    if (staged)
        count(-1);
    return staged;
}

void mgds_staged_remove(struct mgds_staged *staged)
{
    struct mgds_staged **place;

    mgds_lock_acquire(&staged_lock);
    place = place_of(staged->handle);
    *place = staged->next;
    mgds_lock_release(&staged_lock);
    count(-1);
}

void mgds_staged_orphan(struct mgds_staged *staged)
{
    mgds_lock_acquire(&staged_lock);
    staged->next = orphans;
    orphans = staged;
    mgds_lock_release(&staged_lock);
    __atomic_fetch_add(&orphan_count, 1, __ATOMIC_RELAXED);
    count(1);
}

static struct mgds_staged *take_orphans(void)
{
    struct mgds_staged *taken;

    mgds_lock_acquire(&staged_lock);
    taken = orphans;
    orphans = NULL;
    mgds_lock_release(&staged_lock);
    return taken;
}

/* A persistent request was kept from the MPI below until now. */
static void free_below(struct mgds_staged *staged)
{
    if (staged->ops->kind == MGDS_STAGED_PERSISTENT)
        MGDS_NEXT(Request_free, 1)((mgds_word)&staged->handle);
}

static bool test_below(struct mgds_staged *staged)
{
    MPI_Status status;
    int flag = 0;
    int rc = (int)MGDS_NEXT(Test, 3)((mgds_word)&staged->handle,
                                     (mgds_word)&flag, (mgds_word)&status);

    if (rc == MPI_SUCCESS && !flag)
        return false;
    staged->state = MGDS_STAGED_LANDED;
    if (rc == MPI_SUCCESS && staged->ops->landed)
        (void)staged->ops->landed(staged, &status);
    return true;
}

/* Nobody waits for it, so nobody is told of its errors. */
static bool orphan_is_done(struct mgds_staged *staged)
{
    if (staged->ops->kind != MGDS_STAGED_GREQ &&
        staged->state == MGDS_STAGED_ACTIVE && !test_below(staged))
        return false;
    return !staged->ops->poll || staged->ops->poll(staged) != 0;
}

void mgds_staged_orphans_poll(void)
{
    struct mgds_staged *staged;

    if (__atomic_load_n(&orphan_count, __ATOMIC_RELAXED) == 0)
        return;
    staged = take_orphans();
    while (staged) {
        struct mgds_staged *next = staged->next;

        __atomic_fetch_sub(&orphan_count, 1, __ATOMIC_RELAXED);
        count(-1);
        if (orphan_is_done(staged)) {
            free_below(staged);
            destroy(staged);
        } else {
            mgds_staged_orphan(staged);
        }
        staged = next;
    }
}

static bool has_orphans(void)
{
    return __atomic_load_n(&orphan_count, __ATOMIC_RELAXED) != 0;
}

static time_t now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

/* A freed send may still need us to be received. What is left after that has
 * no partner: its memory stays, for the MPI below may yet touch it. */
static void drain(void)
{
    time_t end = now() + DRAIN_SECONDS;

    while (has_orphans() && now() < end) {
        mgds_staged_orphans_poll();
        sched_yield();
    }
    if (has_orphans())
        mgds_warn("requests with GPU memory were freed and are still not "
                  "complete at MPI_Finalize: their messages have no partner");
}

static struct mgds_staged *take_any(unsigned bucket)
{
    struct mgds_staged *staged;

    mgds_lock_acquire(&staged_lock);
    staged = buckets[bucket];
    if (staged)
        buckets[bucket] = staged->next;
    mgds_lock_release(&staged_lock);
    return staged;
}

void mgds_staged_fini(void)
{
    struct mgds_staged *staged;

    if (!mgds_staged_any())
        return;
    drain();
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++)
        while ((staged = take_any(bucket))) {
            count(-1);
            if (staged->ops->kind != MGDS_STAGED_GREQ)
                destroy(staged);
        }
}
