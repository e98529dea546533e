/* Waits on streams that take too long; see expire.h. */
#include "shim/gds/comm/expire.h"

#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/comm/admit.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/comm/fail.h"
#include "shim/gds/proto/fetch.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/proto/flow.h"

#define SECOND_NS 1000000000u

static const char nothing_came[] =
    "its stream has stood there for as long as MPIX_GDS_TIMEOUT says, and "
    "nothing came";
static const char stands_elsewhere[] =
    "its sender's stream has stood there for as long as MPIX_GDS_TIMEOUT says, "
    "and the receive's own stream had not come to it";
static const char no_part_came[] =
    "its sender's stream has stood there for as long as MPIX_GDS_TIMEOUT says, "
    "and no part of the message came meanwhile";
static const char nobody_receives[] =
    "nobody receives it: its receive has failed, or none was called before "
    "MPIX_GDS_TIMEOUT was over";

/* Since when there were looks, without a second in which this process, or the
 * thread that looks, did not run: what has come meanwhile is not known before
 * the wire has had its turn. */
static uint64_t awake;

static void stay_awake(uint64_t now)
{
    static uint64_t last;

    if (now - last > SECOND_NS)
        awake = now;
    last = now;
}

static bool is_over(uint64_t since, uint64_t now)
{
    uint64_t begin = since > awake ? since : awake;

    return now > begin && now - begin >= mgds_ctx()->config.timeout * SECOND_NS;
}

static int revoke_send(struct mgds_op *op)
{
    const struct mgds_comm *comm = op->comm;
    const struct mgds_revoke head = {{comm->id, op->call->number, comm->rank,
                                      op->call->from_index, op->call->index, 0},
                                     op->request_id,
                                     (uint32_t)op->call->rank,
                                     0};

    mgds_count(sends_revoked);
    return mgds_am_tell(comm->member[op->call->rank].peer, MGDS_ENVELOPE_REVOKE,
                        &head, sizeof(head));
}

/* The wire tells when it is, and ends what it has of it. */
static void lose_peer(const struct mgds_op *op)
{
    int rank = mgds_op_peer(op);

    if (mgds_wire_peer_give_up(op->comm->member[rank].peer))
        mgds_warn("rank %d has not answered for %u s (MPIX_GDS_TIMEOUT): it "
                  "is taken for dead",
                  rank, (unsigned)mgds_ctx()->config.timeout);
}

static void set_revoking(struct mgds_op *op, enum mgds_op_revoking revoking,
                         uint64_t now)
{
    op->send->revoking = revoking;
    op->send->since = now;
}

static void expire_send(struct mgds_op *op, uint64_t now)
{
    bool late = is_over(op->send->since, now);

    if (op->send->revoking == MGDS_OP_REVOKED) {
        if (late)
            lose_peer(op);
        return;
    }
    if (op->send->revoking == MGDS_OP_SPARED && !late)
        return;
    if (revoke_send(op) == 0)
        set_revoking(op, MGDS_OP_REVOKED, now);
}

static void end_recv(struct mgds_op *op, const char *why)
{
    mgds_count(receives_expired);
    mgds_op_fail(op, -ETIMEDOUT, why);
}

/* No part has come for as long as that: its sender has not sent what was
 * granted, or others have all fragments. A part that the wire is at has a place
 * in our memory until its sender goes on, or is lost. */
static void expire_flow(struct mgds_op *op, uint64_t now)
{
    uint64_t since = mgds_flow_stands_since(op);

    if (!since || !is_over(since, now))
        return;
    if (mgds_flow_is_landing(op))
        lose_peer(op);
    else
        end_recv(op, nothing_came);
}

/* What the wire, or a kernel of ours, is at ends by itself; so does what its
 * own stream has only to come to. */
static void expire_recv(struct mgds_op *op, uint64_t now)
{
    if (op->state == MGDS_OP_LANDING || op->recv->fetch || mgds_op_is_quit(op))
        return;
    if (mgds_flow_is_on(op)) {
        expire_flow(op, now);
    } else if (!mgds_op_is_taken(op)) {
        end_recv(op, nothing_came);
    } else if (!op->recv->message->match.reached) {
        mgds_count(receives_expired);
        op->fail->why = nothing_came;
        mgds_quit_begin(op, -ETIMEDOUT);
    }
}

/* A TAKE that is on the stream already has to be kept from it. */
static void withdraw_recv(struct mgds_op *op)
{
    const struct mgds_message *message = op->recv->message;

    if (mgds_op_is_lost(op) || op->recv->fetch || mgds_op_is_quit(op))
        return;
    if (mgds_flow_revoke(op))
        end_recv(op, no_part_came);
    if (mgds_op_is_reached(op))
        return;
    if (op->state == MGDS_OP_HELD || op->state == MGDS_OP_WANTED) {
        end_recv(op, stands_elsewhere);
    } else if (op->state == MGDS_OP_TAKEN && message->protocol->copied &&
               message->match.reached && !op->recv->credited) {
        mgds_fetch_withdraw(op, stands_elsewhere);
    }
}

/* Here, at the receiver, the message is matched; its receive, which may be over
 * or be the program's own, fails if it can. */
