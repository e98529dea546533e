/* Operations are made, and called; see comm.h and op.h. */
#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/comm/fail.h"
#include "shim/gds/comm/group.h"
#include "shim/gds/mem/hostcopy.h"
#include "shim/gds/comm/means.h"
#include "shim/gds/comm/note.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/pair.h"
#include "shim/gds/proto/flow.h"
#include "shim/gds/proto/rget.h"
#include "shim/gds/comm/require.h"
#include "shim/gds/comm/wildcards.h"
#include "shim/gds/stream/hwqueue.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/wire/wire.h"

static unsigned attributes_of(const struct mgds_xfer *xfer)
{
    return (xfer->sync ? MGDS_OP_SYNC : 0u) |
           (xfer->stands ? MGDS_OP_STANDS : 0u);
}

/* -EOVERFLOW: no buffer is as long. */
static int describe_call(struct mgds_op_call *call,
                         const struct mgds_xfer *xfer)
{
    call->is = attributes_of(xfer);
    call->name = xfer->name;
    call->rank = xfer->peer;
    call->tag = xfer->tag;
    call->from_index = xfer->from_index;
    call->index = xfer->to_index;
    call->user = xfer->buffer;
    return __builtin_mul_overflow(call->user.layout->size, call->user.count,
                                  &call->bytes)
               ? -EOVERFLOW
               : 0;
}

static int find_timeline(struct mgds_op *op, const struct mgds_comm *comm)
{
    int rc =
        mgds_timeline_of(&op->timeline, comm->stream[mgds_op_own_index(op)]);

    if (op->timeline)
        op->waited->at = mgds_gstream_name(op->timeline->stream);
    return rc;
}

/* What it needs, of ours. */
static int equip_op(struct mgds_op *op, struct mgds_comm *comm,
                    const struct mgds_xfer *xfer)
{
    int rc = xfer->enqueued ? find_timeline(op, comm) : 0;

    if (rc == 0 && xfer->peer != MGDS_PROC_NULL)
        rc = mgds_means_make(op, comm, xfer);
    return rc;
}

static int create_op(struct mgds_op **out, struct mgds_comm *comm,
                     const struct mgds_xfer *xfer, bool send)
{
    struct mgds_op *op = mgds_op_alloc(send, xfer->enqueued);
    int rc;

    if (xfer->enqueued || !mgds_hwqueue_any()) /* it may wait for the driver */
        mgds_works_run_kind(MGDS_WORK_IMPORT, MGDS_WORK_BY_HOST);
    if (!op)
        return -ENOMEM;
    if (send) {
        op->send->protocol = &mgds_fragments;
        op->send->transport = &mgds_host;
    }
    op->refs = 1;
    op->status =
        (struct mgds_op_status){MGDS_ANY_SOURCE, MGDS_ANY_TAG, 0, 0, 0, false};
    rc = describe_call(op->call, xfer);
    if (rc == 0)
        rc = equip_op(op, comm, xfer);
    if (rc < 0) {
        mgds_means_cancel(op);
        mgds_op_give_means(op);
        mgds_op_free(op);
        return rc;
    }
    mgds_layout_get(op->call->user.layout);
    mgds_comm_get(comm);
    op->comm = comm;
    *out = op;
    return 0;
}

/* Steps, under the engine's lock. */

static void enter_engine(struct mgds_op *op)
{
    mgds_op_get(op);
    LIST_INSERT_HEAD(&op->comm->ops, op, link);
}

/* Not of one that has failed: its stream may not have come there. */
static bool must_be_kept(const struct mgds_op *op)
{
    return mgds_op_is_kept(op) && !op->error && !mgds_op_is_lost(op) &&
           !mgds_op_is_moved(op);
}

/* The stream came to the operation. */
static void reach_op(struct mgds_fence *fence)
{
    struct mgds_op *op =
        MGDS_CONTAINER_OF(fence, struct mgds_op_queued, fence)->op;

    if (op->send && op->copy)
        mgds_host_pack(op->copy, &op->call->user, op->call->bytes);
    if (must_be_kept(op))
        mgds_flow_keep(op);
    else if (op->send && op->send->transport->relay)
        op->send->transport->relay(op);
    else
        mgds_exchange_reached(op);
    mgds_op_put_later(op); /* the fence's */
}

