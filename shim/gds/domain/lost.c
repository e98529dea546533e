/*
 * The end of a peer: its process died, or closed its wire, or cannot be reached
 * any more. The wire tells it when all that came of the peer has been handled.
 * Touches operations and domains; makes no CUDA call.
 *
 * One operation alone is lost when its wait takes too long, or its peer says so
 * (expire.h).
 *
 * A peer that ends as it should has done its part of all that it had with us,
 * so nothing fails then.
 */
#include <errno.h>

#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"

enum { NAMED = 16 };

/* Under the engine's lock. */
static unsigned named;

static int rank_of(const struct mgds_op *op)
{
    return op->message ? (int)op->message->rank : op->rank;
}

void mgds_lost_name(struct mgds_op *op)
{
    if (op->named || named++ >= NAMED)
        return;
    op->named = true;
    if (rank_of(op) < 0)
        mgds_warn("a receive from any source, tag %d, %zu bytes fails: %s",
                  op->tag, op->bytes, op->why);
    else
        mgds_warn("a %s rank %d, tag %d, %zu bytes fails: %s",
                  op->send ? "send to" : "receive from", rank_of(op), op->tag,
                  op->bytes, op->why);
}

static const char *why_lost(const struct mgds_op *op)
{
    return rank_of(op) < 0 ? "the processes of all other ranks have ended, or "
                             "cannot be reached any more"
                           : "the process of that rank has ended, or cannot be "
                             "reached any more";
}

/* Is nobody left but this process itself? */
static bool is_alone(const struct mgds_domain *domain)
{
    unsigned others = 0;

    for (unsigned i = 0; i < domain->peers; i++) {
        if (!domain->inter && i == domain->rank)
            continue;
        if (domain->lost[i] == 0)
            return false;
        others++;
    }
    return others > 0;
}

/* One that was just marked as lost, which has a reference. */
static void fail(struct mgds_op *op, int error)
{
    mgds_exchange_fail(op, error);
    mgds_engine_put_later(op);
}

static void mark(struct mgds_op *op)
{
    op->lost = true;
    mgds_op_get(op);
}

/* What has to do with a rank, or, if that is none, with a line. */
struct doom {
    int rank;
    bool alone; /* receives from any source, too */
    const struct mgds_line *line;
};

static bool concerns(const struct doom *doom, const struct mgds_op *op)
{
    int rank = rank_of(op);

    if (doom->line)
        return op->line == doom->line || op->stood == doom->line;
    return rank == doom->rank || (doom->alone && rank < 0);
}

/* Those that have not failed yet, each with a reference, chained by next_lost,
 * the latest first: so no receive that is to fail gets the message of another.
 */
static struct mgds_op *mark_all(const struct mgds_domain *domain,
                                const struct doom *doom)
{
    struct mgds_op *first = NULL, **last = &first;

    for (struct mgds_op *op = domain->ops; op; op = op->next) {
        if (op->lost || !concerns(doom, op))
            continue;
        mark(op);
        op->next_lost = NULL;
        *last = op;
        last = &op->next_lost;
    }
    return first;
}

/* The end of a receive lets the matcher go on: others leave the domain's list,
 * and one from any source may get a message of the rank, and fails then. */
static void fail_all(const struct mgds_domain *domain, const struct doom *doom,
                     int error)
{
    struct mgds_op *op, *next;

    while ((op = mark_all(domain, doom)) != NULL)
        for (; op; op = next) {
            next = op->next_lost;
            if (!doom->line) {
                op->why = why_lost(op);
                mgds_lost_name(op);
            }
            fail(op, error);
        }
}

static void lose(struct mgds_domain *domain, unsigned rank)
{
    struct doom doom = {.rank = (int)rank};

    domain->lost[rank] = -ENOTCONN;
    doom.alone = is_alone(domain);
    fail_all(domain, &doom, -ENOTCONN);
}

void mgds_lost_line(const struct mgds_line *line, int error)
{
    const struct doom doom = {.line = line};

    for (struct mgds_domain *domain = mgds_domain_first(); domain;
         domain = domain->next)
        fail_all(domain, &doom, error);
}

void mgds_lost_peer(const struct mgds_wire_peer *peer)
{
    for (struct mgds_domain *domain = mgds_domain_first(); domain;
         domain = domain->next)
        for (unsigned i = 0; i < domain->peers; i++)
            if (domain->peer[i] == peer)
                lose(domain, i);
}

int mgds_lost_rank(const struct mgds_domain *domain, int rank)
{
    if (rank >= 0)
        return domain->lost[rank];
    return is_alone(domain) ? -ENOTCONN : 0;
}

void mgds_lost_op(struct mgds_op *op, int error, const char *why)
{
    if (op->lost)
        return;
    mark(op);
    op->why = why;
    mgds_lost_name(op);
    fail(op, error);
}

void mgds_lost_check(struct mgds_op *op)
{
    if (mgds_lost_rank(op->domain, rank_of(op)) < 0)
        mgds_lost_op(op, -ENOTCONN, why_lost(op));
}

static void peer_lost(void *ctx, struct mgds_wire_peer *peer, int rc)
{
    (void)ctx;
    (void)rc;
    mgds_engine_enter();
    mgds_lost_peer(peer);
    mgds_engine_leave();
}

void mgds_lost_init(void)
{
    mgds_wire_on_lost(peer_lost, NULL);
}
