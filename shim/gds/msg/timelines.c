/* The list of timelines, and their end; see timelines.h. */
#include "shim/gds/msg/timelines.h"

#include "shim/base/stats.h"
#include "shim/base/tls.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"

enum { LINE = 64, SEATS = 8 };

/* Hardly ever written. */
static struct {
    _Alignas(LINE) struct mgds_line *first; /* atomic, as their `next` */
    struct mgds_line *spent;                /* taken out, by next_spent */
    unsigned listed;                        /* how many */
} lines;

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

static struct mgds_line *next_of(struct mgds_line *const *at)
{
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}

struct mgds_line *mgds_lines_first(void)
{
    return lines.first;
}

struct mgds_line *mgds_lines_begin_to_read(void)
{
    __atomic_fetch_add(seat_of_thread(), 1, __ATOMIC_SEQ_CST);
    return next_of(&lines.first);
}

struct mgds_line *mgds_lines_read_on(const struct mgds_line *line)
{
    return next_of(&line->next);
}

void mgds_lines_end_to_read(void)
{
    __atomic_fetch_sub(seat_of_thread(), 1, __ATOMIC_SEQ_CST);
}

void mgds_lines_add(struct mgds_line *line)
{
    static unsigned most;

    line->next = lines.first;
    /* the line, for who finds it without the lock */
    __atomic_store_n(&lines.first, line, __ATOMIC_SEQ_CST);
    mgds_gstream_set_timeline(line->stream, line);
    mgds_count(streams_used);
    if (++lines.listed <= most)
        return;
    most = lines.listed;
    mgds_count(streams_most);
}

struct mgds_line *mgds_lines_find(const struct mgds_gstream *stream)
{
    return mgds_gstream_timeline(stream);
}

struct mgds_line *mgds_lines_take_any(void)
{
    struct mgds_line *line = lines.spent ? lines.spent : lines.first;

    if (line && line == lines.spent) {
        lines.spent = line->next_spent;
    } else if (line) {
        lines.first = line->next;
        lines.listed--;
        mgds_gstream_set_timeline(line->stream, NULL);
    }
    return line;
}

/* The stream will not touch a word of it any more, and nobody comes back. */
static bool is_spent(const struct mgds_line *line)
{
    return !line->first && !line->first_wait &&
           mgds_signals_is_answered(&line->signals) &&
           !mgds_work_is_listed(&line->ruin.work) &&
           !mgds_work_is_listed(&line->asked.work);
}

bool mgds_lines_take_out_spent(void)
{
    struct mgds_line **at = &lines.first, *line;
    bool some = false;

    while ((line = *at) != NULL) {
        bool is_alone = mgds_gstream_is_alone(line->stream);

        if (!is_alone || !is_spent(line)) {
            some |= is_alone;
            at = &line->next;
            continue;
        }
        __atomic_store_n(at, line->next, __ATOMIC_SEQ_CST);
        mgds_gstream_set_timeline(line->stream, NULL);
        line->next_spent = lines.spent;
        lines.spent = line;
        lines.listed--;
        mgds_count(streams_given_back);
    }
    return some;
}

struct mgds_line *mgds_lines_take_spent(bool *some)
{
    struct mgds_line *gone = lines.spent;

    *some = gone && any_reads();
    if (*some)
        return NULL;
    lines.spent = NULL;
    return gone;
}

void mgds_line_doom(struct mgds_line *line, int error)
{
    if (line->ruin.doomed)
        return;
    line->ruin.doomed = error;
    mgds_work_add(&line->ruin.work, MGDS_WORK_RUIN);
}
