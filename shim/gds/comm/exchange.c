/* The steps by which envelopes and streams move operations; see exchange.h. */
#include "shim/gds/comm/exchange.h"

#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/proto/credit.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/proto/fetch.h"
#include "shim/gds/msg/finish.h"
#include "shim/gds/comm/lost.h"
#include "shim/gds/comm/note.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/proto/flow.h"
#include "shim/gds/proto/rget.h"
#include "shim/gds/msg/quit.h"
#include "shim/gds/msg/am.h"

/* Sends. */

void mgds_exchange_called(struct mgds_op *op, bool reached)
{
    const struct mgds_comm *comm = op->comm;
    struct mgds_rts head = {.comm = comm->id,
                            .number = op->call->number,
                            .request_id = op->request_id,
                            .bytes = op->call->bytes,
                            .tag = op->call->tag,
                            .rank = comm->rank,
                            .index = (uint16_t)op->call->from_index,
                            .to_index = (uint16_t)op->call->index,
                            .reached = reached,
                            .sync = mgds_op_is_sync(op),
                            .protocol = op->send->protocol->id};
    int rc;

    mgds_op_step(op, MGDS_OP_ON_CALL);
    op->send->told = reached; /* by the RTS */
    op->send->protocol->describe(op, &head);
    rc = mgds_am_tell(comm->member[op->call->rank].peer, MGDS_ENVELOPE_RTS,
                      &head, mgds_rts_bytes(&head));
    if (rc < 0)
        mgds_exchange_send_moved(op, MGDS_OP_ON_FAIL, rc);
}

static struct mgds_wire_peer *peer_of(const struct mgds_op *op)
{
    return op->comm->member[op->send ? op->call->rank : op->status.source].peer;
}

/* One that nobody will copy is over. */
static void answer_pull(struct mgds_op *op)
{
    op->send->protocol->answer(op);
    if (op->error && op->state == MGDS_OP_READY)
        mgds_exchange_send_moved(op, MGDS_OP_ON_FAIL, op->error);
}

/* No kernel copies it out of where it is, nor is a copy of it anywhere. */
static bool must_be_staged(const struct mgds_op *op)
{
    return mgds_op_is_lean(op) && !op->bounce && !op->error;
}

/* Both must have happened: the receiver says where to, the stream when. */
static void try_answer(struct mgds_op *op)
{
    if (!mgds_op_is_reached(op))
        return;
    if (op->state == MGDS_OP_ASKED && must_be_staged(op))
        mgds_op_step(op, MGDS_OP_ON_REFUSE);
    if (op->state == MGDS_OP_ASKED)
        answer_pull(op);
    if (op->state == MGDS_OP_REFUSED && !mgds_work_is_listed(&op->copying)) {
        mgds_op_get(op);
        mgds_work_add(&op->copying, MGDS_WORK_COPY_IN);
    }
}

static bool is_staged(const struct mgds_op *op)
{
    return op->state != MGDS_OP_REFUSED && !mgds_op_is_lean(op) &&
           (op->bounce || op->copy || op->call->bytes == 0 ||
            op->send->protocol->buffered);
}

static void try_finish_send(struct mgds_op *op)
{
    bool unasked = mgds_op_is_sync(op) && op->state == MGDS_OP_CALLED;

    if (mgds_op_is_done(op) || !mgds_op_is_reached(op) ||
        (unasked && !op->error))
        return;
    if (op->error || is_staged(op) || mgds_op_is_moved(op))
        mgds_op_finish(op, op->error);
}

/* Nobody will look at its place in the ring. Not before the stream has come to
 * it, which writes there. */
static void give_place(struct mgds_op *op)
{
    if (!op->ring || !op->ring->channel || !mgds_op_is_reached(op))
        return;
    mgds_channel_give_slot(op->ring->channel, &op->ring->slot);
    op->ring->channel = NULL;
}

/* Those who subscribed are told at once, while it can still matter. */
void mgds_exchange_tell(struct mgds_op *op, bool anyway)
{
    struct mgds_comm *comm = op->comm;
    const struct mgds_tell head = {comm->id,        op->call->number,
                                   comm->rank,      op->call->from_index,
                                   op->call->index, 0};

    if (op->state != MGDS_OP_CALLED || op->send->told ||
        !(anyway || comm->member[op->call->rank].subscribes))
        return;
    op->send->told = true;
    mgds_am_tell(peer_of(op), MGDS_ENVELOPE_REACHED, &head, sizeof(head));
}

