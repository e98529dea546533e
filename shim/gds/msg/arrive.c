/* The handlers of envelopes that move messages, and of the bytes of receives;
 * see envelope.h and exchange.h. */
#include "shim/gds/msg/arrive.h"

#include <errno.h>

#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/gds/comm/admit.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/proto/fetch.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/wildcards.h"
#include "shim/gds/proto/fallback.h"
#include "shim/gds/proto/flow.h"
#include "shim/gds/proto/rget.h"

/* That it names, if it is as long as RTSs of that are. */
static const struct mgds_protocol *protocol_of(const struct mgds_rts *rts)
{
    const struct mgds_protocol *named = mgds_protocol_of(rts->protocol);

    if (named && named->copied == (rts->address != 0))
        return named;
    mgds_envelope_refuse(MGDS_ENVELOPE_RTS, rts->rank,
                         "it is not of the protocol that it names");
    return NULL;
}

static void take_rts(struct mgds_comm *comm, const struct mgds_rts *rts)
{
    const struct mgds_protocol *protocol = protocol_of(rts);
    struct mgds_message *message;
    int error;

    if (!protocol)
        return;
    mgds_wildcards_hear(comm, rts->rank);
    message = (struct mgds_message *)mgds_spares_take(&mgds_message_spares);
    if (!message) {
        mgds_warn("no memory for a message that came: it is lost, and its "
                  "receive will not end");
        return;
    }
    *message = (struct mgds_message){
        .match = {.source = mgds_comm_source(comm, rts->rank, rts->index),
                  .tag = rts->tag,
                  .number = rts->number,
                  .reached = rts->reached},
        .to_index = rts->to_index,
        .comm = comm,
        .rank = rts->rank,
        .index = rts->index,
        .request_id = rts->request_id,
        .bytes = rts->bytes,
        .sync = rts->sync};
    error = protocol->accept(message, rts);
    message->protocol = error ? &mgds_fragments : protocol;
    message->refused = error;
    if (mgds_match_arrive(comm->match[rts->to_index], &message->match) < 0) {
        mgds_envelope_refuse(MGDS_ENVELOPE_RTS, rts->rank,
                             "its message has come before");
        mgds_message_drop(message);
    }
}

static enum mgds_am_verdict on_rts(const struct mgds_am *am)
{
    const struct mgds_rts *rts = &am->head.rts;
    enum mgds_am_verdict verdict;
    struct mgds_comm *comm = mgds_admit(am, &verdict);

    if (comm && !comm->member[rts->rank].lost)
        take_rts(comm, rts);
    return verdict;
}

/* Before the RTS it is early. */
static enum mgds_am_verdict on_reached(const struct mgds_am *am)
{
    const struct mgds_tell *tell = &am->head.tell;
    enum mgds_am_verdict verdict;
    struct mgds_comm *comm = mgds_admit(am, &verdict);
    int source;

    if (!comm || comm->member[tell->rank].lost)
        return verdict;
    source = mgds_comm_source(comm, tell->rank, tell->index);
    if (!mgds_match_reached(comm->match[tell->to_index], source, tell->number))
        return MGDS_AM_EARLY;
    mgds_rget_reached(comm, source, tell->to_index, tell->number);
    return MGDS_AM_DONE;
}

/* The member is told of sends that streams have reached before. */
static enum mgds_am_verdict on_subscribe(const struct mgds_am *am)
{
    const uint32_t rank = am->head.tell.rank;
    enum mgds_am_verdict verdict;
    const struct mgds_comm *comm = mgds_admit(am, &verdict);
    struct mgds_op *op;

    if (!comm || comm->member[rank].subscribes)
        return verdict;
    comm->member[rank].subscribes = true;
    LIST_FOREACH(op, &comm->ops, link)
    {
        if (op->send && mgds_op_is_reached(op) && op->call->rank == (int)rank)
            mgds_exchange_tell(op, false);
    }
    return MGDS_AM_DONE;
}

/* Brings the connection: that is all. */
static enum mgds_am_verdict on_hello(const struct mgds_am *am)
{
    (void)am;
    return MGDS_AM_DONE;
}

