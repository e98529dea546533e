/* Where streams stand; see stand.h. */
#include "shim/gds/msg/stand.h"

#include "shim/base/clock.h"
#include "shim/gds/msg/asked.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/stream/gstream.h"

/* From one look to the next, ns. A kernel says that it stands in each
 * millisecond, so it has between any two looks. */
#define LOOK_NS 10000000u

#define SECOND_NS 1000000000u

static uint64_t due; /* atomic */

/* Memory operations may write no more than the low half. */
static bool is_same(uint64_t a, uint64_t b)
{
    return (uint32_t)a == (uint32_t)b;
}

/* Of all that the stream is not known to have passed. */
static struct mgds_wait *find_wait(const struct mgds_timeline *timeline,
                                   uint64_t number)
{
    for (struct mgds_fence *fence = timeline->first; fence;
         fence = fence->next) {
        struct mgds_wait *wait = mgds_wait_of(fence);

        if (wait && is_same(wait->number, number))
            return wait;
    }
    return NULL;
}

/* The stream has come to the first wait that the CPU has not let pass: what is
 * just ahead of its WAIT was done. */
static struct mgds_wait *find_come(const struct mgds_timeline *timeline)
{
    struct mgds_wait *wait = timeline->first_wait;

    while (wait && !wait->put)
        wait = wait->next;
    return wait && wait->behind &&
                   mgds_timeline_has_passed(timeline, wait->behind)
               ? wait
               : NULL;
}

/* No stream passes a WAIT that the CPU has not let. */
static bool is_held(const struct mgds_wait *wait)
{
    return wait->put && wait->missing > 0;
}

static void see_wait(struct mgds_stand *stand, const struct mgds_wait *wait)
{
    if (stand->number != wait->number)
        stand->since = mgds_clock_ns();
    stand->number = wait->number;
    stand->seen = mgds_clock_ns();
    stand->fresh = true;
}

/* A wait that a stream says it has come to, now or before: it has passed all
 * that is ahead, but for what is in the same launch, of which other blocks may
 * still be at it. */
static struct mgds_wait *see_ahead(struct mgds_timeline *timeline,
                                   uint64_t number)
{
    struct mgds_wait *wait = number ? find_wait(timeline, number) : NULL;

    if (wait)
        mgds_asked_see(&timeline->asked, wait->ahead);
    return wait;
}

static void look_at_timeline(struct mgds_timeline *timeline)
{
    struct mgds_stands said = mgds_gstream_stands(timeline->stream);
    struct mgds_stand *stand = &timeline->stand;
    struct mgds_wait *wait = see_ahead(timeline, said.stand);
    bool beats = said.beat != stand->beat;

    stand->beat = said.beat;
    stand->fresh = false;
    if (!wait || (!beats && !is_held(wait)))
        wait = find_come(timeline);
    if (wait)
        see_wait(stand, wait);
}

bool mgds_stands_due(void)
{
    return mgds_clock_ns() >= __atomic_load_n(&due, __ATOMIC_RELAXED);
}

void mgds_stands_look(void)
{
    __atomic_store_n(&due, mgds_clock_ns() + LOOK_NS, __ATOMIC_RELAXED);
    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next)
        look_at_timeline(timeline);
}

uint64_t mgds_timeline_stands(const struct mgds_timeline *timeline,
                              struct mgds_wait **wait)
{
    if (!timeline->stand.fresh)
        return 0;
    *wait = find_wait(timeline, timeline->stand.number);
    return *wait ? timeline->stand.since : 0;
}

uint64_t mgds_timeline_stood(const struct mgds_timeline *timeline,
                             struct mgds_wait **wait)
{
    if (mgds_clock_ns() - timeline->stand.seen > SECOND_NS)
        return 0;
    *wait = find_wait(timeline, timeline->stand.number);
    return *wait ? timeline->stand.since : 0;
}

static bool is_missing(const struct mgds_wait *wait, const struct mgds_op *op)
{
    return op->waiting == MGDS_OP_AWAITING
               ? !mgds_op_is_moved(op)
               : op->waited->wait == wait && !mgds_op_is_done(op);
}

bool mgds_wait_misses(const struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++)
        if (is_missing(wait, wait->op[i]))
            return true;
    return false;
}

bool mgds_wait_stands_at(const struct mgds_wait *wait, unsigned i, bool misses)
{
    const struct mgds_op *op = wait->op[i];

    return is_missing(wait, op) || (!misses && mgds_op_is_taken(op));
}
