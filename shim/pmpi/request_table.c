/* Requests of ours by handle, and those that the program has freed. */
#include "shim/pmpi/request_table.h"

#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/fault.h"
#include "shim/base/lock.h"

/* Buckets, as powers of two; and how many requests for each at most. */
enum { FIRST_BITS = 8, MOST_BITS = 24, LONGEST = 2 };

unsigned mgds_requests_alive;

static struct mgds_lock table_lock = MGDS_LOCK_INIT(MGDS_LOCK_SHORT);
static struct mgds_request *first_buckets[1 << FIRST_BITS];
static struct mgds_request **
    buckets MGDS_GUARDED_BY(table_lock) = first_buckets;
static unsigned bits MGDS_GUARDED_BY(table_lock) = FIRST_BITS;
static unsigned held MGDS_GUARDED_BY(table_lock);   /* in the table */
static unsigned first MGDS_GUARDED_BY(table_lock);  /* none is in front */
static uint64_t passed MGDS_GUARDED_BY(table_lock); /* on the way to others */
static struct mgds_request *orphans MGDS_GUARDED_BY(table_lock);
static uint64_t last_serial MGDS_GUARDED_BY(table_lock);
static unsigned orphan_count; /* atomic */
_Thread_local unsigned mgds_requests_added;

static void count(int by)
{
    __atomic_fetch_add(&mgds_requests_alive, (unsigned)by, __ATOMIC_RELAXED);
}

static struct mgds_request **place_of(MPI_Request handle)
    MGDS_REQUIRES(table_lock)
{
    uint32_t mixed = (uint32_t)handle * 2654435761u;
    struct mgds_request **place = &buckets[mixed >> (32 - bits)];

    for (; *place && (*place)->handle != handle; place = &(*place)->next)
        passed++;
    return place;
}

uint64_t mgds_requests_passed(void)
{
    uint64_t so_far;

    mgds_lock_acquire(&table_lock);
    so_far = passed;
    mgds_lock_release(&table_lock);
    return so_far;
}

static void move_all(struct mgds_request **old, unsigned old_bits)
    MGDS_REQUIRES(table_lock)
{
    for (unsigned i = 0; i < 1u << old_bits; i++) {
        struct mgds_request *request = old[i];

        while (request) {
            struct mgds_request *next = request->next;
            struct mgds_request **place = place_of(request->handle);

            request->next = NULL; /* no other has its handle: at the end */
            *place = request;
            request = next;
        }
    }
}

static bool is_crowded(void) MGDS_REQUIRES(table_lock)
{
    return held > (unsigned)LONGEST << bits && bits < MOST_BITS;
}

/* Four times as many buckets; without memory chains get longer. Memory is taken
 * and given back without the lock: either may call whom the program has put
 * there. */
static void grow(unsigned old_bits)
{
    unsigned fresh_bits = old_bits + 2;
    struct mgds_request **fresh = (struct mgds_request **)mgds_calloc(
        (size_t)1 << fresh_bits, sizeof(struct mgds_request *));
    struct mgds_request **gone = fresh;

    mgds_lock_acquire(&table_lock);
    if (fresh && bits == old_bits) {
        gone = buckets;
        buckets = fresh;
        bits = fresh_bits;
        first = 0;
        move_all(gone, old_bits);
    }
    mgds_lock_release(&table_lock);
    if (gone != first_buckets)
        free(gone);
}

struct mgds_request *mgds_requests_insert(struct mgds_request *request)
{
    struct mgds_request **place;
    struct mgds_request *old;
    unsigned crowded;

    mgds_lock_acquire(&table_lock);
    place = place_of(request->handle);
    old = *place;
    request->next = old ? old->next : NULL;
    request->serial = MGDS_COUNT_FROM + ++last_serial;
    *place = request;
    held += !old;
    first = 0;
    crowded = is_crowded() ? bits : 0;
    mgds_lock_release(&table_lock);
    if (crowded)
        grow(crowded);
    mgds_requests_added++;
    if (!old)
        count(1);
    return old;
}

struct mgds_request_seen mgds_requests_look(MPI_Request handle)
{
    struct mgds_request_seen seen = {0};
    struct mgds_request *request;

    mgds_lock_acquire(&table_lock);
    request = *place_of(handle);
    if (request) {
        seen.kind = request->ops->kind;
        seen.serial = request->serial;
    }
    if (seen.kind != MGDS_REQUEST_IS_SEND)
        seen.request = request;
    mgds_lock_release(&table_lock);
    return seen;
}

bool mgds_requests_still(MPI_Request handle, uint64_t serial)
{
    struct mgds_request *request;
    bool there;

    mgds_lock_acquire(&table_lock);
    request = *place_of(handle);
    there = request && request->serial == serial;
    mgds_lock_release(&table_lock);
    return there;
}

