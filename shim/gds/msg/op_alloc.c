/* The memory of operations: one allocation for each, with its parts; see op.h.
 */
#include "shim/base/spares.h"
#include "shim/gds/msg/op.h"

struct host_op {
    struct mgds_op op; /* first */
    struct mgds_op_call call;
    struct mgds_op_waited waited;
    struct mgds_op_caller caller;
    struct mgds_op_failing fail;
};

struct host_send {
    struct host_op host; /* first */
    struct mgds_op_sender send;
};

struct queued_send {
    struct host_send host; /* first */
    struct mgds_op_ring ring;
    struct mgds_op_queued queued;
};

struct host_recv {
    struct host_op host; /* first */
    struct mgds_op_receiver recv;
};

struct queued_recv {
    struct host_recv host; /* first */
    struct mgds_op_queued queued;
};

static struct mgds_spares host_sends =
    MGDS_SPARES_INIT(sizeof(struct host_send));
static struct mgds_spares queued_sends =
    MGDS_SPARES_INIT(sizeof(struct queued_send));
static struct mgds_spares host_recvs =
    MGDS_SPARES_INIT(sizeof(struct host_recv));
static struct mgds_spares queued_recvs =
    MGDS_SPARES_INIT(sizeof(struct queued_recv));

static struct mgds_spares *spares_of(bool send, bool enqueued)
{
    if (send)
        return enqueued ? &queued_sends : &host_sends;
    return enqueued ? &queued_recvs : &host_recvs;
}

static void lay_host(struct host_op *host)
{
    host->op.call = &host->call;
    host->op.waited = &host->waited;
    host->op.caller = &host->caller;
    host->op.fail = &host->fail;
}

static void lay_queued(struct mgds_op *op, struct mgds_op_queued *queued)
{
    op->queued = queued;
    queued->op = op;
}

static void lay_send(struct host_send *send, bool enqueued)
{
    struct queued_send *queued = (struct queued_send *)(void *)send;
    struct mgds_op *op = &send->host.op;

    op->send = &send->send;
    if (!enqueued)
        return;
    op->ring = &queued->ring;
    lay_queued(op, &queued->queued);
}

static void lay_recv(struct host_recv *recv, bool enqueued)
{
    struct queued_recv *queued = (struct queued_recv *)(void *)recv;
    struct mgds_op *op = &recv->host.op;

    op->recv = &recv->recv;
    recv->recv.op = op;
    if (enqueued)
        lay_queued(op, &queued->queued);
}

struct mgds_op *mgds_op_alloc(bool send, bool enqueued)
{
    struct host_op *host =
        (struct host_op *)mgds_spares_take(spares_of(send, enqueued));

    if (!host)
        return NULL;
    lay_host(host);
    if (send)
        lay_send((struct host_send *)(void *)host, enqueued);
    else
        lay_recv((struct host_recv *)(void *)host, enqueued);
    return &host->op;
}

void mgds_op_free(struct mgds_op *op)
{
    mgds_spares_give(spares_of(op->send, op->queued), op);
}

void mgds_op_spares_clear(void)
{
    mgds_spares_clear(&host_sends);
    mgds_spares_clear(&queued_sends);
    mgds_spares_clear(&host_recvs);
    mgds_spares_clear(&queued_recvs);
}
