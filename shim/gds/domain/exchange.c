/* Envelopes, and the steps that they move operations by; see engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/note.h"
#include "shim/gds/domain/pull.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/queue/gstream.h"

/* One message less makes a peer useless. Lost peers, and the wire's end, are
 * told otherwise. */
static void posted(void *arg, int rc)
{
    const struct mgds_wire_peer *peer = (const struct mgds_wire_peer *)arg;

    if (rc == 0 || rc == -ECANCELED || mgds_wire_peer_error(peer) < 0)
        return;
    mgds_engine_enter();
    mgds_lost_peer(peer);
    mgds_engine_leave();
}

int mgds_exchange_post(struct mgds_wire_peer *peer,
                       const struct mgds_wire_message *message)
{
    struct mgds_wire_message told = *message;
    int rc;

    if (!told.done) {
        told.done = posted;
        told.arg = peer;
    }
    rc = mgds_wire_post(peer, &told);

    if (rc < 0) {
        errno = -rc;
        mgds_warn_once("a message to another process cannot be posted: %m");
    }
    return rc;
}

/* Sends. */

void mgds_exchange_called(struct mgds_op *op, bool reached)
{
    const struct mgds_domain *domain = op->domain;
    struct mgds_rts head = {.domain = domain->id,
                            .number = op->number,
                            .cookie = op->cookie,
                            .bytes = op->bytes,
                            .tag = op->tag,
                            .rank = domain->rank,
                            .index = op->from_index,
                            .to_index = op->index,
                            .reached = reached,
                            .sync = op->sync,
                            .serial = op->lane ? op->place.serial : 0,
                            .units = op->place.units};
    struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_RTS,
                                        .head = &head};
    int rc;

    mgds_pull_describe(op, &head);
    message.head_bytes = mgds_rts_bytes(&head);
    rc = mgds_exchange_post(domain->peer[op->rank], &message);

    if (rc < 0)
        mgds_exchange_send_moved(op, rc);
}

static struct mgds_wire_peer *peer_of(const struct mgds_op *op)
{
    return op->domain->peer[op->send ? op->rank : op->status.source];
}

/* The wire is done with the bytes of a send. */
static void data_done(void *arg, int rc)
{
    mgds_engine_enter();
    mgds_exchange_send_moved((struct mgds_op *)arg, rc);
    mgds_engine_leave();
}

/* The receiver copies it, and has asked when it may. */
static void tell_ready(struct mgds_op *op)
{
    const struct mgds_data head = {op->answer, op->error, op->domain->rank};
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_DATA, .head = &head, .head_bytes = sizeof(head)};

    if (!op->answered)
        mgds_exchange_post(peer_of(op), &message);
    op->answered = true;
}

/* Both must have happened: the receiver says where to, the stream when. */
static void try_data(struct mgds_op *op)
{
    const struct mgds_data head = {op->answer, op->error, op->domain->rank};
    struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_DATA,
                                        .head = &head,
                                        .head_bytes = sizeof(head),
                                        .done = data_done,
                                        .arg = op};
    int rc;

    if (!op->asked || !op->reached || op->posted)
        return;
    if (op->pull) {
        tell_ready(op);
        return;
    }
    op->posted = true;
    if (!op->error && op->wanted > 0) {
        message.body = mgds_op_place(op);
        message.body_bytes = op->wanted;
    }
    rc = mgds_exchange_post(peer_of(op), &message);
    if (rc < 0)
        mgds_exchange_send_moved(op, rc);
}

static bool is_staged(const struct mgds_op *op)
{
    return op->bounce || op->copy || op->bytes == 0;
}

static void try_finish_send(struct mgds_op *op)
{
    if (op->done || !op->reached || (op->sync && !op->asked && !op->error))
        return;
    if (op->error || is_staged(op) || op->moved)
        mgds_op_finish(op, op->error);
}

/* Nobody will look at its place in the ring. Not before the stream has come to
 * it, which writes there. */
static void give_place(struct mgds_op *op)
{
    if (!op->lane || !op->reached)
        return;
    mgds_landing_give(op->lane, &op->place);
    op->lane = NULL;
}

/* Those who subscribed are told at once, while it can still matter. */
void mgds_exchange_tell(struct mgds_op *op, bool anyway)
{
    struct mgds_domain *domain = op->domain;
    const struct mgds_tell head = {domain->id,     op->number, domain->rank,
                                   op->from_index, op->index,  0};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_REACHED,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    if (op->asked || op->told || !(anyway || domain->subscriber[op->rank]))
        return;
    op->told = true;
    mgds_exchange_post(peer_of(op), &message);
}

void mgds_exchange_asked(struct mgds_op *op)
{
    mgds_note_asked(op);
    try_data(op);
    try_finish_send(op);
}

static void send_reached(struct mgds_op *op)
{
    mgds_exchange_tell(op, false);
    mgds_pull_posted(op);
    try_data(op);
    try_finish_send(op);
    if (op->moved)
        give_place(op);
}

