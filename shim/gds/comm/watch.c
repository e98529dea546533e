/* When waits that stand are written of; see watch.h. */
#include "shim/gds/comm/watch.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/quota.h"
#include "shim/base/tls.h"
#include "shim/ctx.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/comm/watched.h"

/* Lines a period, of a process and of the processes of a host. */
enum { LINES = 4, HOST_LINES = 16 };
enum { LOCK_NS = 100000000 }; /* one who stands with the lock stops nobody */

/* A host call looks at the clock every so many times that it asks. */
enum { ASKS = 16 };

enum { SECOND_NS = 1000000000 };

/* The call that the thread waits in, and its id: 0 until it has asked. */
static MGDS_TLS struct {
    const char *call;
    uint64_t id;
} here;

/* Under the engine's lock. */
static struct {
    uint64_t begin; /* of the period; 0: none yet */
    unsigned lines; /* of it, those that are still to be written included */
    unsigned ready; /* to be written */
    unsigned more;  /* for which there are no lines */
    uint64_t total; /* when that is said; 0: it need not be */
    bool said;      /* it was */
    char text[LINES][MGDS_REPORT_BYTES];
} period;
static uint64_t ids;
static struct mgds_watched drained; /* a drain that waits for streams alone */

static uint64_t key;        /* atomic: the least process that we have met */
static bool pending;        /* atomic: there is something to be written */
static uint64_t owed_since; /* atomic: lines were left to the host; 0: none */

static uint64_t period_ns(void)
{
    return (uint64_t)(mgds_ctx()->config.watchdog * SECOND_NS);
}

/* Seen after so long that the next line is due: once, and at ten times that. */
static bool is_due(const struct mgds_watched *watched, uint64_t since,
                   uint64_t seen)
{
    double after = mgds_ctx()->config.watchdog * SECOND_NS;

    for (unsigned i = 0; i < watched->told; i++)
        after *= 10;
    return after > 0 && seen > since && (double)(seen - since) >= after;
}

static void begin_period(uint64_t now)
{
    if (period.begin && now - period.begin < period_ns())
        return;
    if (period.ready > 0 || period.more > 0)
        return;
    period.begin = now;
    period.lines = 0;
    period.said = false;
}

/* Where the line goes that has become due; NULL: there is none, or not yet. */
static char *next_line(struct mgds_watched *watched)
{
    uint64_t now = mgds_clock_ns();
    char *text = NULL;

    begin_period(now);
    if (period.said)
        return NULL;
    watched->told++;
    if (period.lines < LINES) {
        period.lines++;
        text = period.text[period.ready++];
    } else {
        period.more++;
        if (!period.total)
            period.total = now + period_ns() / 10;
    }
    __atomic_store_n(&pending, true, __ATOMIC_RELEASE);
    return text;
}

void mgds_watch_call(const char *call)
{
    here.call = call;
    here.id = 0;
}

/* Whether the line of what is asked for is due. */
static bool ask_quota(struct mgds_watched *watched)
{
    if (!here.call)
        return false;
    if (here.id == 0)
        here.id = ++ids;
    if (watched->id != here.id)
        *watched = (struct mgds_watched){.call = here.call, .id = here.id};
    if (++watched->asks % ASKS)
        return false;
    watched->seen = mgds_clock_ns();
    if (!watched->since)
        watched->since = watched->seen;
    return is_due(watched, watched->since, watched->seen);
}

static struct mgds_waiter waiter_of(const struct mgds_watched *watched)
{
    return (struct mgds_waiter){.call = watched->call, .since = watched->since};
}

void mgds_watch_op(struct mgds_op *op)
{
    struct mgds_waiter waiter;
    char *text;

    if (!ask_quota(&op->caller->watched))
        return;
    waiter = waiter_of(&op->caller->watched);
    text = next_line(&op->caller->watched);
    if (text)
        mgds_report_op(text, &waiter, op);
}

/* That of this call, or the one that nobody has used for longest. */
static struct mgds_watched_probe *probe_here(void)
{
    struct mgds_watched_probe *oldest = mgds_watched_probes;

    for (unsigned i = 0; i < MGDS_WATCH_PROBES; i++) {
        struct mgds_watched_probe *at = &mgds_watched_probes[i];

        if (here.id && at->watched.id == here.id)
            return at;
        if (at->watched.id < oldest->watched.id)
            oldest = at;
    }
    return oldest;
}