void mgds_exchange_asked(struct mgds_op *op)
{
    mgds_note_asked(op);
    try_answer(op);
    try_finish_send(op);
}

void mgds_exchange_staged(struct mgds_op *op)
{
    op->send->protocol->answer(op);
    try_finish_send(op);
}

static void send_reached(struct mgds_op *op)
{
    mgds_exchange_tell(op, false);
    op->send->protocol->reached(op);
    try_answer(op);
    try_finish_send(op);
    if (mgds_op_is_moved(op))
        give_place(op);
}

void mgds_exchange_send_moved(struct mgds_op *op, enum mgds_op_event event,
                              int error)
{
    if (!mgds_op_step(op, event))
        return;
    give_place(op);
    /* the stream has put all there, and the wire has read it: not to be kept
     * until the program asks for its request */
    if (!error && !op->error && mgds_op_is_reached(op) && op->bounce)
        mgds_bounce_drop_room(op->bounce);
    if (error && !op->error)
        op->error = error;
    if (error &&
        mgds_op_is_done(op)) /* as far as anybody was told, it went well */
        mgds_op_keep_error(op, op->timeline);
    mgds_rget_release(op);
    try_finish_send(op);
    mgds_op_leave_engine(op);
}

/* Receives. */

static size_t part_of(const struct mgds_op *op)
{
    bool parts = op->recv->message->protocol->carried && op->recv->got > 0 &&
                 mgds_op_is_lean(op);

    return parts ? mgds_flow_fragment(op) : 0;
}

static int post_pull(struct mgds_op *op)
{
    const struct mgds_message *from = op->recv->message;
    struct mgds_pull head = {.request_id = from->request_id,
                             .bytes = op->recv->got,
                             .rank = op->comm->rank,
                             .refused = from->refused,
                             .part = (uint32_t)part_of(op)};
    int rc = mgds_op_tell_name(op);

    head.answer = op->request_id;
    return rc < 0 ? rc
                  : mgds_am_tell(op->comm->member[from->rank].peer,
                                 MGDS_ENVELOPE_PULL, &head, sizeof(head));
}

static void pull_bytes(struct mgds_op *op, size_t bytes)
{
    int rc;

    mgds_op_step(op, MGDS_OP_ON_ASK);
    op->recv->got = bytes;
    rc = post_pull(op);
    if (rc < 0)
        mgds_exchange_recv_moved(op, rc);
}

/* The bytes go straight to where they belong, by the wire or by a copy, or the
 * PULL tells the sender that the receive has begun. */
static bool needs_stream(const struct mgds_op *op)
{
    bool direct = !op->bounce && !op->copy && op->call->bytes > 0;

    return direct || mgds_op_is_lean(op) || op->recv->message->sync ||
           (!op->recv->message->protocol->carried && mgds_op_is_near(op));
}

static void try_pull(struct mgds_op *op)
{
    if (op->state != MGDS_OP_WANTED || op->recv->fetch ||
        (needs_stream(op) && !mgds_op_is_reached(op)))
        return;
    pull_bytes(op, mgds_op_fitting(op));
}

/* Its bytes have come to ordinary memory. */
static bool must_be_lifted(const struct mgds_op *op)
{
    return mgds_op_is_lifted(op) && !op->recv->direct && op->recv->got > 0;
}

static void try_arrive(struct mgds_op *op)
{
    if (op->state != MGDS_OP_DELIVERED || !mgds_op_is_reached(op))
        return;
    if (must_be_lifted(op)) {
        if (!mgds_work_is_listed(&op->copying)) {
            mgds_op_get(op);
            mgds_work_add(&op->copying, MGDS_WORK_COPY_UP);
        }
        return;
    }
    mgds_op_step(op, MGDS_OP_ON_ARRIVE);
    mgds_op_finish(op, op->error);
    mgds_op_leave_engine(op);
}

void mgds_exchange_lifted(struct mgds_op *op, int error)
{
    op->recv->direct = true;
    if (error && !op->error)
        op->error = error;
    if (error)
        op->recv->got = 0;
    try_arrive(op);
}