static enum mgds_am_verdict on_pull(const struct mgds_am *am)
{
    const struct mgds_pull *pull = &am->head.pull;
    struct mgds_op *op = mgds_admit_send(am, pull->request_id, pull->rank);

    if (!op)
        return MGDS_AM_DONE;
    if (!mgds_op_may(op, MGDS_OP_ON_PULL)) {
        mgds_envelope_refuse(MGDS_ENVELOPE_PULL, pull->rank,
                             "the send was asked for before");
        return MGDS_AM_DONE;
    }
    if (pull->refused && op->send->protocol->carried) {
        mgds_envelope_refuse(MGDS_ENVELOPE_PULL, pull->rank,
                             "nobody was to copy that send's bytes");
        return MGDS_AM_DONE;
    }
    if (pull->bytes > op->call->bytes &&
        (pull->refused || op->send->protocol->carried)) {
        mgds_envelope_refuse(MGDS_ENVELOPE_PULL, pull->rank,
                             "it asks for more than the send has, which fails");
        op->error = op->error ? op->error : -EIO;
    }
    mgds_op_step(op, MGDS_OP_ON_PULL);
    op->send->answer = pull->answer;
    op->send->wanted = pull->bytes;
    op->send->part = pull->part;
    if (pull->refused)
        mgds_fallback_refused(op, pull->refused);
    mgds_exchange_asked(op);
    return MGDS_AM_DONE;
}

/* So the stream came to it, even if we do not see that yet. Unless it was asked
 * for: then it comes staged, or, if its receiver copies it, may be copied. */
static void take_back(const struct mgds_am *am, uint64_t request_id)
{
    struct mgds_op *op = mgds_admit_send(am, request_id, am->head.taken.rank);

    if (!op)
        return;
    if (!op->ring || !op->ring->channel || !mgds_op_may(op, MGDS_OP_ON_READ)) {
        mgds_envelope_refuse(am->kind, am->head.taken.rank,
                             "the message is in no ring, or was asked for");
        return;
    }
    mgds_channel_give_slot(op->ring->channel, &op->ring->slot);
    op->ring->channel = NULL;
    mgds_exchange_send_moved(op, MGDS_OP_ON_READ, 0);
}

static enum mgds_am_verdict on_taken(const struct mgds_am *am)
{
    for (uint32_t i = 0; i < am->head.taken.count; i++)
        take_back(am, am->head.taken.request_id[i]);
    return MGDS_AM_DONE;
}

static void body_landed(void *arg, int rc)
{
    struct mgds_landing *landing = (struct mgds_landing *)arg;

    mgds_engine_enter();
    landing->landed(landing, rc);
    mgds_engine_leave();
}

static void all_landed(struct mgds_landing *landing, int error)
{
    struct mgds_op *op =
        MGDS_CONTAINER_OF(landing, struct mgds_op_receiver, landing)->op;

    mgds_exchange_recv_moved(op, error);
}

/* What it must bring. */
static size_t bytes_due(const struct mgds_op *op, const struct mgds_data *data)
{
    return data->error || !op->recv->message->protocol->carried ? 0
                                                                : op->recv->got;
}

static bool refuse_bytes(const struct mgds_data *data)
{
    mgds_envelope_refuse(MGDS_ENVELOPE_DATA, data->rank,
                         "it has not as many bytes as were asked for: the "
                         "receive fails");
    return false;
}

/* All of them, or none. False: no bytes land. */
static bool begin_landing(struct mgds_op *op, const struct mgds_data *data,
                          size_t body_bytes)
{
    if (body_bytes != bytes_due(op, data)) {
        refuse_bytes(data);
        mgds_exchange_recv_moved(op, -EIO);
        return false;
    }
    if (body_bytes > 0)
        return mgds_op_step(op, MGDS_OP_ON_LAND);
    if (!op->recv->message->protocol->carried && !data->error)
        mgds_exchange_readable(op);
    else
        mgds_exchange_recv_moved(op, data->error);
    return false;
}