/* Numbered when it is put. */
static void fence_op(struct mgds_op *op)
{
    op->queued->fence.passed = reach_op;
    mgds_op_get(op);
}

static void call_send(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    struct mgds_comm *comm = op->comm;
    unsigned to = comm->base[op->call->rank] + xfer->to_index;

    op->call->number = comm->sent[xfer->from_index * comm->sources + to]++;
    enter_engine(op);
    mgds_exchange_called(op, !op->timeline);
    mgds_op_fail_if_lost(op);
    if (!op->timeline)
        mgds_exchange_reached(op);
}

static void meet_source(struct mgds_op *op, unsigned from_index)
{
    struct mgds_comm *comm = op->comm;

    op->recv->match.source = op->call->rank;
    if (op->call->rank < 0) {
        mgds_wildcards_receive(comm);
        return;
    }
    op->recv->match.source =
        mgds_comm_source(comm, (unsigned)op->call->rank, from_index);
    mgds_exchange_meet(comm, (unsigned)op->call->rank);
}

static void call_recv(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    struct mgds_comm *comm = op->comm;

    meet_source(op, xfer->from_index);
    op->recv->match.tag = op->call->tag;
    if (!op->timeline)
        op->latches |= MGDS_OP_REACHED;
    enter_engine(op);
    mgds_op_step(op, MGDS_OP_ON_POST);
    mgds_match_post(comm->match[xfer->to_index], &op->recv->match);
    mgds_op_fail_if_lost(op);
}

static int prepare_plain(struct mgds_op *op)
{
    int rc;

    if (!op->send || op->timeline)
        return 0;
    if (op->copy)
        mgds_host_pack(op->copy, &op->call->user, op->call->bytes);
    if (!op->bounce)
        return 0;
    rc = mgds_bounce_down(op->bounce, 0, SIZE_MAX);
    return rc < 0 ? rc : mgds_bounce_wait(op->bounce, NULL);
}

static int make_op(struct mgds_op **out, struct mgds_comm *comm,
                   const struct mgds_xfer *xfer, bool send)
{
    int rc = create_op(out, comm, xfer, send);

    if (rc < 0)
        return rc;
    if (xfer->peer == MGDS_PROC_NULL) {
        (*out)->latches |= MGDS_OP_DONE | MGDS_OP_REACHED;
        (*out)->status.source = MGDS_PROC_NULL;
        return 0;
    }
    rc = prepare_plain(*out);
    if (rc < 0)
        mgds_op_put(*out);
    return rc;
}

/* Takes the lock, and a request ID. -ENOMEM: it cannot be called;
 * -EPROTONOSUPPORT: it may not. */
static int enter_to_call(struct mgds_op *op, const struct mgds_xfer *xfer)
    MGDS_ACQUIRE(mgds_engine_lock)
{
    mgds_engine_enter();
    if (xfer->peer == MGDS_PROC_NULL)
        return 0;
    if (mgds_require_refuses(op, xfer))
        return -EPROTONOSUPPORT;
    return mgds_op_name(op);
}

/* Nobody has heard of it. */
static void drop_uncalled(struct mgds_op *op)
{
    mgds_means_cancel(op);
    mgds_op_release(op);
}

static void leave_uncalled(struct mgds_op *op) MGDS_RELEASE(mgds_engine_lock)
{
    mgds_engine_leave();
    drop_uncalled(op);
}

/* Takes its number. Under the engine's lock. */
static void call_op(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    mgds_note_called(op);
    if (op->timeline)
        fence_op(op);
    (op->send ? call_send : call_recv)(op, xfer);
}

static int call_now(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    int rc = enter_to_call(op, xfer);

    if (rc < 0) {
        leave_uncalled(op);
        return rc;
    }
    call_op(op, xfer);
    mgds_engine_leave();
    return 0;
}

