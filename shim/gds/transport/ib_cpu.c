/* ib-cpu: streams of different hosts. The sender's stream stores units into a
 * mirror of the receiver's ring, and when it has come behind them the CPU
 * posts a WRITE that brings them there (far.h); see transport.h. */
#include "shim/gds/comm/broken.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/far.h"

/* The HCA at the other end has the units, or they will not come. */
void mgds_ib_cpu_over(void *arg, int error, const char *why)
{
    struct mgds_op *op = (struct mgds_op *)arg;

    if (error)
        mgds_broken_send(op, error, why);
    mgds_exchange_reached(op);
    mgds_op_put_later(op);
}

/* One that has failed meanwhile, or whose place was given back, is not brought
 * anywhere. */
static int push_units(struct mgds_op *op)
{
    const struct mgds_slot *slot = &op->ring->slot;

    if (!op->ring->channel || mgds_op_is_moved(op))
        return -ECANCELED;
    return mgds_far_push(mgds_channel_far(op->ring->channel), slot->units,
                         (uint32_t)mgds_channel_units_of(op->call->bytes), op);
}

static void ib_cpu_relay(struct mgds_op *op)
{
    int rc;

    mgds_op_get(op);
    rc = push_units(op);
    if (rc < 0)
        mgds_ib_cpu_over(op, rc == -ECANCELED ? 0 : rc,
                         "its InfiniBand connection is broken");
}

const struct mgds_transport mgds_ib_cpu = {
    .path = MGDS_PATH_IB_CPU,
    .relay = ib_cpu_relay,
    .post = mgds_am_post,
};
