/* Timelines: fences that streams have reached, and waits that may go on; see
 * timeline.h. */
#include "shim/gds/msg/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/fault.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/stream/syncwords.h"
#include "shim/gds/wire/wire.h"

/* Protocols, section 9. */
#define RELEASED 0x40000000u

static int create_timeline(struct mgds_timeline **out,
                           struct mgds_gstream *stream)
{
    struct mgds_timeline *timeline =
        (struct mgds_timeline *)mgds_calloc(1, sizeof(*timeline));
    int rc;

    if (!timeline)
        return -ENOMEM;
    rc = mgds_syncwords_take(&timeline->words, mgds_gstream_words(stream));
    if (rc < 0) {
        free(timeline);
        return rc;
    }
    timeline->reach = &timeline->words[0];
    timeline->go = &timeline->words[1];
    mgds_signals_init(&timeline->signals, &timeline->words[2],
                      &timeline->words[3]);
    timeline->fences = timeline->waits = MGDS_COUNT_FROM;
    *timeline->reach = *timeline->go = MGDS_COUNT_FROM;
    timeline->narrow = mgds_gstream_is_narrow(stream);
    timeline->stream = mgds_gstream_get(stream);
    timeline->last = &timeline->first;
    timeline->last_wait = &timeline->first_wait;
    *out = timeline;
    return 0;
}

void mgds_timeline_destroy(struct mgds_timeline *timeline)
{
    mgds_syncwords_give(mgds_gstream_words(timeline->stream), timeline->words);
    mgds_gstream_release(timeline->stream);
    mgds_debt_pay(&timeline->owed, NULL);
    free(timeline);
}

static int error_of(const struct mgds_timeline *timeline)
{
    return __atomic_load_n(&timeline->ruin.ruined, __ATOMIC_RELAXED);
}

int mgds_timeline_of(struct mgds_timeline **out, struct mgds_gstream *stream)
{
    struct mgds_timeline *fresh;
    int rc;

    *out = mgds_timelines_find(stream);
    if (*out)
        return error_of(*out);
    rc = create_timeline(&fresh, stream);
    if (rc < 0)
        return rc;
    mgds_engine_enter();
    *out = mgds_timelines_find(stream);
    if (!*out) {
        mgds_timelines_add(fresh);
        *out = fresh;
        fresh = NULL;
    }
    mgds_engine_leave();
    if (fresh)
        mgds_timeline_destroy(fresh);
    return 0;
}

/* Those with fences that were not reached; under the engine's lock. */
static TAILQ_HEAD(, mgds_timeline) watched = TAILQ_HEAD_INITIALIZER(watched);
static unsigned watches;

static void watch_timeline(struct mgds_timeline *timeline)
{
    timeline->held = true;
    TAILQ_INSERT_TAIL(&watched, timeline, watch);
    watches++;
    mgds_wire_hold();
}

static void unwatch_timeline(struct mgds_timeline *timeline)
{
    timeline->held = false;
    TAILQ_REMOVE(&watched, timeline, watch);
    watches--;
    mgds_wire_release();
}

/* Fences have come or gone: what is told without the lock, and whether the
 * wire's thread has to look out. */
static void look_again(struct mgds_timeline *timeline)
{
    bool any = timeline->first != NULL;

    __atomic_store_n(&timeline->awaited, any ? timeline->first->number + 1 : 0,
                     __ATOMIC_RELAXED);
    if (any && !timeline->held)
        watch_timeline(timeline);
    if (!any && timeline->held)
        unwatch_timeline(timeline);
}

/* A fence that rides on none was reached before it was made. */
void mgds_timeline_ride(struct mgds_timeline *timeline,
                        struct mgds_fence *fence)
{
    fence->number = timeline->fences;
    fence->of_send = false;
    fence->next = NULL;
    *timeline->last = fence;
    timeline->last = &fence->next;
    look_again(timeline);
}

void mgds_timeline_fence(struct mgds_timeline *timeline,
                         struct mgds_fence *fence)
{
    timeline->fences++;
    mgds_timeline_ride(timeline, fence);
}

struct mgds_fence *mgds_timeline_fence_of(const struct mgds_timeline *timeline,
                                          uint64_t number)
{
    struct mgds_fence *fence = timeline->first;

    while (fence && fence->number != number)
        fence = fence->next;
    return fence;
}

/* Statuses of all first: a wait for which nothing was put is passed with the
 * one ahead of it. */
static void store_all(const struct mgds_timeline *timeline)
{
    for (const struct mgds_wait *wait = timeline->first_wait;
         wait && wait->missing == 0; wait = wait->next)
        mgds_wait_store(wait);
}

void mgds_timeline_go(struct mgds_timeline *timeline)
{
    struct mgds_wait *wait;
    uint64_t number = 0;
    unsigned waits = 0;

    store_all(timeline);
    while ((wait = timeline->first_wait) != NULL && wait->missing == 0) {
        number = wait->number;
        waits += wait->put;
        timeline->first_wait = wait->next;
        mgds_wait_publish(wait);
        mgds_wait_put(wait);
    }
    if (!timeline->first_wait)
        timeline->last_wait = &timeline->first_wait;
    if (number && !timeline->released)
        __atomic_store_n(timeline->go, number, __ATOMIC_RELEASE);
    mgds_gstream_passed(timeline->stream, waits);
}

void mgds_timeline_wait(struct mgds_timeline *timeline, struct mgds_wait *wait)
{
    wait->timeline = timeline;
    wait->number = ++timeline->waits;
    wait->next = NULL;
    *timeline->last_wait = wait;
    timeline->last_wait = &wait->next;
    mgds_timeline_go(timeline);
}

