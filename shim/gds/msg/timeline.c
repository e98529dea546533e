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

static int create_line(struct mgds_line **out, struct mgds_gstream *stream)
{
    struct mgds_line *line = (struct mgds_line *)mgds_calloc(1, sizeof(*line));
    int rc;

    if (!line)
        return -ENOMEM;
    rc = mgds_words_take(&line->words, mgds_gstream_words(stream));
    if (rc < 0) {
        free(line);
        return rc;
    }
    line->reach = &line->words[0];
    line->go = &line->words[1];
    mgds_signals_init(&line->signals, &line->words[2], &line->words[3]);
    line->marks = line->waits = MGDS_COUNT_FROM;
    *line->reach = *line->go = MGDS_COUNT_FROM;
    line->narrow = mgds_gstream_is_narrow(stream);
    line->stream = mgds_gstream_get(stream);
    line->last = &line->first;
    line->last_wait = &line->first_wait;
    *out = line;
    return 0;
}

void mgds_line_destroy(struct mgds_line *line)
{
    mgds_words_give(mgds_gstream_words(line->stream), line->words);
    mgds_gstream_release(line->stream);
    mgds_debt_pay(&line->owed, NULL);
    free(line);
}

static int error_of(const struct mgds_line *line)
{
    return __atomic_load_n(&line->ruin.ruined, __ATOMIC_RELAXED);
}

int mgds_line_of(struct mgds_line **out, struct mgds_gstream *stream)
{
    struct mgds_line *fresh;
    int rc;

    *out = mgds_lines_find(stream);
    if (*out)
        return error_of(*out);
    rc = create_line(&fresh, stream);
    if (rc < 0)
        return rc;
    mgds_engine_enter();
    *out = mgds_lines_find(stream);
    if (!*out) {
        mgds_lines_add(fresh);
        *out = fresh;
        fresh = NULL;
    }
    mgds_engine_leave();
    if (fresh)
        mgds_line_destroy(fresh);
    return 0;
}

/* Those with fences that were not reached; under the engine's lock. */
static TAILQ_HEAD(, mgds_line) watched = TAILQ_HEAD_INITIALIZER(watched);
static unsigned watches;

static void watch_line(struct mgds_line *line)
{
    line->held = true;
    TAILQ_INSERT_TAIL(&watched, line, watch);
    watches++;
    mgds_wire_hold();
}

static void unwatch_line(struct mgds_line *line)
{
    line->held = false;
    TAILQ_REMOVE(&watched, line, watch);
    watches--;
    mgds_wire_release();
}

/* Fences have come or gone: what is told without the lock, and whether the
 * wire's thread has to look out. */
static void look_again(struct mgds_line *line)
{
    bool any = line->first != NULL;

    __atomic_store_n(&line->awaited, any ? line->first->number + 1 : 0,
                     __ATOMIC_RELAXED);
    if (any && !line->held)
        watch_line(line);
    if (!any && line->held)
        unwatch_line(line);
}

/* A fence that rides on none was reached before it was made. */
void mgds_line_ride(struct mgds_line *line, struct mgds_mark *mark)
{
    mark->number = line->marks;
    mark->of_send = false;
    mark->next = NULL;
    *line->last = mark;
    line->last = &mark->next;
    look_again(line);
}

void mgds_line_mark(struct mgds_line *line, struct mgds_mark *mark)
{
    line->marks++;
    mgds_line_ride(line, mark);
}

struct mgds_mark *mgds_line_mark_of(const struct mgds_line *line,
                                    uint64_t number)
{
    struct mgds_mark *mark = line->first;

    while (mark && mark->number != number)
        mark = mark->next;
    return mark;
}

/* Statuses of all first: a wait for which nothing was put is passed with the
 * one ahead of it. */
static void store_all(const struct mgds_line *line)
{
    for (const struct mgds_wait *wait = line->first_wait;
         wait && wait->missing == 0; wait = wait->next)
        mgds_wait_store(wait);
}

void mgds_line_go(struct mgds_line *line)
{
    struct mgds_wait *wait;
    uint64_t number = 0;
    unsigned waits = 0;

    store_all(line);
    while ((wait = line->first_wait) != NULL && wait->missing == 0) {
        number = wait->number;
        waits += wait->put;
        line->first_wait = wait->next;
        mgds_wait_publish(wait);
        mgds_wait_put(wait);
    }
    if (!line->first_wait)
        line->last_wait = &line->first_wait;
    if (number && !line->released)
        __atomic_store_n(line->go, number, __ATOMIC_RELEASE);
    mgds_gstream_passed(line->stream, waits);
}

void mgds_line_wait(struct mgds_line *line, struct mgds_wait *wait)
{
    wait->line = line;
    wait->number = ++line->waits;
    wait->next = NULL;
    *line->last_wait = wait;
    line->last_wait = &wait->next;
    mgds_line_go(line);
}

void mgds_wait_less(struct mgds_wait *wait)
{
    if (--wait->missing == 0)
        mgds_line_go(wait->line);
}

/* Whether the stream is known to have come to the fence, which it had not for
 * all that was known before. */
