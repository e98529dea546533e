/* p2p: kernels reach memory of another process of this host, on the same GPU or
 * on one that is a peer, once it is mapped (memory.h); see transport.h. */
#include "shim/gds/msg/envelope.h"
#include "shim/gds/proto/mapping.h"
#include "shim/gds/proto/memory.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/transport/channel.h"

static bool is_inside(const struct mgds_op *op,
                      const struct mgds_export_handle *handle)
{
    uint64_t begin = (uintptr_t)mgds_op_user(op);

    return begin >= handle->base &&
           begin + op->call->bytes <= handle->base + handle->size;
}

static bool name_memory(struct mgds_exposing *exposing,
                        const struct mgds_op *op)
{
    return mgds_export_of(&exposing->handle, &op->call->user.ptr) == 0 &&
           is_inside(op, &exposing->handle);
}

static uint64_t key_of(const struct mgds_op *op)
{
    return op->call->user.ptr.id;
}

static uint64_t p2p_reach(struct mgds_channel *channel,
                          const struct mgds_rts *rts)
{
    const struct mgds_mapping *memory =
        rts->export
            ? mgds_mapping_find(mgds_channel_theirs(channel), rts->export)
            : NULL;
    const struct mgds_export_handle *handle;

    if (!memory || !memory->import)
        return 0;
    handle = &memory->handle;
    if (rts->address < handle->base || rts->bytes > handle->size ||
        rts->address - handle->base > handle->size - rts->bytes)
        return 0;
    return (uintptr_t)mgds_import_addr(memory->import) +
           (rts->address - handle->base);
}

static void p2p_unreachable(struct mgds_channel *channel,
                            const struct mgds_op *op)
{
    struct mgds_mapping *memory =
        mgds_mapping_find(mgds_channel_ours(channel), op->call->user.ptr.id);

    if (memory)
        memory->state = MGDS_MAPPING_REFUSED;
}

const struct mgds_transport mgds_p2p = {
    .path = MGDS_PATH_P2P,
    .name_memory = name_memory,
    .expose = mgds_memory_expose,
    .key_of = key_of,
    .reach = p2p_reach,
    .unreachable = p2p_unreachable,
    .post = mgds_am_post,
};
