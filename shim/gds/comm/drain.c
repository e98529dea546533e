/* The end of operations: drained, named, forgotten; see comm.h. */
#include <errno.h>
#include <sched.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/proto/credit.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/orphan.h"
#include "shim/gds/msg/reap.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/comm/watch.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/mem/pool.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/transport/channels.h"
#include "shim/gds/transport/far_rings.h"
#include "shim/gds/transport/own_rings.h"

enum { NAMED = 16 };

static double now_in_seconds(void)
{
    return 1e-9 * (double)mgds_clock_ns();
}

/* Which operations: of a stream, of a communicator, or all. */
struct scope {
    const struct mgds_gstream *stream; /* or NULL */
    const struct mgds_comm *comm;      /* or NULL */
};

/* Of those that the engine has. A send that is done may still wait for its
 * receiver: the stream is not held by that, the communicator is. */
static bool op_concerns(const struct mgds_op *op, const struct scope *scope)
{
    if (scope->comm)
        return op->comm == scope->comm;
    return !scope->stream || (!mgds_op_is_done(op) && op->timeline &&
                              op->timeline->stream == scope->stream);
}

/* In streams. */
static unsigned pending_waits(const struct scope *scope)
{
    if (scope->comm)
        return __atomic_load_n(&scope->comm->waited, __ATOMIC_ACQUIRE);
    return mgds_timelines_pending(scope->stream);
}

static void name_op(const struct mgds_op *op, const struct mgds_waiter *waiter)
{
    char text[MGDS_REPORT_BYTES];

    mgds_report_op(text, waiter, op);
    mgds_warn("%s", text);
}

struct left {
    unsigned count;
    bool hope; /* others may still do their part */
};

/* Operations that are left; names them to whoever waits, if any. Under the
 * engine's lock. */
static struct left count_ops(const struct scope *scope,
                             const struct mgds_waiter *waiter)
{
    const struct mgds_comm *comm;
    struct left left = {.count = 0};
    unsigned named = 0;

    LIST_FOREACH(comm, mgds_comms_all(), link)
    {
        struct mgds_op *next;

        for (struct mgds_op *op = LIST_FIRST(&comm->ops); op; op = next) {
            next = LIST_NEXT(op, link);
            if (!op_concerns(op, scope))
                continue;
            mgds_exchange_demand(op);
            mgds_watch_op(op);
            if (waiter && named++ < NAMED)
                name_op(op, waiter);
            left.count++;
            left.hope = left.hope || op->send || op->recv->message;
        }
    }
    return left;
}

/* Nothing is left but what streams have not come to. */
static void watch_streams(const struct scope *scope)
{
    if (scope->comm)
        return;
    for (struct mgds_timeline *timeline = mgds_timelines_first(); timeline;
         timeline = timeline->next)
        if (timeline->first &&
            (!scope->stream || timeline->stream == scope->stream))
            mgds_watch_streams(timeline,
                               mgds_timelines_pending(timeline->stream));
}

static struct left count_left(const struct scope *scope,
                              const struct mgds_waiter *waiter)
{
    struct left left = count_ops(scope, waiter);

    if (left.count == 0)
        watch_streams(scope);
    left.count += pending_waits(scope);
    return left;
}

static struct left look_for_left(const struct scope *scope,
                                 const struct mgds_waiter *waiter)
{
    struct left left;
    unsigned orphans;

    mgds_op_progress();
    mgds_engine_enter();
    mgds_credits_tell();
    left = count_left(scope, waiter);
    mgds_engine_leave();
    orphans = mgds_orphans(scope->stream, scope->comm);
    left.count += orphans;
    return left;
}

static int drain_scope(const struct scope *scope,
                       const struct mgds_drain_rule *rule, unsigned *left)
{
    const struct mgds_waiter waiter = {.call = rule->call,
                                       .since = mgds_clock_ns()};
    double end = now_in_seconds() + rule->timeout;
    struct left rest;

    while ((rest = look_for_left(scope, NULL)).count > 0) {
        *left = rest.count;
        if (rule->patient && rest.hope)
            end = now_in_seconds() + rule->timeout;
        if (rule->timeout > 0 && now_in_seconds() > end) {
            look_for_left(scope, &waiter);
            return -ETIMEDOUT;
        }
        if (rule->idle)
            rule->idle();
        sched_yield();
    }
    return 0;
}

/* Says meanwhile whose call it is. */
static int drain_named(const struct scope *scope,
                       const struct mgds_drain_rule *rule, unsigned *left)
{
    int rc;

    mgds_watch_call(rule->call);
    rc = drain_scope(scope, rule, left);
    mgds_watch_call(NULL);
    return rc;
}

int mgds_op_drain(struct mgds_gstream *stream,
                  const struct mgds_drain_rule *rule, unsigned *left)
{
    const struct scope scope = {.stream = stream};

    mgds_groups_flush();
    if (stream && mgds_gstream_capturing(stream) == 0)
        mgds_wait_signal(stream);
    return drain_named(&scope, rule, left);
}

int mgds_comm_drain(struct mgds_comm *comm, const struct mgds_drain_rule *rule,
                    unsigned *left)
{
    const struct scope scope = {.comm = comm};

    mgds_groups_flush();
    return drain_named(&scope, rule, left);
}

void mgds_comms_let_go(void)
{
    mgds_timelines_recall();
}

void mgds_comms_note_freed(void)
{
    mgds_channels_note_freed(true);
}

void mgds_comms_trim(void)
{
    if (!mgds_channels_any_freed())
        return;
    mgds_engine_enter();
    mgds_timelines_poll();
    if (mgds_timelines_pending(NULL) == 0) {
        mgds_channels_note_freed(false);
        mgds_far_trim();
        mgds_own_rings_trim();
    }
    mgds_engine_leave();
}

void mgds_comms_safe_point(void)
{
    unsigned pending;

    mgds_timelines_reap();
    if (!mgds_defer_pending() && !mgds_pools_short())
        return;
    mgds_engine_enter();
    mgds_timelines_poll();
    pending = mgds_timelines_pending(NULL);
    mgds_engine_leave();
    if (pending > 0)
        return;
    if (mgds_pools_short())
        mgds_copyqueues_trim();
    mgds_defer_drain();
}