static int call_on_stream(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    struct mgds_put own, *put = mgds_group_put(&own, op->timeline, 1, 0);
    int rc;

    if (!put) {
        drop_uncalled(op);
        return -ENOMEM;
    }
    rc = enter_to_call(op, xfer);
    if (rc < 0) {
        leave_uncalled(op);
        mgds_group_undo(put, &own);
        return rc;
    }
    call_op(op, xfer);
    mgds_group_op(put, &own, op);
    mgds_group_close(put, &own);
    mgds_engine_leave();
    mgds_group_queue(put, &own);
    return 0;
}

static int start_op(struct mgds_op **out, struct mgds_comm *comm,
                    const struct mgds_xfer *xfer, bool send)
{
    struct mgds_op *op;
    int rc = make_op(&op, comm, xfer, send);

    if (rc < 0)
        return rc;
    if (xfer->peer != MGDS_PROC_NULL)
        rc = op->timeline ? call_on_stream(op, xfer) : call_now(op, xfer);
    if (rc == 0)
        *out = op;
    return rc;
}

/* A stream that stands at an operation comes to nothing behind it. In a group
 * all operations are ahead of where it stands. */
static int make_to_run(struct mgds_op **out, struct mgds_comm *comm,
                       const struct mgds_xfer *xfer, bool send)
{
    unsigned index = send ? xfer->from_index : xfer->to_index;
    struct mgds_xfer standing = *xfer;

    standing.stands = !mgds_group_of(comm->stream[index]);
    return make_op(out, comm, &standing, send);
}

int mgds_op_run(struct mgds_comm *comm, const struct mgds_xfer *xfer, bool send,
                const struct mgds_op_sink *sink)
{
    struct mgds_put own, *put;
    struct mgds_op *op;
    int rc = make_to_run(&op, comm, xfer, send);

    if (rc < 0)
        return rc;
    put = mgds_group_put(&own, op->timeline, 1, 1);
    if (!put) {
        drop_uncalled(op);
        return -ENOMEM;
    }
    rc = enter_to_call(op, xfer);
    if (rc < 0) {
        leave_uncalled(op);
        mgds_group_undo(put, &own);
        return rc;
    }
    if (xfer->peer != MGDS_PROC_NULL) {
        call_op(op, xfer);
        mgds_group_op(put, &own, op);
    }
    mgds_group_wait(put, 1, &op, sink);
    mgds_group_close(put, &own);
    mgds_engine_leave();
    mgds_group_queue(put, &own);
    return 0;
}

static void call_taken(struct mgds_op *op, struct mgds_message *message)
{
    op->call->index = message->to_index;
    op->latches |= MGDS_OP_REACHED;
    op->recv->match.source = message->match.source;
    mgds_note_called(op);
    enter_engine(op);
    mgds_op_step(op, MGDS_OP_ON_POST);
    mgds_paired(op->comm, &op->recv->match, &message->match);
    mgds_op_fail_if_lost(op);
}

int mgds_op_mrecv(struct mgds_op **out, struct mgds_message *message,
                  const struct mgds_xfer *xfer)
{
    struct mgds_comm *comm = message->comm;
    struct mgds_xfer plain = *xfer;
    struct mgds_op *op;
    int rc;

    plain.enqueued = false;
    plain.to_index = message->to_index;
    plain.peer = (int)message->rank;
    plain.tag = message->match.tag;
    rc = create_op(&op, comm, &plain, false);
    if (rc < 0)
        return rc;
    rc = enter_to_call(op, &plain);
    if (rc < 0) {
        leave_uncalled(op);
        return rc;
    }
    call_taken(op, message);
    mgds_engine_leave();
    mgds_comm_release(comm); /* the message's */
    *out = op;
    return 0;
}

int mgds_op_send(struct mgds_op **out, struct mgds_comm *comm,
                 const struct mgds_xfer *xfer)
{
    return start_op(out, comm, xfer, true);
}

int mgds_op_recv(struct mgds_op **out, struct mgds_comm *comm,
                 const struct mgds_xfer *xfer)
{
    return start_op(out, comm, xfer, false);
}
