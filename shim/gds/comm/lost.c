/*
 * The end of a peer: its process died, or closed its wire, or cannot be reached
 * any more. The wire tells it when all that came of the peer has been handled.
 * Touches operations and communicators; makes no CUDA call.
 *
 * One operation alone fails when its wait takes too long, or its peer says so
 * (expire.h, fail.h).
 *
 * A peer that ends as it should has done its part of all that it had with us,
 * so nothing fails then.
 */
#include "shim/gds/comm/lost.h"

#include <errno.h>

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/fail.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/wildcards.h"
#include "shim/gds/transport/far_rings.h"
#include "shim/gds/wire/wire.h"

/* What has to do with a rank, or, if that is none, with a timeline. */
struct doom {
    int rank;
    bool alone; /* receives from any source, too */
    const struct mgds_timeline *timeline;
};

static bool doom_concerns(const struct doom *doom, const struct mgds_op *op)
{
    int rank = mgds_op_peer(op);

    if (doom->timeline)
        return op->timeline == doom->timeline ||
               op->waited->stood == doom->timeline;
    return rank == doom->rank || (doom->alone && rank < 0);
}

/* By fail->link. */
STAILQ_HEAD(lost_list, mgds_op);

/* Those that have not failed yet, each with a reference, the latest first: so
 * no receive that is to fail gets the message of another. False: none. */
static bool mark_all(struct lost_list *out, const struct mgds_comm *comm,
                     const struct doom *doom)
{
    struct mgds_op *op;

    STAILQ_INIT(out);
    LIST_FOREACH(op, &comm->ops, link)
    {
        if (mgds_op_is_lost(op) || !doom_concerns(doom, op))
            continue;
        mgds_op_mark_lost(op);
        STAILQ_INSERT_TAIL(out, op, fail->link);
    }
    return !STAILQ_EMPTY(out);
}

/* The end of a receive lets the matcher go on: others leave the communicator's
 * list, and one from any source may get a message of the rank, and fails then.
 */
static void fail_all(const struct mgds_comm *comm, const struct doom *doom,
                     int error)
{
    struct lost_list list;
    struct mgds_op *op;

    while (mark_all(&list, comm, doom))
        while ((op = STAILQ_FIRST(&list)) != NULL) {
            STAILQ_REMOVE_HEAD(&list, fail->link);
            mgds_op_fail_marked(op, error,
                                doom->timeline ? NULL : mgds_op_why_lost(op));
        }
}

static void lose_rank(struct mgds_comm *comm, unsigned rank)
{
    struct doom doom = {.rank = (int)rank};

    mgds_comm_lose(comm, rank, -ENOTCONN);
    doom.alone = mgds_comm_lost(comm, MGDS_ANY_SOURCE) < 0;
    fail_all(comm, &doom, -ENOTCONN);
    mgds_wildcards_lose(comm);
}

void mgds_lost_timeline(const struct mgds_timeline *timeline, int error)
{
    const struct doom doom = {.timeline = timeline};
    const struct mgds_comm *comm;

    LIST_FOREACH(comm, mgds_comms_all(), link)
    {
        fail_all(comm, &doom, error);
    }
}

static void lose_peer(const struct mgds_wire_peer *peer)
{
    struct mgds_comm *comm;

    LIST_FOREACH(comm, mgds_comms_all(), link)
    {
        for (unsigned i = 0; i < comm->peers; i++)
            if (comm->member[i].peer == peer)
                lose_rank(comm, i);
    }
}

static void peer_lost(void *ctx, struct mgds_wire_peer *peer, int rc)
{
    (void)ctx;
    (void)rc;
    mgds_engine_enter();
    mgds_far_lose(mgds_wire_peer_process(peer));
    lose_peer(peer);
    mgds_engine_leave();
}

void mgds_lost_init(void)
{
    mgds_wire_on_lost(peer_lost, NULL);
}
