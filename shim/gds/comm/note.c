/* What is told of operations; see note.h. */
#include "shim/gds/comm/note.h"

#include <assert.h>

#include "shim/base/config.h"
#include "shim/base/stats.h"
#include "shim/base/trace.h"
#include "shim/gds/msg/op.h"

/* Rows of stats.def: a way (send, receive), of each a transport, of each a
 * class of sizes. */
enum { TRANSPORTS = 4 };

static_assert(MGDS_STAT_recv_host_large - MGDS_STAT_send_self_1k + 1 ==
                  2 * TRANSPORTS * MGDS_SIZES,
              "the rows of stats.def are in this order");

/* Of a receive its peer may never hear. */
static int64_t id_of(const struct mgds_op *op)
{
    return (int64_t)(op->send ? op->request_id : op->call->number);
}

void mgds_note_called(const struct mgds_op *op)
{
    const int64_t op_id = id_of(op), bytes = (int64_t)op->call->bytes;
    const int64_t comm_id = (int64_t)op->comm->id;

    if (op->send)
        mgds_trace_send_called(op_id, op_id, op->call->rank, op->call->tag,
                               bytes, comm_id);
    else
        mgds_trace_recv_called(op_id, op->call->rank, op->call->tag, bytes,
                               comm_id);
}

void mgds_note_matched(const struct mgds_op *op)
{
    const struct mgds_message *message = op->recv->message;

    mgds_trace_recv_matched(id_of(op), (int64_t)message->request_id,
                            message->rank, message->match.tag,
                            (int64_t)message->bytes);
}

/* A send whose bytes lie in a ring may have ended before: its end is the last
 * that a trace has of it. */
void mgds_note_asked(const struct mgds_op *op)
{
    if (!mgds_op_is_done(op))
        mgds_trace_send_asked(id_of(op), (int64_t)op->send->wanted);
}

void mgds_note_reached(const struct mgds_op *op)
{
    if (op->timeline)
        mgds_trace_op_reached(id_of(op));
}

static bool was_direct(const struct mgds_op *op)
{
    if (op->send)
        return op->send->protocol->slotted;
    return op->recv->message && op->recv->message->protocol->slotted;
}

static bool is_own(const struct mgds_op *op)
{
    unsigned rank =
        op->send ? (unsigned)op->call->rank : op->recv->message->rank;

    return !op->comm->inter && rank == op->comm->rank;
}

/* The other way round it may not be as it is this one: then it is p2p, since
 * others are for both. */
static enum mgds_path path_from(const struct mgds_op *op)
{
    const struct mgds_channel *back =
        mgds_channels_find(op->comm->channels, op->call->index,
                           (unsigned)op->recv->message->match.source);

    return back ? mgds_channel_transport(back)->path : MGDS_PATH_P2P;
}

static enum mgds_path path_of(const struct mgds_op *op)
{
    if (!was_direct(op))
        return MGDS_PATH_HOST;
    if (is_own(op))
        return MGDS_PATH_SELF;
    return op->send ? op->send->transport->path : path_from(op);
}

void mgds_note_done(const struct mgds_op *op)
{
    if (op->send)
        mgds_trace_send_done(id_of(op), (int64_t)op->call->bytes,
                             (int64_t)path_of(op), op->error);
}

/* A receive that was taken may have been given up while its stream stood. */
static int error_of(const struct mgds_op *op)
{
    return op->error ? op->error : mgds_op_quit_error(op);
}

void mgds_note_over(const struct mgds_op *op)
{
    static const unsigned place[] = {[MGDS_PATH_SELF] = 0,
                                     [MGDS_PATH_P2P] = 1,
                                     [MGDS_PATH_IB_CPU] = 2,
                                     [MGDS_PATH_HOST] = 3};
    unsigned row;

    if (!op->send)
        mgds_trace_recv_done(id_of(op), (int64_t)op->recv->got,
                             (int64_t)path_of(op), error_of(op));
    if (!op->timeline || error_of(op) || op->state == MGDS_OP_CANCELLED)
        return;
    row = (op->send ? 0 : TRANSPORTS) + place[path_of(op)];
    mgds_stats_add_sized(MGDS_STAT_send_self_1k + row * MGDS_SIZES,
                         op->send ? op->call->bytes : op->recv->got);
}
