/* The list of lines, and their end; see lines.h. */
#include "shim/gds/domain/lines.h"

#include <sched.h>

#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"

/* How long answers are waited for, where a stream is made or freed, ns. */
enum { PATIENCE = 10000000 };

/* What was taken out is freed when there were no readers since: each of them is
 * counted before it reads the first link, and all of these are sequentially
 * consistent, so who is counted later does not find it. */
static struct mgds_line *lines; /* atomic, as their `next` */
static unsigned readers;        /* atomic */
static unsigned listed;         /* how many */
static struct mgds_line *spent; /* taken out, by next_spent */

/* Atomic: what mgds_gstreams_alone was when all were looked at, and whether
 * some had still marks then, or are spent. */
static unsigned alone;
static bool left;

static struct mgds_line *next_of(struct mgds_line *const *at)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

struct mgds_line *mgds_lines_first(void)
{
    return lines;
}

struct mgds_line *mgds_lines_begin_to_read(void)
{
    __atomic_fetch_add(&readers, 1, __ATOMIC_SEQ_CST);
    return next_of(&lines);
}

struct mgds_line *mgds_lines_read_on(const struct mgds_line *line)
{
    return next_of(&line->next);
}

void mgds_lines_end_to_read(void)
{
    __atomic_fetch_sub(&readers, 1, __ATOMIC_SEQ_CST);
}

void mgds_lines_add(struct mgds_line *line)
{
    static unsigned most;

    line->next = lines;
    /* the line, for who finds it without the lock */
    __atomic_store_n(&lines, line, __ATOMIC_SEQ_CST);
    mgds_count(streams_used);
    if (++listed <= most)
        return;
    most = listed;
    mgds_count(streams_most);
}

struct mgds_line *mgds_lines_take_any(void)
{
    struct mgds_line *line = spent ? spent : lines;

    if (line && line == spent) {
        spent = line->next_spent;
    } else if (line) {
        lines = line->next;
        listed--;
    }
    return line;
}

static bool is_answered(const struct mgds_line *line)
{
    return !line->asking &&
           __atomic_load_n(line->answer, __ATOMIC_ACQUIRE) == line->asked;
}

/* The stream will not touch a word of it any more, and nobody comes back. */
static bool is_spent(const struct mgds_line *line)
{
    return !line->first && !line->first_wait && is_answered(line);
}

/* True if some stay. Under the lock. */
static bool take_out_spent(void)
{
    struct mgds_line **at = &lines, *line;
    bool some = false;

    while ((line = *at) != NULL) {
        bool is_alone = mgds_gstream_is_alone(line->stream);

        if (!is_alone || !is_spent(line)) {
            some |= is_alone;
            at = &line->next;
            continue;
        }
        __atomic_store_n(at, line->next, __ATOMIC_SEQ_CST);
        line->next_spent = spent;
        spent = line;
        listed--;
        mgds_count(streams_given_back);
    }
    return some;
}

/* Those that nobody reads. Under the lock. */
static struct mgds_line *take_spent(void)
{
    struct mgds_line *gone = spent;

    if (__atomic_load_n(&readers, __ATOMIC_SEQ_CST) > 0)
        return NULL;
    spent = NULL;
    return gone;
}

static bool any_left(void)
{
    return __atomic_load_n(&left, __ATOMIC_RELAXED) ||
           __atomic_load_n(&alone, __ATOMIC_RELAXED) != mgds_gstreams_alone();
}

void mgds_lines_reap(void)
{
    unsigned now = mgds_gstreams_alone();
    struct mgds_line *gone;
    bool some;

    if (!any_left())
        return;
    mgds_engine_enter();
    some = take_out_spent();
    gone = take_spent();
    __atomic_store_n(&alone, now, __ATOMIC_RELAXED);
    __atomic_store_n(&left, some || spent, __ATOMIC_RELAXED);
    mgds_engine_leave();
    while (gone) {
        struct mgds_line *next = gone->next_spent;

        mgds_line_destroy(gone);
        gone = next;
    }
}

/* Is there one whose last question stands? */
static bool any_asked(void)
{
    bool any = false;

    mgds_engine_enter();
    for (const struct mgds_line *line = lines; line && !any; line = line->next)
        any = !is_answered(line);
    mgds_engine_leave();
    return any;
}

/* A freed stream whose receives are quiet is not alone yet: they have it, and
 * their communicator, until it is known that they were passed. The answer comes
 * soon, wherever the stream stands. */
void mgds_lines_recall(void)
{
    uint64_t end;

    mgds_lines_ask();
    end = mgds_clock_ns() + PATIENCE;
    while (any_asked() && mgds_clock_ns() < end)
        sched_yield();
    mgds_engine_enter();
    mgds_lines_poll();
    mgds_engine_leave();
    mgds_lines_reap();
}