static bool has_come(const struct mgds_line *line, uint64_t number)
{
    uint64_t reach = __atomic_load_n(line->reach, __ATOMIC_ACQUIRE);

    if (line->narrow ? (int32_t)((uint32_t)reach - (uint32_t)number) >= 0
                     : reach >= number)
        return true;
    return mgds_asked_is_seen(&line->asked, number) ||
           mgds_signals_is_told(&line->signals, number);
}

static bool poll_line(struct mgds_line *line)
{
    struct mgds_mark *mark;
    bool any = false;

    while ((mark = line->first) != NULL && has_come(line, mark->number)) {
        line->first = mark->next;
        if (!line->first)
            line->last = &line->first;
        line->passes++;
        mark->passed(mark);
        any = true;
    }
    look_again(line);
    return any;
}

bool mgds_lines_due(void)
{
    bool due = false;

    for (const struct mgds_line *line = mgds_lines_begin_to_read();
         line && !due; line = mgds_lines_read_on(line)) {
        uint64_t awaited = __atomic_load_n(&line->awaited, __ATOMIC_RELAXED);

        due = awaited && has_come(line, awaited - 1);
    }
    mgds_lines_end_to_read();
    return due;
}

/* Each goes behind the others first, for what has come there may end its watch,
 * or that of another. */
bool mgds_lines_poll(void)
{
    bool any = false;

    for (unsigned left = watches; left > 0 && watches > 0; left--) {
        struct mgds_line *line = TAILQ_FIRST(&watched);

        TAILQ_REMOVE(&watched, line, watch);
        TAILQ_INSERT_TAIL(&watched, line, watch);
        any |= poll_line(line);
    }
    return any;
}

struct mgds_line *mgds_line_find_deferred(const struct mgds_gstream *stream)
{
    struct mgds_line *line = mgds_lines_find(stream);

    return line && line->first && mgds_signals_any_deferred(&line->signals)
               ? line
               : NULL;
}

static struct mgds_line *find_to_query(struct mgds_line *line)
{
    while (line && !(line->first && mgds_signals_may_query(&line->signals)))
        line = line->next;
    return line;
}

bool mgds_lines_to_query(void)
{
    bool any;

    mgds_engine_enter();
    any = find_to_query(mgds_lines_first()) != NULL;
    mgds_engine_leave();
    return any;
}

/* Without the lock while a query is made: the timeline stays where it is, and
 * others are put in ahead of those that are there. */
void mgds_lines_query(void)
{
    struct mgds_line *line;

    mgds_engine_enter();
    line = find_to_query(mgds_lines_first());
    while (line) {
        uint64_t query = mgds_signals_begin_query(&line->signals);
        uint64_t last = line->marks;

        mgds_engine_leave();
        mgds_signals_query(&line->signals, line->stream, query, last);
        mgds_engine_enter();
        mgds_signals_end_query(&line->signals);
        line = find_to_query(line->next);
    }
    mgds_engine_leave();
}

bool mgds_line_has_passed(const struct mgds_line *line, uint64_t number)
{
    return has_come(line, number);
}

unsigned mgds_lines_pending(const struct mgds_gstream *stream)
{
    unsigned pending = 0;

    for (struct mgds_line *line = mgds_lines_first(); line; line = line->next)
        if (!stream || line->stream == stream)
            for (struct mgds_mark *mark = line->first; mark; mark = mark->next)
                pending++;
    return pending;
}

int mgds_gstream_take_error(struct mgds_gstream *stream,
                            struct mgds_failure *out)
{
    struct mgds_line *line;
    int error = 0;

    mgds_engine_enter();
    line = mgds_lines_find(stream);
    if (line)
        error = mgds_debt_pay(&line->owed, out);
    mgds_engine_leave();
    return error;
}

/* Numbers are compared cyclically: beyond all that stand, however far a stream
 * still comes. */
void mgds_lines_release(void)
{
    for (struct mgds_line *line = mgds_lines_first(); line; line = line->next) {
        struct mgds_wait *wait;

        line->released = true;
        while ((wait = line->first_wait) != NULL) {
            line->first_wait = wait->next;
            mgds_wait_leave(wait);
        }
        line->last_wait = &line->first_wait;
        __atomic_store_n(line->go, line->waits + RELEASED, __ATOMIC_RELEASE);
        mgds_gstream_abort(line->stream);
    }
}

/* As if the stream had come there: what should have told so was not put. */
void mgds_line_break(struct mgds_line *line, struct mgds_mark *mark)
{
    struct mgds_mark **at = &line->first;
    uint64_t number = mark->number;

    while (*at && *at != mark)
        at = &(*at)->next;
    while ((mark = *at) != NULL && mark->number == number) {
        *at = mark->next;
        if (!*at)
            line->last = at;
        mark->passed(mark);
    }
    look_again(line);
}

/* A stream that stands somewhere else than at a wait of ours will still write
 * to its words, and to what its marks are in: that stays with it. */
static bool is_abandoned(struct mgds_line *line)
{
    if (line->held)
        unwatch_line(line);
    return line->first != NULL;
}

void mgds_lines_fini(void)
{
    struct mgds_line *line;

    while ((line = mgds_lines_take_any()) != NULL)
        if (!is_abandoned(line))
            mgds_line_destroy(line);
}
