/* Requests that have staged GPU memory behind them. */
#include "shim/pmpi/staged.h"

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "shim/base/fault.h"
#include "shim/base/lock.h"
#include "shim/base/log.h"
#include "shim/pmpi/errmap.h"
#include "shim/pmpi/next.h"

enum { BUCKETS = 256, DRAIN_SECONDS = 10 };

unsigned mgds_staged_alive;

static struct mgds_lock staged_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);
static struct mgds_staged *buckets[BUCKETS] MGDS_GUARDED_BY(staged_lock);
static struct mgds_staged *orphans MGDS_GUARDED_BY(staged_lock);
static uint64_t last_serial MGDS_GUARDED_BY(staged_lock);
static unsigned orphan_count; /* atomic */
_Thread_local unsigned mgds_staged_added;

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
    staged->serial = MGDS_COUNT_FROM + ++last_serial;
    *place = staged;
    mgds_lock_release(&staged_lock);
    mgds_staged_added++;
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

struct mgds_staged_seen mgds_staged_look(MPI_Request handle)
{
    struct mgds_staged_seen seen = {0};
    struct mgds_staged *staged;

    mgds_lock_acquire(&staged_lock);
    staged = *place_of(handle);
    if (staged) {
        seen.kind = staged->ops->kind;
        seen.serial = staged->serial;
    }
    if (seen.kind != MGDS_STAGED_SEND)
        seen.staged = staged;
    mgds_lock_release(&staged_lock);
    return seen;
}

bool mgds_staged_still(MPI_Request handle, uint64_t serial)
{
    struct mgds_staged *staged;
    bool there;

    mgds_lock_acquire(&staged_lock);
    staged = *place_of(handle);
    there = staged && staged->serial == serial;
    mgds_lock_release(&staged_lock);
    return there;
}

struct mgds_staged *mgds_staged_find(MPI_Request handle)
{
    return mgds_staged_look(handle).staged;
}

struct mgds_staged *mgds_staged_take_send(MPI_Request handle, uint64_t serial)
{
    struct mgds_staged **place;
    struct mgds_staged *staged;

    mgds_lock_acquire(&staged_lock);
    place = place_of(handle);
    staged = *place;
    if (staged && staged->serial == serial &&
        staged->ops->kind == MGDS_STAGED_SEND)
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
    staged->tested = NULL;
    staged->next = orphans;
    orphans = staged;
    mgds_lock_release(&staged_lock);
    __atomic_fetch_add(&orphan_count, 1, __ATOMIC_RELAXED);
    count(1);
}

/* Tells threads apart: the address of something each has its own of. */
static const void *self(void)
{
    return &mgds_staged_added;
}

/* The first from here on that nobody tests. Under the lock. */
static struct mgds_staged *claim(struct mgds_staged *orphan)
    MGDS_REQUIRES(staged_lock)
{
    while (orphan && orphan->tested)
        orphan = orphan->next;
    if (orphan)
        orphan->tested = self();
    return orphan;
}

static void unlist(struct mgds_staged *orphan) MGDS_REQUIRES(staged_lock)
{
    struct mgds_staged **at = &orphans;

    while (*at != orphan)
        at = &(*at)->next;
    *at = orphan->next;
}

static struct mgds_staged *first_orphan(void)
{
    struct mgds_staged *orphan;

    mgds_lock_acquire(&staged_lock);
    orphan = claim(orphans);
    mgds_lock_release(&staged_lock);
    return orphan;
}

/* Gives one back, or takes it off the list if it is done; and the next. */
static struct mgds_staged *next_orphan(struct mgds_staged *orphan, bool done)
{
    struct mgds_staged *next;

    mgds_lock_acquire(&staged_lock);
    next = claim(orphan->next);
    if (done)
        unlist(orphan);
    else
        orphan->tested = NULL;
    mgds_lock_release(&staged_lock);
    return next;
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

/* It is off the list. */
static void end_orphan(struct mgds_staged *orphan)
{
    __atomic_fetch_sub(&orphan_count, 1, __ATOMIC_RELAXED);
    count(-1);
    free_below(orphan);
    destroy(orphan);
}

void mgds_staged_orphans_poll(void)
{
    struct mgds_staged *orphan;

    if (__atomic_load_n(&orphan_count, __ATOMIC_RELAXED) == 0)
        return;
    orphan = first_orphan();
    while (orphan) {
        bool done = orphan_is_done(orphan);
        struct mgds_staged *next = next_orphan(orphan, done);

        if (done)
            end_orphan(orphan);
        orphan = next;
    }
}

/* A request of the MPI below holds its communicator, so no other has the handle
 * while the orphan is there. Those of stream communicators (without a handle)
 * are the engine's to wait for. */
static bool is_of(const struct mgds_staged *orphan, const MPI_Comm *comm)
{
    if (!comm)
        return true;
    return orphan->handle != MPI_REQUEST_NULL &&
           (orphan->comm == *comm || orphan->comm == MPI_COMM_NULL);
}

/* Any of them, if comm is NULL. What this thread left behind, or is in the
 * midst of, is none that it could wait for. */
static bool has_orphans(const MPI_Comm *comm)
{
    struct mgds_staged *orphan;

    if (__atomic_load_n(&orphan_count, __ATOMIC_RELAXED) == 0)
        return false;
    mgds_lock_acquire(&staged_lock);
    orphan = orphans;
    while (orphan && (orphan->tested == self() || !is_of(orphan, comm)))
        orphan = orphan->next;
    mgds_lock_release(&staged_lock);
    return orphan;
}

void mgds_staged_orphans_wait(MPI_Comm comm)
{
    while (has_orphans(&comm)) {
        mgds_staged_orphans_poll();
        sched_yield();
    }
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

    while (has_orphans(NULL) && now() < end) {
        mgds_staged_orphans_poll();
        sched_yield();
    }
    if (has_orphans(NULL))
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
