/* The list of timelines, and their end; see timelines.h. */
#include "shim/gds/msg/timelines.h"

#include "shim/base/stats.h"
#include "shim/base/tls.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"

enum { LINE = 64, SEATS = 8 };

/* Hardly ever written. */
static struct {
    _Alignas(LINE) struct mgds_timeline *first; /* atomic, as their `next` */
    struct mgds_timeline *spent;                /* taken out, by next_spent */
    unsigned listed;                            /* how many */
} timelines;

/* What was taken out is freed when each seat was empty since: readers are
 * counted in theirs before they read the first link, and all of these are
 * sequentially consistent, so who is counted later does not find it. Seats do
 * not share a line of the cache: the wire's thread, which reads all the time,
 * keeps its own and leaves callers theirs. */
static struct {
    _Alignas(LINE) unsigned readers; /* atomic */
} seats[SEATS];
static MGDS_TLS unsigned *seat; /* the thread's; several may share one */

static unsigned *seat_of_thread(void)
{
    static unsigned threads;

    if (!seat)
        seat = &seats[__atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED) % SEATS]
                    .readers;
    return seat;
}

static bool any_reads(void)
{
    bool any = false;

    for (unsigned i = 0; i < SEATS; i++)
        any |= __atomic_load_n(&seats[i].readers, __ATOMIC_SEQ_CST) > 0;
    return any;
}

static struct mgds_timeline *next_of(struct mgds_timeline *const *at)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

struct mgds_timeline *mgds_timelines_first(void)
{
    return timelines.first;
}

struct mgds_timeline *mgds_timelines_begin_to_read(void)
{
    __atomic_fetch_add(seat_of_thread(), 1, __ATOMIC_SEQ_CST);
    return next_of(&timelines.first);
}

struct mgds_timeline *
mgds_timelines_read_on(const struct mgds_timeline *timeline)
{
    return next_of(&timeline->next);
}

void mgds_timelines_end_to_read(void)
{
    __atomic_fetch_sub(seat_of_thread(), 1, __ATOMIC_SEQ_CST);
}

void mgds_timelines_add(struct mgds_timeline *timeline)
{
    static unsigned most;

    timeline->next = timelines.first;
    /* the timeline, for who finds it without the lock */
    __atomic_store_n(&timelines.first, timeline, __ATOMIC_SEQ_CST);
    mgds_gstream_set_timeline(timeline->stream, timeline);
    mgds_count(streams_used);
    mgds_stats_raise(MGDS_STAT_streams_most, &most, ++timelines.listed);
}

struct mgds_timeline *mgds_timelines_find(const struct mgds_gstream *stream)
{
    return mgds_gstream_timeline(stream);
}

struct mgds_timeline *mgds_timelines_take_any(void)
{
    struct mgds_timeline *timeline =
        timelines.spent ? timelines.spent : timelines.first;

    if (timeline && timeline == timelines.spent) {
        timelines.spent = timeline->next_spent;
    } else if (timeline) {
        timelines.first = timeline->next;
        timelines.listed--;
        mgds_gstream_set_timeline(timeline->stream, NULL);
    }
    return timeline;
}

/* The stream will not touch a word of it any more, and nobody comes back. */
static bool is_spent(const struct mgds_timeline *timeline)
{
    return !timeline->first && !timeline->first_wait &&
           mgds_signals_is_answered(&timeline->signals) &&
           !mgds_work_is_listed(&timeline->ruin.work) &&
           !mgds_work_is_listed(&timeline->asked.work);
}

bool mgds_timelines_take_out_spent(void)
{
    struct mgds_timeline **at = &timelines.first, *timeline;
    bool some = false;

    while ((timeline = *at) != NULL) {
        bool is_alone = mgds_gstream_is_alone(timeline->stream);

        if (!is_alone || !is_spent(timeline)) {
            some |= is_alone;
            at = &timeline->next;
            continue;
        }
        __atomic_store_n(at, timeline->next, __ATOMIC_SEQ_CST);
        mgds_gstream_set_timeline(timeline->stream, NULL);
        timeline->next_spent = timelines.spent;
        timelines.spent = timeline;
        timelines.listed--;
        mgds_count(streams_given_back);
    }
    return some;
}

struct mgds_timeline *mgds_timelines_take_spent(bool *some)
{
    struct mgds_timeline *gone = timelines.spent;

    *some = gone && any_reads();
    if (*some)
        return NULL;
    timelines.spent = NULL;
    return gone;
}

void mgds_timeline_doom(struct mgds_timeline *timeline, int error)
{
    if (timeline->ruin.doomed)
        return;
    timeline->ruin.doomed = error;
    mgds_work_add(&timeline->ruin.work, MGDS_WORK_RUIN);
}
