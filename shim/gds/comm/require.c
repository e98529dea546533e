/* Transports that messages may take; see require.h. */
#include "shim/gds/comm/require.h"

#include "shim/base/config.h"
#include "shim/base/tls.h"
#include "shim/ctx.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"

static const struct mgds_hindrance
    no_ring =
        {"there is no ring here to take it from: MPIX_GDS_EAGER is 0, or "
         "GPU memory or hardware queues are short",
         "leave MPIX_GDS_EAGER and CUDA_DEVICE_MAX_CONNECTIONS unset, and "
         "GPU memory free"},
    no_place = {"the ring for such messages was full: "
                "MPIX_GDS_RING allows more",
                "set MPIX_GDS_RING higher, or post receives earlier"},
    no_mapping = {"the receiver cannot map its memory (cuMemAllocAsync and "
                  "cuMemMap give none that can be), or MPIX_GDS_PULL leaves it "
                  "out",
                  "use memory of cuMemAlloc (cudaMalloc), and leave "
                  "MPIX_GDS_PULL unset"},
    too_long = {"it is longer than MPIX_GDS_EAGER, and nothing longer goes to "
                "that rank from GPU to GPU",
                "set MPIX_GDS_EAGER higher"},
    broken = {"the connection to its rank is broken", ""},
    not_mapped = {"the receiver had not mapped its memory yet",
                  "send from the same few buffers: after the first messages "
                  "they are mapped"},
    in_its_own_way = {"a stream that stands at a send to itself, or memory "
                      "that cannot be mapped, has no other way",
                      "use MPIX_Isend_enqueue ahead of the receive, and memory "
                      "of cuMemAlloc (cudaMalloc)"},
    no_take = {"its buffer has gaps, or is of a GPU that the stream's does not "
               "reach",
               "use a buffer in one piece, on the stream's GPU"},
    shared = {"another process of the communicator uses the GPU of the stream, "
              "and the two have it in turns",
              "give each process a GPU of its own, as by CUDA_VISIBLE_DEVICES "
              "or srun --gpus-per-task=1"},
    in_host_memory = {"its buffer is in host memory",
                      "put the buffer in GPU memory"},
    not_enqueued = {"only enqueued messages have other transports",
                    "use MPIX_Send_enqueue, MPIX_Recv_enqueue and their kin"},
    left_out = {"that is the way between the two", ""}, nothing = {"", ""};

/* Of the thread's last call that was refused. */
static MGDS_TLS struct mgds_way refusal;

static bool allows_path(enum mgds_path path)
{
    unsigned set = mgds_ctx()->config.require;

    if (path == MGDS_PATH_HOST && set & 1u << MGDS_PATH_UCX)
        return true;
    return set == 0 || set & 1u << path;
}

static bool concerns_op(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return mgds_ctx()->config.require != 0 && xfer->enqueued && xfer->gpu &&
           op->call->bytes > 0 && xfer->peer != MGDS_PROC_NULL;
}

bool mgds_require_direct(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return concerns_op(op, xfer) && !allows_path(MGDS_PATH_HOST);
}

bool mgds_require_forbids_host(const struct mgds_op *op)
{
    return op->timeline && op->call->bytes > 0 && !allows_path(MGDS_PATH_HOST);
}

/* The two ends, as channels have them; of an operation whose peer is known. */
struct ends {
    unsigned mine, theirs;
};

static struct ends ends_of(const struct mgds_op *op)
{
    unsigned base = op->comm->base[op->call->rank];

    if (op->send)
        return (struct ends){op->call->from_index, base + op->call->index};
    return (struct ends){op->call->index, base + op->call->from_index};
}

/* NULL: it is from anybody, or there is none. */
static struct mgds_channel *channel_of(const struct mgds_op *op)
{
    struct ends ends;

    if (op->call->rank < 0)
        return NULL;
    ends = ends_of(op);
    return mgds_channels_find(op->comm->channels, ends.mine, ends.theirs);
}

static const struct mgds_hindrance *why_no_channel(const struct mgds_op *op)
{
    struct ends ends = ends_of(op);

    return mgds_channels_why(op->comm->channels, ends.mine, ends.theirs);
}

static const struct mgds_hindrance *
why_no_place(const struct mgds_op *op, const struct mgds_channel *channel)
{
    if (!mgds_channel_is_open(channel))
        return &broken;
    if (op->call->bytes <= mgds_ctx()->config.eager)
        return &no_place;
    if (!mgds_channel_can_get(channel))
        return &too_long;
    if (mgds_op_might(op, MGDS_PROTOCOL_RGET))
        return &not_mapped;
    return mgds_channel_transport(channel)->one_process ? &in_its_own_way
                                                        : &no_mapping;
}

/* Why it would be staged; NULL: it would not. */
static const struct mgds_hindrance *
why_staged(const struct mgds_op *op, const struct mgds_channel *channel)
{
    if (!mgds_gstream_takes(op->timeline->stream, &op->call->user))
        return &no_take;
    if (!channel && op->call->rank >= 0)
        return why_no_channel(op);
    if (mgds_op_is_direct(op))
        return NULL;
    if (mgds_channels_share_gpu(op->comm->channels, mgds_op_own_index(op)))
        return &shared;
    return op->send ? why_no_place(op, channel) : &no_ring;
}

/* Of a receive from anybody it is not known who that will be: one that may. */
static enum mgds_path path_of(const struct mgds_channel *channel)
{
    if (channel)
        return mgds_channel_transport(channel)->path;
    if (allows_path(MGDS_PATH_SELF))
        return MGDS_PATH_SELF;
    return allows_path(MGDS_PATH_HOST) ? MGDS_PATH_HOST : MGDS_PATH_P2P;
}

bool mgds_require_refuses(const struct mgds_op *op,
                          const struct mgds_xfer *xfer)
{
    const struct mgds_hindrance *why;
    const struct mgds_channel *channel;
    enum mgds_path path = MGDS_PATH_HOST;

    if (!concerns_op(op, xfer) || mgds_comm_lost(op->comm, xfer->peer) < 0)
        return false;
    channel = channel_of(op);
    why = why_staged(op, channel);
    if (!why) {
        path = path_of(channel);
        why = &left_out;
    }
    refusal = (struct mgds_way){mgds_path_names[path], *why};
    return !allows_path(path);
}

struct mgds_way mgds_require_reason(void)
{
    return refusal;
}

static const struct mgds_hindrance *why_host(const struct mgds_op *op)
{
    if (!mgds_ptr_is_gpu(&op->call->user.ptr))
        return &in_host_memory;
    return op->timeline ? why_staged(op, channel_of(op)) : &not_enqueued;
}

/* What is constant from the call on is enough. */
struct mgds_way mgds_op_way(const struct mgds_op *op)
{
    const struct mgds_hindrance *why;

    if (op->call->rank == MGDS_PROC_NULL || op->call->bytes == 0)
        return (struct mgds_way){"none", nothing};
    why = why_host(op);
    if (why)
        return (struct mgds_way){mgds_path_names[MGDS_PATH_HOST], *why};
    return (struct mgds_way){mgds_path_names[path_of(channel_of(op))], nothing};
}