static void recv_over(struct mgds_op *op, enum mgds_op_event event, int error)
{
    if (!mgds_op_step(op, event))
        return;
    /* that it would have been cut says nothing of what did not come */
    if (error && (!op->error || op->error == -EMSGSIZE))
        op->error = error;
    if (error)
        op->recv->got = 0;
    try_arrive(op);
}

void mgds_exchange_recv_moved(struct mgds_op *op, int error)
{
    recv_over(op, error ? MGDS_OP_ON_FAIL : MGDS_OP_ON_DELIVER, error);
}

void mgds_exchange_recv_lost(struct mgds_op *op, int error)
{
    recv_over(op, MGDS_OP_ON_LOSE, error);
}

static void want_message(struct mgds_op *op)
{
    mgds_op_step(op, MGDS_OP_ON_WANT);
    try_pull(op);
}

/* By its own stream. */
static bool may_be_taken(const struct mgds_op *op)
{
    return mgds_op_can_take(op) && !op->recv->demanded &&
           op->recv->message->protocol->slotted &&
           (!op->recv->message->protocol->copied || op->recv->claim);
}

void mgds_exchange_matched(struct mgds_op *op)
{
    if (may_be_taken(op))
        mgds_op_step(op, MGDS_OP_ON_HOLD);
    else
        want_message(op);
    if (op->state == MGDS_OP_HELD && op->waiting == MGDS_OP_TAKING)
        mgds_exchange_take(op);
    mgds_rget_consider(op);
}

void mgds_exchange_take(struct mgds_op *op)
{
    if (op->recv->message->protocol->copied)
        mgds_count(pull_takes);
    else
        mgds_count(ring_takes);
    mgds_op_step(op, MGDS_OP_ON_TAKE);
    op->recv->got = mgds_op_fitting(op);
    mgds_op_finish(op, op->error);
}

void mgds_exchange_demand(struct mgds_op *op)
{
    if (op->send || mgds_op_waiting_takes(op->waiting) || mgds_op_is_done(op))
        return;
    op->recv->demanded = true;
    if (op->state == MGDS_OP_HELD)
        want_message(op);
}

void mgds_exchange_end(struct mgds_wire_peer *peer,
                       const struct mgds_ended *ended)
{
    mgds_am_tell(peer, MGDS_ENVELOPE_ENDED, ended, sizeof(*ended));
}

void mgds_exchange_unread(const struct mgds_op *op, int error)
{
    const struct mgds_comm *comm = op->comm;
    struct mgds_ended ended = {.error = error, .rank = comm->rank};

    if (!op->recv->message || !error ||
        comm->member[op->recv->message->rank].lost)
        return;
    ended.request_id = op->recv->message->request_id;
    mgds_exchange_end(comm->member[op->recv->message->rank].peer, &ended);
}

/* Once. */
static void credit_sender(struct mgds_op *op)
{
    if (!op->recv->credited)
        mgds_credit_add(op->comm, op->recv->message->rank,
                        op->recv->message->request_id);
    op->recv->credited = true;
}

/* Of what was not read its sender must not hear that it was. */
void mgds_exchange_taken(struct mgds_op *op, bool given_up)
{
    if (!given_up)
        credit_sender(op);
    else if (!op->recv->credited)
        mgds_exchange_unread(op, op->queued->quit.told);
    mgds_op_step(op, MGDS_OP_ON_PASS);
    mgds_op_leave_engine(op);
}

/* Whoever lost it said with what, if a kernel stood for it. */
static int error_of_loss(const struct mgds_op *op)
{
    return op->queued->quit.error ? op->queued->quit.error : -ENOTCONN;
}

/* Its receiver, if it has asked, waits to be told. */
static void fail_awaited(struct mgds_op *op, int error)
{
    if (!op->error)
        op->error = error;
    if (op->state == MGDS_OP_ASKED)
        answer_pull(op);
    else
        mgds_exchange_send_moved(op, MGDS_OP_ON_FAIL, error);
}

