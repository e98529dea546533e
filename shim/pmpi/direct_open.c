/* Receives and sends of an armed rank that are under way. */
#include "shim/pmpi/direct_open.h"

#include <sched.h>

#include "shim/base/lock.h"
#include "shim/pmpi/direct.h"
#include "shim/pmpi/grequest.h"

enum { MOST = 256 };

static struct mgds_lock open_lock = MGDS_LOCK_INIT(MGDS_LOCK_SHORT);
struct open_one {
    struct mgds_request *request;
    const void *owner; /* the thread that has begun it */
};
static struct open_one open_ones[MOST];          /* the first open_count */
static struct open_one offers[MGDS_BOARD_SLOTS]; /* by slot; atomic, or NULL */
static int open_count, offer_count;              /* atomic; under lock */

/* Tells threads apart: each has its own. */
static _Thread_local char mark;

void mgds_direct_open_add(struct mgds_request *request)
{
    mgds_lock_acquire(&open_lock);
    if (open_count < MOST) {
        open_ones[open_count].request = request;
        open_ones[open_count].owner = &mark;
        __atomic_store_n(&request->open, true, __ATOMIC_RELAXED);
        __atomic_store_n(&open_count, open_count + 1, __ATOMIC_RELAXED);
    }
    mgds_lock_release(&open_lock);
}

void mgds_direct_open_remove(struct mgds_request *request)
{
    mgds_lock_acquire(&open_lock);
    for (int i = 0; i < open_count; i++)
        if (open_ones[i].request == request) {
            open_ones[i] = open_ones[open_count - 1];
            __atomic_store_n(&request->open, false, __ATOMIC_RELAXED);
            __atomic_store_n(&open_count, open_count - 1, __ATOMIC_RELAXED);
            break;
        }
    mgds_lock_release(&open_lock);
}

/* Under the lock. The older one of the slot, if there is one, is over. */
static void set_offer(unsigned slot, struct mgds_request *request)
{
    int more = (request != NULL) - (offers[slot].request != NULL);

    __atomic_store_n(&offers[slot].request, request, __ATOMIC_RELAXED);
    __atomic_store_n(&offer_count, offer_count + more, __ATOMIC_RELAXED);
}

void mgds_direct_open_offer(unsigned slot, struct mgds_request *request)
{
    mgds_lock_acquire(&open_lock);
    set_offer(slot, request);
    offers[slot].owner = &mark;
    mgds_lock_release(&open_lock);
}

/* The slot may be another's by now. */
void mgds_direct_open_end_offer(unsigned slot, struct mgds_request *request)
{
    mgds_lock_acquire(&open_lock);
    if (offers[slot].request == request)
        set_offer(slot, NULL);
    mgds_lock_release(&open_lock);
}

/* Nobody makes a step of it: this thread neither, further up the stack, where
 * an error handler of the program's has called MPI from inside of that step. */
static bool is_idle(const struct mgds_request *request)
{
    return !__atomic_load_n(&request->claimed, __ATOMIC_RELAXED);
}

/* With a reference; NULL: none of this thread's is there, or it has its step,
 * or is about to go. Under the lock. */
static struct mgds_request *get(const struct open_one *one)
{
    if (one->request && one->owner == &mark && is_idle(one->request) &&
        mgds_request_try_get(one->request))
        return one->request;
    return NULL;
}

static struct mgds_request *get_at(int i)
{
    struct mgds_request *request;

    mgds_lock_acquire(&open_lock);
    request = i < open_count ? get(&open_ones[i]) : NULL;
    mgds_lock_release(&open_lock);
    return request;
}

static struct mgds_request *get_offer(unsigned slot)
{
    struct mgds_request *request;

    if (!__atomic_load_n(&offers[slot].request, __ATOMIC_RELAXED))
        return NULL;
    mgds_lock_acquire(&open_lock);
    request = get(&offers[slot]);
    mgds_lock_release(&open_lock);
    return request;
}

/* NULL is allowed. */
static void step(struct mgds_request *request)
{
    if (!request)
        return;
    mgds_grequest_poll(request);
    mgds_request_put(request);
}

/* From the last on: one that ends takes itself off, and the last its place. */
static void step_all(int count)
{
    for (int i = count - 1; i >= 0; i--)
        step(get_at(i));
}

void mgds_direct_open_serve_refused(void)
{
    if (!mgds_direct_has_refused())
        return;
    for (unsigned slot = 0; slot < MGDS_BOARD_SLOTS; slot++)
        step(get_offer(slot));
}

bool mgds_direct_open_any(void)
{
    return __atomic_load_n(&open_count, __ATOMIC_RELAXED) > 0 ||
           __atomic_load_n(&offer_count, __ATOMIC_RELAXED) > 0;
}

void mgds_direct_open_step(int more_than)
{
    int count = __atomic_load_n(&open_count, __ATOMIC_RELAXED);

    if (count > more_than)
        step_all(count);
    mgds_direct_open_serve_refused();
    mgds_direct_pass();
}

void mgds_direct_open_wait(int more_than, bool (*is_over)(void *state),
                           void *state)
{
    mgds_direct_serve(true);
    while (!is_over(state)) {
        mgds_direct_open_step(more_than);
        sched_yield();
    }
    mgds_direct_serve(false);
}
