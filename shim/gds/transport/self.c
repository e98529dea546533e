/* self: both ends are streams of one context of this process, so that memory
 * needs neither a key nor a mapping; see transport.h. */
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/envelope.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/transport/channels.h"
#include "shim/gds/transport/transport.h"

static bool name_memory(struct mgds_exposing *exposing,
                        const struct mgds_op *op)
{
    (void)op;
    exposing->handle.id = 0;
    return true;
}

/* Where no kernel may wait nobody would copy it. */
static enum mgds_exposure self_expose(const struct mgds_exposing *exposing)
{
    return mgds_channels_can_take(exposing->comm->channels,
                                  exposing->xfer->to_index)
               ? MGDS_EXPOSURE_KNOWN
               : MGDS_EXPOSURE_REFUSED;
}

static uint64_t key_of(const struct mgds_op *op)
{
    (void)op;
    return 0;
}

/* Of a send that is here: what the RTS says is what the send says itself. */
static uint64_t self_reach(struct mgds_channel *channel,
                           const struct mgds_rts *rts)
{
    const struct mgds_op *op = mgds_op_find(rts->request_id);

    (void)channel;
    return rts->export == 0 && op && op->send && op->send->protocol->copied &&
                   op->call->bytes == rts->bytes &&
                   (uintptr_t)mgds_op_user(op) == rts->address
               ? rts->address
               : 0;
}

/* What is said of sends is checked anew for each. */
static void self_unreachable(struct mgds_channel *channel,
                             const struct mgds_op *op)
{
    (void)channel;
    (void)op;
}

const struct mgds_transport mgds_self = {
    .path = MGDS_PATH_SELF,
    .one_process = true,
    .name_memory = name_memory,
    .expose = self_expose,
    .key_of = key_of,
    .reach = self_reach,
    .unreachable = self_unreachable,
    .post = mgds_am_post,
};