void mgds_exchange_send_moved(struct mgds_op *op, int rc)
{
    give_place(op);
    /* the stream has put all there, and the wire has read it: not to be kept
     * until the program asks for its request */
    if (rc == 0 && !op->error && op->reached && op->bounce)
        mgds_bounce_drop_room(op->bounce);
    op->moved = true;
    if (rc < 0 && !op->error)
        op->error = rc;
    if (rc < 0 && op->done) /* as far as anybody was told, it went well */
        mgds_op_keep_error(op, op->line);
    mgds_pull_release(op);
    try_finish_send(op);
    mgds_op_leave_engine(op);
}

/* Receives. */

static void pull(struct mgds_op *op, size_t bytes)
{
    const struct mgds_message *from = op->message;
    const struct mgds_pull head = {from->cookie, op->cookie, bytes,
                                   op->domain->rank, 0};
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_PULL, .head = &head, .head_bytes = sizeof(head)};
    int rc;

    op->pulled = true;
    op->got = bytes;
    rc = mgds_exchange_post(op->domain->peer[from->rank], &message);
    if (rc < 0)
        mgds_exchange_recv_moved(op, rc);
}

static bool lacks_room(const struct mgds_op *op)
{
    return !op->message->pull && op->message->bytes > 0 && op->bounce &&
           mgds_bounce_needs_room(op->bounce);
}

static void try_pull(struct mgds_op *op)
{
    const struct mgds_message *from = op->message;
    bool direct = (!op->bounce && !op->copy && op->bytes > 0) ||
                  (from->pull && op->claim);

    if (op->pulled || op->fetching || ((direct || from->sync) && !op->reached))
        return;
    if (!lacks_room(op))
        pull(op, mgds_op_fitting(op));
    else if (op->reached)
        mgds_room_add(op);
}

static void try_arrive(struct mgds_op *op)
{
    if (!op->moved || !op->reached || op->arrived)
        return;
    op->arrived = true;
    mgds_op_finish(op, op->error);
    mgds_op_leave_engine(op);
}

void mgds_exchange_recv_moved(struct mgds_op *op, int error)
{
    op->moved = true;
    if (error && !op->error)
        op->error = error;
    if (error)
        op->got = 0;
    try_arrive(op);
}

void mgds_exchange_paired(void *domain, struct mgds_match_recv *recv,
                          struct mgds_match_send *send)
{
    struct mgds_op *op = (struct mgds_op *)(void *)recv;
    struct mgds_message *message = (struct mgds_message *)(void *)send;

    (void)domain;
    op->message = message;
    message->op = op;
    op->status.source = (int)message->rank;
    op->status.tag = message->match.tag;
    mgds_note_matched(op);
    if (message->bytes > op->bytes)
        op->error = -EMSGSIZE;
    else if (mgds_layout_tears(op->user.layout, message->bytes))
        op->error = -EBADMSG;
    if (message->pull && !message->source) {
        op->pulled = true;
        mgds_exchange_unread(op, -EIO);
        mgds_exchange_recv_moved(op, -EIO);
        return;
    }
    if (mgds_lost_rank(op->domain, (int)message->rank) < 0) {
        mgds_lost_check(op); /* nothing more comes of it */
        return;
    }
    op->held = op->taker && !op->demanded && message->serial != 0 &&
               (!message->pull || op->claim);
    if (!op->held)
        try_pull(op);
    else if (op->taking)
        mgds_exchange_take(op);
    mgds_pull_consider(op);
}

void mgds_exchange_take(struct mgds_op *op)
{
    if (op->message->pull)
        mgds_count(pull_takes);
    else
        mgds_count(ring_takes);
    op->held = false;
    op->taken = op->moved = op->arrived = true;
    op->got = mgds_op_fitting(op);
    mgds_op_finish(op, op->error);
}

void mgds_exchange_demand(struct mgds_op *op)
{
    if (op->send || op->taking || op->done)
        return;
    op->demanded = true;
    if (!op->held)
        return;
    op->held = false;
    try_pull(op);
}

void mgds_exchange_has_room(struct mgds_op *op, int error)
{
    if (op->moved || op->pulled)
        return;
    if (error == 0) {
        try_pull(op);
        return;
    }
    /* its sender is told that it is over */
    if (!op->error)
        op->error = error;
    pull(op, 0);
}

void mgds_exchange_end(struct mgds_wire_peer *peer,
                       const struct mgds_ended *ended)
{
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_ENDED,
                                              .head = ended,
                                              .head_bytes = sizeof(*ended)};

    mgds_exchange_post(peer, &message);
}

void mgds_exchange_unread(const struct mgds_op *op, int error)
{
    const struct mgds_domain *domain = op->domain;
    struct mgds_ended ended = {.error = error, .rank = domain->rank};

    if (!op->message || !error || domain->lost[op->message->rank])
        return;
    ended.cookie = op->message->cookie;
    mgds_exchange_end(domain->peer[op->message->rank], &ended);
}