/* A send that was lost meanwhile is well if it was copied all the same. */
void mgds_exchange_awaited(struct mgds_op *op, bool seen, int error)
{
    mgds_op_wait_step(op, MGDS_OP_WAIT_ON_PASS);
    if (mgds_op_is_moved(op)) {
        mgds_rget_release(op);
        return;
    }
    if (op->state == MGDS_OP_SENDING || op->state == MGDS_OP_FLOWING)
        return; /* it was refused: the wire has it */
    if (error) {
        fail_awaited(op, error);
        return;
    }
    if (!op->send->protocol->copied)
        return;
    if (seen)
        mgds_op_step(op, MGDS_OP_ON_COPIED);
    if (mgds_op_is_lost(op))
        mgds_exchange_send_moved(op, MGDS_OP_ON_LOSE,
                                 seen ? 0 : error_of_loss(op));
}

/* Kernels reach where it goes to: the program's memory, or all of ours. */
static bool may_be_fetched(const struct mgds_op *op)
{
    return op->recv->got == 0 || mgds_op_is_near(op) ||
           (op->bounce && op->stream && !mgds_op_is_lifted(op));
}

/* Nothing is to be copied of one in a ring of which no byte is wanted. */
void mgds_exchange_readable(struct mgds_op *op)
{
    if (op->recv->got == 0 && !op->recv->message->protocol->copied)
        mgds_exchange_fetched(op, 0);
    else if (may_be_fetched(op))
        mgds_fetch_add(op);
    else
        mgds_flow_get(op);
}

void mgds_exchange_fetched(struct mgds_op *op, int error)
{
    if (error == 0 || error == -EFAULT) /* thrown away */
        credit_sender(op);
    if (mgds_op_is_moved(op)) /* its fence ends it, or it has failed */
        return;
    mgds_exchange_recv_moved(op, error);
}

/* Of one that has failed the sender hears nothing else. */
static void got_bytes(struct mgds_op *op, int error)
{
    if (error && error != -EFAULT)
        mgds_exchange_unread(op, error);
    mgds_exchange_fetched(op, error);
}

static void recv_filled(struct mgds_op *op, int error)
{
    mgds_exchange_unread(op, error);
    mgds_exchange_recv_moved(op, error);
}

/* Its receiver waits for more. */
static void tell_broken(const struct mgds_op *op, int error)
{
    const struct mgds_data head = {
        .answer = op->send->answer, .error = error, .rank = op->comm->rank};

    mgds_am_tell(peer_of(op), MGDS_ENVELOPE_DATA, &head, sizeof(head));
}

static void send_sent(struct mgds_op *op, int error)
{
    if (error && !mgds_op_is_lost(op))
        tell_broken(op, error);
    mgds_exchange_send_moved(op, error ? MGDS_OP_ON_FAIL : MGDS_OP_ON_SENT,
                             error);
}

static void send_kept(struct mgds_op *op, int error)
{
    if (error == 0)
        op->latches |= MGDS_OP_KEPT;
    else if (!op->error)
        op->error = error;
    mgds_exchange_reached(op);
}

void mgds_exchange_withdrawn(struct mgds_op *op, int error, const char *why)
{
    mgds_count(receives_expired);
    op->fail->why = why;
    mgds_exchange_unread(op, error);
    op->recv->credited = true;
    mgds_quit_tell(op, error);
}

static void recv_reached(struct mgds_op *op)
{
    try_pull(op);
    mgds_rget_consider(op);
    try_arrive(op);
}

void mgds_exchange_reached(struct mgds_op *op)
{
    op->latches |= MGDS_OP_REACHED;
    mgds_note_reached(op);
    if (op->queued && mgds_ctx()->config.timeout > 0)
        op->queued->came = mgds_clock_ns();
    if (op->send)
        send_reached(op);
    else
        recv_reached(op);
}

void mgds_exchange_meet(struct mgds_comm *comm, unsigned rank)
{
    const struct mgds_tell head = {.comm = comm->id, .rank = comm->rank};

    if (comm->member[rank].met)
        return;
    comm->member[rank].met = true;
    mgds_am_tell(comm->member[rank].peer, MGDS_ENVELOPE_HELLO, &head,
                 sizeof(head));
}

void mgds_exchange_init(void)
{
    static const struct mgds_fetch_ends ends = {
        mgds_exchange_fetched, mgds_exchange_withdrawn, mgds_exchange_unread};
    static const struct mgds_flow_ends flows = {send_sent, send_kept,
                                                recv_filled, got_bytes};

    mgds_fetch_init(&ends);
    mgds_flow_init(&flows);
}