void mgds_watch_probe(const struct mgds_comm *comm,
                      const struct mgds_probe *probe)
{
    struct mgds_watched_probe *mine;
    struct mgds_waiter waiter;
    char *text;

    if (!here.call)
        return;
    mine = probe_here();
    mine->comm = comm;
    mine->probe = *probe;
    if (!ask_quota(&mine->watched))
        return;
    waiter = waiter_of(&mine->watched);
    text = next_line(&mine->watched);
    if (text)
        mgds_report_probe(text, &waiter, comm, probe);
}

void mgds_watch_streams(const struct mgds_timeline *timeline, unsigned ahead)
{
    struct mgds_waiter waiter;
    char *text;

    if (!ask_quota(&drained))
        return;
    waiter = waiter_of(&drained);
    waiter.timeline = timeline;
    text = next_line(&drained);
    if (text)
        mgds_report_stream(text, &waiter, ahead);
}

static void watch_wait(const struct mgds_waiter *waiter,
                       const struct mgds_wait *wait, uint64_t seen)
{
    bool misses = mgds_wait_misses(wait);

    for (unsigned i = 0; i < wait->count; i++) {
        struct mgds_op *op = wait->op[i];
        char *text = NULL;

        if (mgds_wait_stands_at(wait, i, misses) &&
            is_due(&op->caller->watched, waiter->since, seen))
            text = next_line(&op->caller->watched);
        if (text)
            mgds_report_op(text, waiter, op);
    }
}

void mgds_watch_look(void)
{
    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next) {
        struct mgds_waiter waiter = {.timeline = timeline};
        struct mgds_wait *wait;

        waiter.since = mgds_timeline_stands(timeline, &wait);
        if (waiter.since)
            watch_wait(&waiter, wait, mgds_clock_ns());
    }
}

void mgds_watch_meet(const struct mgds_comm_spec *spec)
{
    unsigned members = spec->inter ? spec->remote_size : spec->size;
    uint64_t least = __atomic_load_n(&key, __ATOMIC_RELAXED);

    for (unsigned i = 0; i < members; i++)
        if (!least || spec->members[i].process < least)
            least = spec->members[i].process;
    __atomic_store_n(&key, least, __ATOMIC_RELAXED);
}

/* What one thread takes out to write. */
struct spoken {
    char text[LINES][MGDS_REPORT_BYTES];
    unsigned lines, more;
};

/* Under the engine's lock. */
static void take_out(struct spoken *out)
{
    out->lines = period.ready;
    memcpy(out->text, period.text, period.ready * sizeof(period.text[0]));
    period.ready = 0;
    out->more = 0;
    if (period.total && mgds_clock_ns() >= period.total) {
        out->more = period.more;
        period.more = 0;
        period.total = 0;
        period.said = true;
    }
    __atomic_store_n(&pending, period.total != 0, __ATOMIC_RELAXED);
}

static struct mgds_quota quota_of_host(void)
{
    return (struct mgds_quota){.key = __atomic_load_n(&key, __ATOMIC_RELAXED),
                               .period = period_ns(),
                               .patience = LOCK_NS,
                               .most = HOST_LINES};
}

/* Those that the host's processes have no lines for are left to whoever comes
 * to look when the period is over. */
static void leave_to_host(unsigned left)
{
    struct mgds_quota shared = quota_of_host();

    mgds_quota_leave(&shared, left);
    __atomic_store_n(&owed_since, mgds_clock_ns(), __ATOMIC_RELAXED);
}

static void say_spoken(const struct spoken *spoken)
{
    struct mgds_quota shared = quota_of_host();
    unsigned lines =
        spoken->lines > 0 ? mgds_quota_take(&shared, spoken->lines) : 0;

    for (unsigned i = 0; i < lines; i++)
        mgds_warn("%s", spoken->text[i]);
    if (lines < spoken->lines)
        leave_to_host(spoken->lines - lines);
    if (spoken->more > 0)
        mgds_warn("and %u more", spoken->more);
}

static void say_owed(void)
{
    uint64_t since = __atomic_load_n(&owed_since, __ATOMIC_RELAXED);
    struct mgds_quota shared = quota_of_host();
    unsigned left;

    if (!since || mgds_clock_ns() - since < period_ns() ||
        !__atomic_compare_exchange_n(&owed_since, &since, 0, false,
                                     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    left = mgds_quota_ask(&shared);
    if (left > 0)
        mgds_warn("and %u more in the processes of this host", left);
}

void mgds_watch_speak(void)
{
    struct spoken spoken;

    if (__atomic_load_n(&owed_since, __ATOMIC_RELAXED))
        say_owed();
    if (!__atomic_load_n(&pending, __ATOMIC_ACQUIRE) || !mgds_engine_try())
        return;
    take_out(&spoken);
    mgds_engine_leave();
    say_spoken(&spoken);
}
