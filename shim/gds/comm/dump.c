/* What stands, on demand; see dump.h. */
#include "shim/gds/comm/dump.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/msg/stand.h"
#include "shim/gds/comm/watched.h"
#include "shim/gds/wire/wire.h"

/* For how long the lock is tried. */
#define PATIENCE_NS 200000000u

/* Lines, made under the lock and written without it. */
struct lines {
    char (*text)[MGDS_REPORT_BYTES];
    unsigned count, room;
    unsigned lost; /* for want of memory */
};

/* Where the next one goes, or NULL. */
static char *add_room(struct lines *lines)
{
    unsigned room = lines->room ? 2 * lines->room : 16;
    void *more;

    if (lines->count == lines->room) {
        more = mgds_realloc(lines->text, room * sizeof(lines->text[0]));
        if (!more) {
            lines->lost++;
            return NULL;
        }
        lines->text = more;
        lines->room = room;
    }
    return lines->text[lines->count++];
}

static void add_op(struct lines *lines, const struct mgds_waiter *waiter,
                   const struct mgds_op *op)
{
    char *text = add_room(lines);

    if (text)
        mgds_report_op(text, waiter, op);
}

static void add_ahead(struct lines *lines, const struct mgds_timeline *timeline)
{
    struct mgds_waiter waiter = {.timeline = timeline};
    unsigned ahead = mgds_timelines_pending(timeline->stream);
    char *text = ahead > 0 ? add_room(lines) : NULL;

    if (text)
        mgds_report_stream(text, &waiter, ahead);
}

static void add_line(struct lines *lines, const struct mgds_timeline *timeline)
{
    struct mgds_waiter waiter = {.timeline = timeline};
    struct mgds_wait *wait;
    bool misses;

    waiter.since = mgds_timeline_stood(timeline, &wait);
    if (!waiter.since) {
        add_ahead(lines, timeline);
        return;
    }
    misses = mgds_wait_misses(wait);
    for (unsigned i = 0; i < wait->count; i++)
        if (mgds_wait_stands_at(wait, i, misses))
            add_op(lines, &waiter, wait->op[i]);
}

static void add_asked(struct lines *lines, const struct mgds_gstream *stream)
{
    const struct mgds_comm *comm;
    const struct mgds_op *op;

    LIST_FOREACH(comm, mgds_comms_all(), link)
    {
        LIST_FOREACH(op, &comm->ops, link)
        {
            const struct mgds_waiter waiter = {.call = op->caller->watched.call,
                                               .since =
                                                   op->caller->watched.since};

            if ((!stream || (op->timeline && op->timeline->stream == stream)) &&
                mgds_watched_is_asked(&op->caller->watched))
                add_op(lines, &waiter, op);
        }
    }
}

static void add_probes(struct lines *lines)
{
    for (unsigned i = 0; i < MGDS_WATCH_PROBES; i++) {
        const struct mgds_watched_probe *probe = &mgds_watched_probes[i];
        const struct mgds_waiter waiter = {.call = probe->watched.call,
                                           .since = probe->watched.since};
        char *text = NULL;

        if (probe->comm && mgds_watched_is_asked(&probe->watched))
            text = add_room(lines);
        if (text)
            mgds_report_probe(text, &waiter, probe->comm, &probe->probe);
    }
}

static void collect_lines(struct lines *lines,
                          const struct mgds_gstream *stream)
{
    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next)
        if (!stream || timeline->stream == stream)
            add_line(lines, timeline);
    add_asked(lines, stream);
    if (!stream)
        add_probes(lines);
}

/* The analysis cannot follow the loop. */
static int try_lock(void) MGDS_TRY_ACQUIRE(mgds_engine_lock);
MGDS_UNCHECKED static int try_lock(void)
{
    uint64_t begin = mgds_clock_ns();

    while (!mgds_engine_try()) {
        if (mgds_clock_ns() - begin > PATIENCE_NS)
            return 0;
        sched_yield();
    }
    return 1;
}

static int write_lines(const struct lines *lines, int fd)
{
    int rc = 0;

    for (unsigned i = 0; i < lines->count && rc == 0; i++)
        rc = mgds_log_to(fd, "%s", lines->text[i]);
    if (lines->lost > 0 && rc == 0)
        rc = mgds_log_to(fd, "and %u more, for which there is no memory",
                         lines->lost);
    if (lines->count + lines->lost == 0)
        rc = mgds_log_to(fd, "nothing stands");
    return rc;
}

int mgds_dump(const struct mgds_gstream *stream, int fd)
{
    struct lines lines = {.count = 0};
    int rc;

    if (!try_lock())
        return mgds_log_to(fd, "busy: another thread is at the operations of "
                               "stream communicators and has not let go of "
                               "them: ask again");
    mgds_stands_look();
    collect_lines(&lines, stream);
    mgds_engine_leave();
    rc = write_lines(&lines, fd);
    free(lines.text);
    return rc;
}

/* The signal. */

static bool wanted; /* atomic */
static int number;  /* that a handler was set for, or 0 */
static struct sigaction before;

static void call_older_handler(int sig, siginfo_t *info, void *context)
{
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(sig, info, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(sig);
}

/* In any thread of the program, at any point. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
    int saved = errno;

    __atomic_store_n(&wanted, true, __ATOMIC_SEQ_CST);
    if (!mgds_wire_wake()) {
        __atomic_store_n(&wanted, false, __ATOMIC_SEQ_CST);
        mgds_log_safely("mpix-gds: nothing stands: this process has no stream "
                        "communicator\n");
    }
    errno = saved;
    call_older_handler(sig, info, context);
}

void mgds_dump_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags =
                                   SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    int sig = mgds_ctx()->config.dump_signal;
    int rc;

    if (!sig || number)
        return;
    rc = mgds_wire_wake_init();
    if (rc == 0 && sigaction(sig, &action, &before) < 0)
        rc = -errno;
    if (rc == 0) {
        number = sig;
        return;
    }
    errno = -rc;
    mgds_warn("MPIX_GDS_DUMP_SIGNAL: no handler can be set for signal %d: %m: "
              "use another one, such as SIGUSR2",
              sig);
}

void mgds_dump_end(void)
{
    struct sigaction now;

    if (number && sigaction(number, NULL, &now) == 0 &&
        (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal)
        sigaction(number, &before, NULL);
    number = 0;
}

void mgds_dump_chore(void)
{
    if (__atomic_load_n(&wanted, __ATOMIC_RELAXED) &&
        __atomic_exchange_n(&wanted, false, __ATOMIC_SEQ_CST))
        mgds_dump(NULL, -1);
}