void mgds_wait_less(struct mgds_wait *wait)
{
    if (--wait->missing == 0)
        mgds_timeline_go(wait->timeline);
}

/* Whether the stream is known to have come to the fence, which it had not for
 * all that was known before. */
static bool has_come(const struct mgds_timeline *timeline, uint64_t number)
{
    uint64_t reach = __atomic_load_n(timeline->reach, __ATOMIC_ACQUIRE);

    if (timeline->narrow ? (int32_t)((uint32_t)reach - (uint32_t)number) >= 0
                         : reach >= number)
        return true;
    return mgds_asked_is_seen(&timeline->asked, number) ||
           mgds_signals_is_told(&timeline->signals, number);
}

static bool poll_timeline(struct mgds_timeline *timeline)
{
    struct mgds_fence *fence;
    bool any = false;

    while ((fence = timeline->first) != NULL &&
           has_come(timeline, fence->number)) {
        timeline->first = fence->next;
        if (!timeline->first)
            timeline->last = &timeline->first;
        timeline->passes++;
        fence->passed(fence);
        any = true;
    }
    look_again(timeline);
    return any;
}

bool mgds_timelines_due(void)
{
    bool due = false;

    for (const struct mgds_timeline *timeline = mgds_timelines_begin_to_read();
         timeline && !due; timeline = mgds_timelines_read_on(timeline)) {
        uint64_t awaited =
            __atomic_load_n(&timeline->awaited, __ATOMIC_RELAXED);

        due = awaited && has_come(timeline, awaited - 1);
    }
    mgds_timelines_end_to_read();
    return due;
}

/* Each goes behind the others first, for what has come there may end its watch,
 * or that of another. */
bool mgds_timelines_poll(void)
{
    bool any = false;

    for (unsigned left = watches; left > 0 && watches > 0; left--) {
        struct mgds_timeline *timeline = TAILQ_FIRST(&watched);

        TAILQ_REMOVE(&watched, timeline, watch);
        TAILQ_INSERT_TAIL(&watched, timeline, watch);
        any |= poll_timeline(timeline);
    }
    return any;
}

struct mgds_timeline *
mgds_timeline_find_deferred(const struct mgds_gstream *stream)
{
    struct mgds_timeline *timeline = mgds_timelines_find(stream);

    return timeline && timeline->first &&
                   mgds_signals_any_deferred(&timeline->signals)
               ? timeline
               : NULL;
}

static struct mgds_timeline *find_to_query(struct mgds_timeline *timeline)
{
    while (timeline &&
           !(timeline->first && mgds_signals_may_query(&timeline->signals)))
        timeline = timeline->next;
    return timeline;
}

bool mgds_timelines_to_query(void)
{
    bool any;

    mgds_engine_enter();
    any = find_to_query(mgds_timelines_first()) != NULL;
    mgds_engine_leave();
    return any;
}

/* Without the lock while a query is made: the timeline stays where it is, and
 * others are put in ahead of those that are there. */
void mgds_timelines_query(void)
{
    struct mgds_timeline *timeline;

    mgds_engine_enter();
    timeline = find_to_query(mgds_timelines_first());
    while (timeline) {
        uint64_t query = mgds_signals_begin_query(&timeline->signals);
        uint64_t last = timeline->fences;

        mgds_engine_leave();
        mgds_signals_query(&timeline->signals, timeline->stream, query, last);
        mgds_engine_enter();
        mgds_signals_end_query(&timeline->signals);
        timeline = find_to_query(timeline->next);
    }
    mgds_engine_leave();
}

bool mgds_timeline_has_passed(const struct mgds_timeline *timeline,
                              uint64_t number)
{
    return has_come(timeline, number);
}

unsigned mgds_timelines_pending(const struct mgds_gstream *stream)
{
    unsigned pending = 0;

    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next)
        if (!stream || timeline->stream == stream)
            for (struct mgds_fence *fence = timeline->first; fence;
                 fence = fence->next)
                pending++;
    return pending;
}

/* Numbers are compared cyclically: beyond all that stand, however far a stream
 * still comes. */
void mgds_timelines_release(void)
{
    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next) {
        struct mgds_wait *wait;

        timeline->released = true;
        while ((wait = timeline->first_wait) != NULL) {
            timeline->first_wait = wait->next;
            mgds_wait_leave(wait);
        }
        timeline->last_wait = &timeline->first_wait;
        __atomic_store_n(timeline->go, timeline->waits + RELEASED,
                         __ATOMIC_RELEASE);
        mgds_gstream_abort(timeline->stream);
    }
}

/* As if the stream had come there: what should have told so was not put. */
void mgds_timeline_break(struct mgds_timeline *timeline,
                         struct mgds_fence *fence)
{
    struct mgds_fence **at = &timeline->first;
    uint64_t number = fence->number;

    while (*at && *at != fence)
        at = &(*at)->next;
    while ((fence = *at) != NULL && fence->number == number) {
        *at = fence->next;
        if (!*at)
            timeline->last = at;
        fence->passed(fence);
    }
    look_again(timeline);
}

/* A stream that stands somewhere else than at a wait of ours will still write
 * to its words, and to what its fences are in: that stays with it. */
static bool is_abandoned(struct mgds_timeline *timeline)
{
    if (timeline->held)
        unwatch_timeline(timeline);
    return timeline->first != NULL;
}

void mgds_timelines_fini(void)
{
    struct mgds_timeline *timeline;

    while ((timeline = mgds_timelines_take_any()) != NULL)
        if (!is_abandoned(timeline))
            mgds_timeline_destroy(timeline);
}