/* Parts as long as the sender says fit into fragments. */
static bool data_fits(const struct mgds_op *op, const struct mgds_data *data)
{
    return data->first > 0 && data->first <= mgds_flow_fragment(op);
}

/* Its bytes begin to come in parts: since there is no memory for all of them,
 * here, which its sender is ready for now, or there. */
static bool begin_flow(struct mgds_op *op, const struct mgds_data *data,
                       size_t body_bytes)
{
    bool carried = op->recv->message->protocol->carried && !data->error &&
                   op->recv->got > 0;
    bool lean = mgds_op_is_lean(op);

    if (op->state != MGDS_OP_PULLED || !carried || !data->part ||
        lean != (body_bytes == 0) || (lean && !data_fits(op, data)))
        return false;
    mgds_op_step(op, MGDS_OP_ON_FLOW);
    if (lean)
        mgds_flow_fill(op, data->first);
    else
        mgds_flow_land(op);
    return true;
}

/* False: no part lands. */
static bool take_part(struct mgds_op *op, const struct mgds_data *data,
                      struct mgds_wire_arrival *arrival)
{
    if (!mgds_flow_is_on(op))
        return false;
    if (data->error) {
        mgds_flow_fail(op, data->error);
        return false;
    }
    if (mgds_flow_take(op, data->first, arrival))
        return true;
    mgds_flow_fail(op, -EIO);
    return refuse_bytes(data);
}

/* False: none land. */
static bool take_bytes(struct mgds_op *op, const struct mgds_data *data,
                       struct mgds_wire_arrival *arrival)
{
    bool begins = begin_flow(op, data, arrival->body_bytes);

    if (op->state == MGDS_OP_FILLING)
        return !(begins && arrival->body_bytes == 0) &&
               take_part(op, data, arrival);
    if (begins || !begin_landing(op, data, arrival->body_bytes))
        return false;
    op->recv->landing.landed = all_landed;
    arrival->where = mgds_op_place(op);
    arrival->arg = &op->recv->landing;
    return true;
}

static int take_data(void *ctx, struct mgds_wire_arrival *arrival)
{
    union mgds_envelope_head copy;
    struct mgds_op *op;
    bool lands;

    (void)ctx;
    if (mgds_envelope_open(&copy, MGDS_ENVELOPE_DATA, arrival->head,
                           arrival->head_bytes, arrival->body_bytes) < 0)
        return -EPROTO;
    mgds_engine_enter();
    op = mgds_admit_recv(&copy.data, arrival->from);
    lands = op && take_bytes(op, &copy.data, arrival);
    mgds_engine_leave();
    return lands ? 0 : -ECANCELED;
}

static enum mgds_am_verdict on_grant(const struct mgds_am *am)
{
    const struct mgds_grant *grant = &am->head.grant;
    struct mgds_op *op = mgds_op_find(grant->request_id);

    /* overtaken by the last one, it may come when the send is over */
    if (op && op->send && op->call->rank == (int)grant->rank &&
        mgds_admit_rank(op->comm, grant->rank, am->from) &&
        !mgds_op_is_lost(op))
        mgds_flow_grant(op, grant->bytes);
    return MGDS_AM_DONE;
}

void mgds_arrive_init(void)
{
    const struct mgds_wire_handler data = {take_data, body_landed, NULL};

    mgds_wire_handle(MGDS_ENVELOPE_DATA, &data);
    mgds_am_handle(MGDS_ENVELOPE_RTS, on_rts);
    mgds_am_handle(MGDS_ENVELOPE_REACHED, on_reached);
    mgds_am_handle(MGDS_ENVELOPE_SUBSCRIBE, on_subscribe);
    mgds_am_handle(MGDS_ENVELOPE_HELLO, on_hello);
    mgds_am_handle(MGDS_ENVELOPE_PULL, on_pull);
    mgds_am_handle(MGDS_ENVELOPE_GRANT, on_grant);
    mgds_am_handle(MGDS_ENVELOPE_TAKEN, on_taken);
}
