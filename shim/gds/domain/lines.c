/* The list of timelines, and their end; see lines.h. */
#include "shim/gds/domain/lines.h"

#include "shim/base/stats.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/wire/wire.h"

/* What was taken out is freed when there were no readers since: each of them is
 * counted before it reads the first link, and all of these are sequentially
 * consistent, so who is counted later does not find it. */
static struct mgds_line *lines; /* atomic, as their `next` */
static unsigned readers;        /* atomic */
static unsigned listed;         /* how many */
static struct mgds_line *spent; /* taken out, by next_spent */

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

struct mgds_line *mgds_lines_find(const struct mgds_gstream *stream)
{
    struct mgds_line *line;

    line = mgds_lines_begin_to_read();
    while (line && line->stream != stream)
        line = mgds_lines_read_on(line);
    mgds_lines_end_to_read();
    return line;
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

/* The stream will not touch a word of it any more, and nobody comes back. */
static bool is_spent(const struct mgds_line *line)
{
    return !line->first && !line->first_wait &&
           mgds_signals_is_answered(&line->signals);
}

bool mgds_lines_take_out_spent(void)
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

struct mgds_line *mgds_lines_take_spent(bool *some)
{
    struct mgds_line *gone = spent;

    *some = __atomic_load_n(&readers, __ATOMIC_SEQ_CST) > 0 && spent;
    if (*some)
        return NULL;
    spent = NULL;
    return gone;
}

static bool doomed; /* some line is; atomic: read without the lock, too */

void mgds_line_doom(struct mgds_line *line, int error)
{
    if (line->doomed)
        return;
    line->doomed = error;
    __atomic_store_n(&doomed, true, __ATOMIC_RELAXED);
    mgds_wire_kick();
}

bool mgds_lines_doomed(void)
{
    return __atomic_load_n(&doomed, __ATOMIC_RELAXED);
}

void mgds_lines_doomed_seen(void)
{
    __atomic_store_n(&doomed, false, __ATOMIC_RELAXED);
}
