/* The end of operations: drained, named, forgotten; see domain.h. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"

enum { NAMED = 16 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool concerns(const struct mgds_op *op,
                     const struct mgds_gstream *stream)
{
    return !stream || (op->line && op->line->stream == stream);
}

/* How many are left; names them if asked. Under the engine's lock. */
static unsigned count(const struct mgds_gstream *stream, bool name)
{
    unsigned left = 0;

    for (struct mgds_domain *domain = mgds_domain_first(); domain;
         domain = domain->next)
        for (struct mgds_op *op = domain->ops, *next; op; op = next) {
            next = op->next;
            if (!concerns(op, stream))
                continue;
            mgds_exchange_demand(op);
            if (name && left < NAMED)
                mgds_warn("not complete: a %s rank %d, tag %d, %zu bytes%s",
                          op->send ? "send to" : "receive from", op->rank,
                          op->tag, op->bytes,
                          op->reached ? "" : ", its stream has not come to it");
            left++;
        }
    return left;
}

static unsigned look(const struct mgds_gstream *stream, bool name)
{
    unsigned left;

    mgds_op_progress();
    mgds_engine_enter();
    left = count(stream, name) + mgds_lines_pending(stream);
    mgds_engine_leave();
    return left + (stream ? 0 : mgds_orphans());
}

int mgds_op_drain(struct mgds_gstream *stream, double timeout,
                  void (*idle)(void), unsigned *left)
{
    double end = now() + timeout;

    while ((*left = look(stream, false)) > 0) {
        if (timeout > 0 && now() > end) {
            look(stream, true);
            return -ETIMEDOUT;
        }
        if (idle)
            idle();
        sched_yield();
    }
    return 0;
}