struct mgds_request *mgds_requests_find(MPI_Request handle)
{
    struct mgds_request *request;

    mgds_lock_acquire(&table_lock);
    request = *place_of(handle);
    if (request && request->ops->kind == MGDS_REQUEST_IS_SEND)
        request = NULL;
    mgds_lock_release(&table_lock);
    return request;
}

struct mgds_request *mgds_requests_find_of(MPI_Request handle,
                                           const struct mgds_request_ops *ops)
{
    struct mgds_request *request = mgds_requests_find(handle);

    return request && request->ops == ops ? request : NULL;
}

struct mgds_request *mgds_requests_take_send(MPI_Request handle,
                                             uint64_t serial)
{
    struct mgds_request **place;
    struct mgds_request *request;

    mgds_lock_acquire(&table_lock);
    place = place_of(handle);
    request = *place;
    if (request && request->serial == serial &&
        request->ops->kind == MGDS_REQUEST_IS_SEND) {
        *place = request->next;
        held--;
    } else {
        request = NULL;
    }
    mgds_lock_release(&table_lock);
    if (request)
        count(-1);
    return request;
}

bool mgds_requests_remove(struct mgds_request *request)
{
    struct mgds_request **place;
    bool there;

    mgds_lock_acquire(&table_lock);
    place = place_of(request->handle);
    there = *place == request;
    if (there) {
        *place = request->next;
        __atomic_store_n(&request->serial, 0, __ATOMIC_RELAXED);
        held--;
    }
    mgds_lock_release(&table_lock);
    if (there)
        count(-1);
    return there;
}

struct mgds_request *mgds_requests_take_any(void)
{
    struct mgds_request *request = NULL;

    mgds_lock_acquire(&table_lock);
    while (held > 0 && !buckets[first])
        first++;
    if (held > 0) {
        request = buckets[first];
        buckets[first] = request->next;
        held--;
    }
    mgds_lock_release(&table_lock);
    if (request)
        count(-1);
    return request;
}

void mgds_requests_add_orphan(struct mgds_request *request)
{
    mgds_lock_acquire(&table_lock);
    request->tested = NULL;
    request->next = orphans;
    orphans = request;
    mgds_lock_release(&table_lock);
    __atomic_fetch_add(&orphan_count, 1, __ATOMIC_RELAXED);
    count(1);
}

/* Tells threads apart: the address of something each has its own of. */
static const void *self(void)
{
    return &mgds_requests_added;
}

/* The first from here on that nobody tests. */
static struct mgds_request *claim(struct mgds_request *orphan)
    MGDS_REQUIRES(table_lock)
{
    while (orphan && orphan->tested)
        orphan = orphan->next;
    if (orphan)
        orphan->tested = self();
    return orphan;
}

static void unlist(struct mgds_request *orphan) MGDS_REQUIRES(table_lock)
{
    struct mgds_request **at = &orphans;

    while (*at != orphan)
        at = &(*at)->next;
    *at = orphan->next;
}

struct mgds_request *mgds_requests_first_orphan(void)
{
    struct mgds_request *orphan;

    mgds_lock_acquire(&table_lock);
    orphan = claim(orphans);
    mgds_lock_release(&table_lock);
    return orphan;
}

struct mgds_request *mgds_requests_next_orphan(struct mgds_request *orphan,
                                               bool done)
{
    struct mgds_request *next;

    mgds_lock_acquire(&table_lock);
    next = claim(orphan->next);
    if (done)
        unlist(orphan);
    else
        orphan->tested = NULL;
    mgds_lock_release(&table_lock);
    if (done) {
        __atomic_fetch_sub(&orphan_count, 1, __ATOMIC_RELAXED);
        count(-1);
    }
    return next;
}

bool mgds_requests_have_orphans(void)
{
    return __atomic_load_n(&orphan_count, __ATOMIC_RELAXED) != 0;
}

/* A request of the MPI below holds its communicator, so no other has the handle
 * while the orphan is there. Those of stream communicators (without a handle)
 * are the engine's to wait for. */
static bool is_of(const struct mgds_request *orphan, const MPI_Comm *comm)
{
    if (!comm)
        return true;
    return orphan->handle != MPI_REQUEST_NULL &&
           (orphan->comm == *comm || orphan->comm == MPI_COMM_NULL);
}

bool mgds_requests_have_orphans_of(const MPI_Comm *comm)
{
    struct mgds_request *orphan;

    if (!mgds_requests_have_orphans())
        return false;
    mgds_lock_acquire(&table_lock);
    orphan = orphans;
    while (orphan && (orphan->tested == self() || !is_of(orphan, comm)))
        orphan = orphan->next;
    mgds_lock_release(&table_lock);
    return orphan;
}
