/* Streams that nobody has any more; see reap.h. */
#include "shim/gds/msg/reap.h"

#include <sched.h>

#include "shim/base/clock.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/stream/gstream.h"

/* How long answers are waited for, where a stream is made or freed, ns. */
enum { PATIENCE = 10000000 };

/* Atomic: what mgds_gstreams_alone was when all were looked at, and whether
 * some had still fences then, or are spent. */
static unsigned alone;
static bool left;

bool mgds_reap_due(void)
{
    return __atomic_load_n(&alone, __ATOMIC_RELAXED) != mgds_gstreams_alone();
}

static bool any_left(void)
{
    return __atomic_load_n(&left, __ATOMIC_RELAXED) || mgds_reap_due();
}

void mgds_timelines_reap(void)
{
    unsigned now = mgds_gstreams_alone();
    struct mgds_timeline *gone;
    bool some, read;

    if (!any_left())
        return;
    mgds_engine_enter();
    some = mgds_timelines_take_out_spent();
    gone = mgds_timelines_take_spent(&read);
    __atomic_store_n(&alone, now, __ATOMIC_RELAXED);
    __atomic_store_n(&left, some || read, __ATOMIC_RELAXED);
    mgds_engine_leave();
    while (gone) {
        struct mgds_timeline *next = gone->next_spent;

        mgds_timeline_destroy(gone);
        gone = next;
    }
}

/* Is there one whose last query stands? */
static bool any_query(void)
{
    bool any = false;

    mgds_engine_enter();
    for (const struct mgds_timeline *timeline = mgds_timelines_first();
         timeline && !any; timeline = timeline->next)
        any = !mgds_signals_is_answered(&timeline->signals);
    mgds_engine_leave();
    return any;
}

/* A freed stream whose receives have deferred signals is not alone yet: they
 * have it, and their communicator, until it is known that it passed them. The
 * answer comes soon, wherever the stream stands. */
void mgds_timelines_recall(void)
{
    uint64_t end;

    mgds_timelines_query();
    end = mgds_clock_ns() + PATIENCE;
    while (any_query() && mgds_clock_ns() < end)
        sched_yield();
    mgds_engine_enter();
    mgds_timelines_poll();
    mgds_engine_leave();
    mgds_timelines_reap();
}

void mgds_comm_put(struct mgds_comm *comm)
{
    if (!comm)
        return;
    mgds_comm_release(comm);
    mgds_timelines_reap();
}