/* Once. */
static void credit(struct mgds_op *op)
{
    if (!op->credited)
        mgds_credit_add(op->domain, op->message->rank, op->message->cookie);
    op->credited = true;
}

/* Of what was not read its sender must not hear that it was. */
void mgds_exchange_taken(struct mgds_op *op, bool given_up)
{
    if (!given_up)
        credit(op);
    else if (!op->credited)
        mgds_exchange_unread(op, op->given_up);
    mgds_op_leave_engine(op);
}

void mgds_exchange_awaited(struct mgds_op *op, int error)
{
    op->awaiting = false;
    op->copied = error == 0;
    if ((error || op->lost) && !op->moved)
        mgds_exchange_send_moved(op, error);
    else
        mgds_pull_release(op);
}

/* No launch is at it. */
static void give_loan(struct mgds_op *op)
{
    if (op->lent && !op->kept)
        mgds_bounce_drop_room(op->bounce);
}

void mgds_exchange_landed(struct mgds_op *op, int error)
{
    if (op->lent && error == 0 && !op->moved) {
        mgds_fetch_add(op);
        return;
    }
    if (error)
        give_loan(op);
    mgds_exchange_recv_moved(op, error);
}

/* The sender of a message that came through memory of ours has its own back
 * already. */
void mgds_exchange_fetched(struct mgds_op *op, int error)
{
    bool over = error == 0 || error == -EFAULT; /* thrown away */

    op->fetching = false;
    if (over && op->lent)
        give_loan(op);
    else if (over)
        credit(op);
    if (op->taken || op->moved) /* its mark ends it, or it has failed */
        return;
    op->held = false;
    mgds_exchange_recv_moved(op, error);
}

void mgds_exchange_withdrawn(struct mgds_op *op, int error)
{
    op->fetching = false;
    mgds_exchange_unread(op, error);
    op->credited = true;
    mgds_quit_tell(op, error);
}

void mgds_exchange_give(struct mgds_domain *domain, unsigned rank,
                        const struct mgds_taken *taken)
{
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_TAKEN,
        .head = taken,
        .head_bytes = offsetof(struct mgds_taken, cookie) +
                      taken->count * sizeof(taken->cookie[0])};

    if (!domain->lost[rank])
        mgds_exchange_post(domain->peer[rank], &message);
}

static void recv_reached(struct mgds_op *op)
{
    if (op->message && !op->held && !op->taken)
        try_pull(op);
    mgds_pull_consider(op);
    try_arrive(op);
}

void mgds_exchange_reached(struct mgds_op *op)
{
    op->reached = true;
    mgds_note_reached(op);
    if (mgds_ctx()->config.timeout > 0)
        op->came = mgds_clock_ns();
    if (op->send)
        send_reached(op);
    else
        recv_reached(op);
}

void mgds_exchange_subscribe(struct mgds_domain *domain)
{
    const struct mgds_tell head = {.domain = domain->id, .rank = domain->rank};
    const struct mgds_wire_message message = {.kind = MGDS_ENVELOPE_SUBSCRIBE,
                                              .head = &head,
                                              .head_bytes = sizeof(head)};

    if (domain->subscribed)
        return;
    domain->subscribed = true;
    for (unsigned i = 0; i < domain->peers; i++)
        mgds_exchange_post(domain->peer[i], &message);
}

void mgds_exchange_meet(struct mgds_domain *domain, int rank)
{
    const struct mgds_tell head = {.domain = domain->id, .rank = domain->rank};
    const struct mgds_wire_message message = {
        .kind = MGDS_ENVELOPE_HELLO, .head = &head, .head_bytes = sizeof(head)};

    if (rank < 0)
        mgds_exchange_subscribe(domain);
    if (rank < 0 || domain->met[rank])
        return;
    domain->met[rank] = true;
    mgds_exchange_post(domain->peer[rank], &message);
}

static void fail_recv(struct mgds_op *op, int error)
{
    if (op->match.posted)
        mgds_match_cancel(op->domain->match[op->index], &op->match);
    op->held = false;
    op->pulled = true;
    mgds_exchange_unread(op, error);
    mgds_exchange_recv_moved(op, error);
}

/* A stream may stand in the kernel that waits for the message, or until it was
 * copied: then how it ends is known when the stream is through. A message whose
 * sender's stream came to it is there. */
static void fail_standing(struct mgds_op *op, int error)
{
    if (op->send || !op->message->match.reached)
        mgds_quit_begin(op, error);
}

void mgds_exchange_fail(struct mgds_op *op, int error)
{
    if (op->taken || (op->awaiting && !op->moved)) {
        fail_standing(op, error);
    } else if (op->send && !op->posted && !op->moved) {
        op->posted = true;
        mgds_exchange_send_moved(op, op->copied ? 0 : error);
    } else if (!op->send && !op->landing && !op->fetching && !op->moved) {
        fail_recv(op, error);
    }
}
