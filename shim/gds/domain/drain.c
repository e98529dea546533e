/* The end of operations: drained, named, forgotten; see domain.h. */
#include <errno.h>
#include <sched.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/stage/pool.h"
#include "shim/gds/stage/stage.h"

enum { NAMED = 16, WATCHDOG = 10 /* seconds until they are */ };

static double now(void)
{
    return 1e-9 * (double)mgds_clock_ns();
}

static bool concerns(const struct mgds_op *op,
                     const struct mgds_gstream *stream)
{
    return !stream || (op->line && op->line->stream == stream);
}

static void name(const struct mgds_op *op)
{
    mgds_warn("not complete: a %s rank %d, tag %d, %zu bytes%s",
              op->send ? "send to" : "receive from", op->rank, op->tag,
              op->bytes, op->reached ? "" : ", its stream has not come to it");
}

struct left {
    unsigned count;
    bool hope; /* others may still do their part */
};

/* What is left; names it if asked. Under the engine's lock. */
static struct left count(const struct mgds_gstream *stream, bool names)
{
    struct left left = {.count = mgds_lines_pending(stream)};
    unsigned named = 0;

    for (struct mgds_domain *domain = mgds_domain_first(); domain;
         domain = domain->next)
        for (struct mgds_op *op = domain->ops, *next; op; op = next) {
            next = op->next;
            /* a send that is done may still wait for its receiver */
            if (!concerns(op, stream) || (stream && op->done))
                continue;
            mgds_exchange_demand(op);
            if (names && named++ < NAMED)
                name(op);
            left.count++;
            left.hope = left.hope || op->send || op->message;
        }
    return left;
}

static struct left look(const struct mgds_gstream *stream, bool names)
{
    struct left left;
    unsigned orphans;

    mgds_op_progress();
    mgds_engine_enter();
    mgds_credits_tell();
    left = count(stream, names);
    mgds_engine_leave();
    orphans = mgds_orphans(stream);
    left.count += orphans;
    return left;
}

int mgds_op_drain(struct mgds_gstream *stream,
                  const struct mgds_drain_rule *rule, unsigned *left)
{
    double begin = now(), end = begin + rule->timeout;
    bool named = false;
    struct left rest;

    if (stream && mgds_gstream_capturing(stream) == 0)
        mgds_wait_speak(stream);
    while ((rest = look(stream, false)).count > 0) {
        *left = rest.count;
        if (rule->patient && rest.hope)
            end = now() + rule->timeout;
        if (!named && now() > begin + WATCHDOG) {
            named = true;
            look(stream, true);
        }
        if (rule->timeout > 0 && now() > end) {
            if (!named)
                look(stream, true);
            return -ETIMEDOUT;
        }
        if (rule->idle)
            rule->idle();
        sched_yield();
    }
    return 0;
}

void mgds_domains_safe_point(void)
{
    unsigned pending;

    if (!mgds_defer_pending() && !mgds_pools_short())
        return;
    mgds_engine_enter();
    mgds_lines_poll();
    pending = mgds_lines_pending(NULL);
    mgds_engine_leave();
    if (pending > 0)
        return;
    if (mgds_pools_short())
        mgds_stage_trim();
    mgds_defer_drain();
}
