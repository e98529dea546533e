/*
 * The end of a peer: its process died, or closed its wire, or cannot be reached
 * any more. The wire tells it when all that came of the peer has been handled.
 * Touches operations and domains; makes no CUDA call.
 *
 * A peer that ends as it should has done its part of all that it had with us,
 * so nothing fails then.
 */
#include <errno.h>

#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"

enum { NAMED = 16 };

/* Each has a reference, and its cookie, until the wire is closed: what the peer
 * says of it may still be to come, and is no reason for a line. Under the
 * engine's lock. */
static struct mgds_op *kept;
static unsigned named;

static int rank_of(const struct mgds_op *op)
{
    return op->message ? (int)op->message->rank : op->rank;
}

static void name(const struct mgds_op *op)
{
    if (named++ < NAMED)
        mgds_warn("a %s rank %d, tag %d, %zu bytes fails: the process of that "
                  "rank has ended, or cannot be reached any more",
                  op->send ? "send to" : "receive from", rank_of(op), op->tag,
                  op->bytes);
}

static void fail(struct mgds_op *op)
{
    if (op->lost)
        return;
    name(op);
    op->lost = true;
    op->next_lost = kept;
    kept = mgds_op_get(op);
    mgds_exchange_fail(op, -ENOTCONN);
}

static void lose(struct mgds_domain *domain, unsigned rank)
{
    domain->lost[rank] = -ENOTCONN;
    for (struct mgds_op *op = domain->ops, *next; op; op = next) {
        next = op->next;
        if (rank_of(op) == (int)rank)
            fail(op);
    }
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
    return rank >= 0 ? domain->lost[rank] : 0;
}

void mgds_lost_check(struct mgds_op *op)
{
    if (mgds_lost_rank(op->domain, rank_of(op)) < 0)
        fail(op);
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

void mgds_lost_forget(void)
{
    mgds_engine_enter();
    while (kept) {
        struct mgds_op *next = kept->next_lost;

        mgds_op_forget(kept);
        mgds_engine_put_later(kept);
        kept = next;
    }
    mgds_engine_leave();
}
