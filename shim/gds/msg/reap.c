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

void mgds_lines_reap(void)
{
    unsigned now = mgds_gstreams_alone();
    struct mgds_line *gone;
    bool some, read;

    if (!any_left())
        return;
    mgds_engine_enter();
    some = mgds_lines_take_out_spent();
    gone = mgds_lines_take_spent(&read);
    __atomic_store_n(&alone, now, __ATOMIC_RELAXED);
    __atomic_store_n(&left, some || read, __ATOMIC_RELAXED);
    mgds_engine_leave();
    while (gone) {
        struct mgds_line *next = gone->next_spent;

        mgds_line_destroy(gone);
        gone = next;
    }
}

/* Is there one whose last query stands? */
static bool any_query(void)
{
    bool any = false;

    mgds_engine_enter();
    for (const struct mgds_line *line = mgds_lines_first(); line && !any;
         line = line->next)
        any = !mgds_signals_is_answered(&line->signals);
    mgds_engine_leave();
    return any;
}

/* A freed stream whose receives have deferred signals is not alone yet: they
 * have it, and their communicator, until it is known that it passed them. The
 * answer comes soon, wherever the stream stands. */
void mgds_lines_recall(void)
{
    uint64_t end;

    mgds_lines_query();
    end = mgds_clock_ns() + PATIENCE;
    while (any_query() && mgds_clock_ns() < end)
        sched_yield();
    mgds_engine_enter();
    mgds_lines_poll();
    mgds_engine_leave();
    mgds_lines_reap();
}

void mgds_domain_put(struct mgds_domain *domain)
{
    if (!domain)
        return;
    mgds_domain_release(domain);
    mgds_lines_reap();
}