static void withdraw_matched(const struct mgds_comm *comm, int source,
                             const struct mgds_tell *tell)
{
    struct mgds_op *op =
        mgds_message_recv(comm, source, tell->to_index, tell->number);

    if (op)
        withdraw_recv(op);
}

/* Of a communicator that is gone here: nobody will match it. */
static void answer_stray(const struct mgds_am *am)
{
    const struct mgds_revoke *revoke = &am->head.revoke;
    const struct mgds_ended ended = {revoke->request_id, -ETIMEDOUT,
                                     revoke->receiver};
    struct mgds_wire_peer *peer = mgds_wire_peer_find(am->from);

    if (!peer)
        return;
    mgds_exchange_end(peer, &ended);
    mgds_wire_peer_put(peer);
}

static enum mgds_am_verdict take_revoke(const struct mgds_comm *comm,
                                        const struct mgds_revoke *revoke)
{
    const struct mgds_tell *tell = &revoke->message;
    struct mgds_match *match = comm->match[tell->to_index];
    struct mgds_ended ended = {.request_id = revoke->request_id,
                               .rank = comm->rank};
    struct mgds_match_send *send;
    enum mgds_match_where where;
    int source = mgds_comm_source(comm, tell->rank, tell->index);

    where = mgds_match_look(match, source, tell->number, &send);
    if (where == MGDS_MATCH_COMING)
        return MGDS_AM_EARLY;
    if (where == MGDS_MATCH_WAITING) {
        mgds_match_withdraw(match, send);
        mgds_message_drop((struct mgds_message *)(void *)send);
    }
    ended.error = where == MGDS_MATCH_WAITING ? -ETIMEDOUT : 0;
    mgds_exchange_end(comm->member[tell->rank].peer, &ended);
    /* how that ends is told when it is known: an answer, before, it has */
    if (ended.error == 0)
        withdraw_matched(comm, source, tell);
    return MGDS_AM_DONE;
}

static enum mgds_am_verdict on_revoke(const struct mgds_am *am)
{
    const struct mgds_revoke *revoke = &am->head.revoke;
    enum mgds_am_verdict verdict;
    const struct mgds_comm *comm = mgds_admit(am, &verdict);

    if (comm)
        return comm->member[revoke->message.rank].lost
                   ? MGDS_AM_DONE
                   : take_revoke(comm, revoke);
    if (mgds_comm_is_gone(revoke->message.comm))
        answer_stray(am);
    return verdict;
}

/* What the program has put ahead of the operation, on a stream of its own, is
 * not what takes too long. */
static bool has_expired(const struct mgds_op *op,
                        const struct mgds_timeline *timeline, uint64_t now)
{
    if (mgds_op_is_lost(op) || (mgds_op_is_moved(op) && !mgds_op_is_taken(op)))
        return false;
    return !op->timeline || op->timeline == timeline ||
           (mgds_op_is_reached(op) && is_over(op->queued->came, now));
}

/* From the last one on: so no receive that is to fail gets the message of
 * another. */
static void expire_wait(struct mgds_wait *wait, uint64_t now)
{
    bool misses = mgds_wait_misses(wait);

    for (unsigned i = wait->count; i-- > 0;) {
        struct mgds_op *op = wait->op[i];

        if (!mgds_wait_stands_at(wait, i, misses) ||
            !has_expired(op, wait->timeline, now))
            continue;
        if (op->send)
            expire_send(op, now);
        else
            expire_recv(op, now);
    }
}

/* Waits, and operations, are freed when the lock is. */
void mgds_expire_look(void)
{
    uint64_t now = mgds_clock_ns();

    if (mgds_ctx()->config.timeout == 0)
        return;
    stay_awake(now);
    for (const struct mgds_timeline *timeline = mgds_timelines_first();
         timeline; timeline = timeline->next) {
        struct mgds_wait *wait = NULL;
        uint64_t since = mgds_timeline_stands(timeline, &wait);

        if (since && is_over(since, now))
            expire_wait(wait, now);
    }
}

static void end_revoking(struct mgds_op *op, int error)
{
    if (mgds_op_is_lost(op) ||
        !mgds_op_may(op, MGDS_OP_ON_LOSE)) /* known already */
        return;
    set_revoking(op, error < 0 ? MGDS_OP_ENDED : MGDS_OP_SPARED,
                 mgds_clock_ns());
    if (error < 0)
        mgds_op_fail(op, error, nobody_receives);
}

/* The send may be over: nothing is wrong with that. */
static enum mgds_am_verdict on_ended(const struct mgds_am *am)
{
    const struct mgds_ended *ended = &am->head.ended;
    struct mgds_op *op = mgds_op_find(ended->request_id);

    if (op && op->send && op->call->rank == (int)ended->rank &&
        mgds_admit_rank(op->comm, ended->rank, am->from))
        end_revoking(op, ended->error);
    return MGDS_AM_DONE;
}

void mgds_expire_init(void)
{
    mgds_am_handle(MGDS_ENVELOPE_REVOKE, on_revoke);
    mgds_am_handle(MGDS_ENVELOPE_ENDED, on_ended);
}
