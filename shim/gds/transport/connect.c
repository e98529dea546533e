/* The channels of a member are made, by what other members say of their
 * streams, and far ways are begun (connect_far.c); see channels.h and comm.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/ipc.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels_state.h"
#include "shim/gds/transport/far.h"
#include "shim/gds/transport/own_rings.h"
#include "shim/gds/transport/ring_pair.h"
#include "shim/gds/wire/wire.h"

/* As shim/base/config.def has it. */
#define MGDS_RING_TOTAL_USUAL ((uint64_t)256 << 20)

static unsigned streams_of(const struct mgds_member *member)
{
    return member->streams ? member->streams : 1;
}

static int number_sources(struct mgds_channels *channels)
{
    unsigned sources = 0;

    channels->base = (unsigned *)mgds_calloc(channels->peers + 1, sizeof(int));
    if (!channels->base)
        return -ENOMEM;
    for (unsigned i = 0; i < channels->peers; i++)
        channels->base[i + 1] = sources += streams_of(&channels->members[i]);
    return 0;
}

/* What a member tells the others of a stream. Plain. */
struct mgds_told {
    struct mgds_gpu_id gpu;
    uint64_t context; /* its id there */
    uint32_t able;    /* 0: it has no rings */
    uint32_t far;     /* units of a ring that is for a stream of another host */
};

static bool has_kernels(const struct mgds_channels *channels, unsigned index)
{
    return channels->stream[index] &&
           mgds_gstream_has_kernels(channels->stream[index]);
}

/* Without rings messages are staged: that is no error. */
static void find_able(struct mgds_channels *channels)
{
    if (mgds_ctx()->config.ring_total != MGDS_RING_TOTAL_USUAL &&
        channels->rank == 0)
        mgds_warn_once("MPIX_GDS_RING_TOTAL is what the whole process has: it "
                       "was what each stream of a communicator had");
    for (unsigned i = 0; i < channels->streams; i++)
        channels->able[i] = mgds_own_rings_may_be() && has_kernels(channels, i);
}

/* Ways that the process makes, if all go well. */
static uint64_t count_far(const struct mgds_channels *channels)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < channels->peers; i++)
        if (mgds_channels_is_far(channels, i))
            count += mgds_channels_streams_of(channels, i);
    return count * channels->streams;
}

/* Each has a ring here, and a mirror of the one there. All of them get half of
 * what the process may have yet, so that there is some for communicators to
 * come. */
static uint32_t units_of_far(const struct mgds_channels *channels)
{
    enum { PARTS = 2 * 2 };
    uint64_t count = count_far(channels), units;

    if (count == 0)
        return 0;
    units = mgds_own_rings_left() / (PARTS * count) / sizeof(struct mgds_unit);
    if (units > mgds_ring_units_most())
        units = mgds_ring_units_most();
    return units < MGDS_RING_LEAST ? 0 : (uint32_t)units;
}

static struct mgds_told make_told(const struct mgds_channels *channels,
                                  unsigned index, uint32_t far)
{
    struct mgds_told told = {.able = 0};
    const struct mgds_context *ctx;

    if (!channels->able[index])
        return told;
    ctx = mgds_gstream_context(channels->stream[index]);
    told.able = mgds_gpu_identify(&told.gpu, ctx) == 0;
    told.context = ctx->id;
    told.far = far;
    return told;
}

/* Asks the driver for each stream once, not for each that hears of it. */
static void fill_told(struct mgds_channels *channels)
{
    uint32_t far = units_of_far(channels);

    for (unsigned i = 0; i < channels->streams; i++)
        channels->told[i] = make_told(channels, i, far);
}

static int make_tables(struct mgds_channels *channels)
{
    unsigned streams = channels->streams;
    size_t pairs = (size_t)streams * channels->base[channels->peers];

    channels->channel = (struct mgds_channel **)mgds_calloc(
        pairs, sizeof(struct mgds_channel *));
    channels->lack = (unsigned char *)mgds_calloc(pairs, 1);
    channels->able = (bool *)mgds_calloc(streams, sizeof(bool));
    channels->told =
        (struct mgds_told *)mgds_calloc(streams, sizeof(struct mgds_told));
    channels->shared = (bool *)mgds_calloc(streams, sizeof(bool));
    channels->offers =
        (unsigned *)mgds_calloc(channels->peers, sizeof(unsigned));
    if (!channels->offers || !channels->able || !channels->told ||
        !channels->channel || !channels->lack || !channels->shared)
        return -ENOMEM;
    if (!mgds_channels_are_far(channels->members, channels->peers))
        return 0;
    channels->far =
        (struct mgds_far **)mgds_calloc(pairs, sizeof(struct mgds_far *));
    return channels->far ? 0 : -ENOMEM;
}

int mgds_channels_create(struct mgds_channels **out,
                         const struct mgds_comm_spec *spec)
{
    struct mgds_channels *channels =
        (struct mgds_channels *)mgds_calloc(1, sizeof(*channels));
    int rc;

    if (!channels)
        return -ENOMEM;
    channels->refs = 1;
    channels->rank = spec->rank;
    channels->peers = spec->size;
    channels->streams = spec->stream_count;
    channels->stream = spec->streams;
    channels->members = spec->members;
    channels->process = spec->members[spec->rank].process;
    rc = number_sources(channels);
    if (rc == 0)
        rc = make_tables(channels);
    if (rc < 0) {
        mgds_channels_put(channels);
        return rc;
    }
    find_able(channels);
    fill_told(channels);
    *out = channels;
    return 0;
}

size_t mgds_channels_description(unsigned streams)
{
    return streams * sizeof(struct mgds_told);
}

void mgds_channels_describe(const struct mgds_channels *channels, char *out)
{
    memcpy(out, channels->told, mgds_channels_description(channels->streams));
}

/* Processes that share a GPU have it in turns: while one waits in a kernel the
 * other one, which it waits for, does not run. There waits are left to memory
 * operations, unless kernels are asked for. */
static bool shares_gpu(const struct mgds_channels *channels, unsigned index,
                       const struct mgds_told *there)
{
    const struct mgds_told *mine = &channels->told[index];

    return mine->able && there->able &&
           mgds_ctx()->config.trigger != MGDS_TRIGGER_KERNEL &&
           memcmp(&mine->gpu, &there->gpu, sizeof(mine->gpu)) == 0;
}

/* On the host of this member. */
static enum mgds_lack lack_near(const struct mgds_channels *channels,
                                unsigned index, const struct mgds_member *peer,
                                const struct mgds_told *there)
{
    const struct mgds_context *ctx =
        mgds_gstream_context(channels->stream[index]);

    if (!channels->able[index] || !there->able)
        return MGDS_LACK_NO_RING;
    if (peer->process == channels->process)
        return there->context == ctx->id ? MGDS_LACK_NOTHING
                                         : MGDS_LACK_OTHER_CONTEXT;
    if (shares_gpu(channels, index, there))
        return MGDS_LACK_SAME_GPU;
    return mgds_gpu_is_far(ctx, &there->gpu) ? MGDS_LACK_NO_PEERS
                                             : MGDS_LACK_NOTHING;
}

static enum mgds_lack lack_of(const struct mgds_channels *channels,
                              unsigned index, unsigned rank,
                              const struct mgds_told *there)
{
    const struct mgds_member *peer = &channels->members[rank];
    uint64_t host = channels->members[channels->rank].host;

    if (!has_kernels(channels, index) || host == 0)
        return MGDS_LACK_NO_GPU_HERE;
    if (peer->host == 0)
        return MGDS_LACK_NO_GPU_THERE;
    if (peer->host != host)
        return MGDS_LACK_OTHER_HOST;
    return lack_near(channels, index, peer, there);
}

static const struct mgds_transport *
transport_to(const struct mgds_channels *channels, unsigned rank)
{
    return channels->members[rank].process == channels->process ? &mgds_self
                                                                : &mgds_p2p;
}

static struct mgds_ring_pair *pair_with(const struct mgds_channels *channels,
                                        unsigned index, unsigned rank,
                                        const struct mgds_told *there)
{
    const struct mgds_member *member = &channels->members[rank];
    struct mgds_ring_pair *pair;
    struct mgds_wire_peer *peer;

    if (mgds_wire_peer_get(&peer, member->address, member->address_bytes) < 0)
        return NULL;
    mgds_engine_enter();
    pair = mgds_ring_pair_open(mgds_gstream_context(channels->stream[index]),
                               peer, there->context,
                               member->process == channels->process);
    mgds_engine_leave();
    return pair;
}

static void put_pair(struct mgds_ring_pair *pair)
{
    mgds_engine_enter();
    mgds_ring_pair_put(pair);
    mgds_engine_leave();
}

static enum mgds_lack open_channel(struct mgds_channels *channels,
                                   unsigned index, unsigned rank,
                                   struct mgds_channel **at,
                                   const struct mgds_told *there)
{
    struct mgds_ring_pair *pair = pair_with(channels, index, rank, there);

    if (pair &&
        mgds_channel_create(at, transport_to(channels, rank), pair) == 0)
        return MGDS_LACK_NOTHING;
    if (pair)
        put_pair(pair);
    mgds_debug("no memory for a channel to rank %u: messages are staged", rank);
    return MGDS_LACK_NO_MAPPING;
}

/* What will be offered to the source. Both ends come to the same length. */
static enum mgds_lack make_far(struct mgds_channels *channels, unsigned index,
                               unsigned rank, size_t at,
                               const struct mgds_told *there)
{
    const struct mgds_told *mine = &channels->told[index];
    const struct mgds_far_spec spec = {
        .ctx = mgds_gstream_context(channels->stream[index]),
        .units = mine->far < there->far ? mine->far : there->far,
        .rank = rank,
        .over = mgds_ib_cpu_over};
    struct mgds_refusal refusal;

    if (spec.units == 0)
        return MGDS_LACK_NO_RING;
    return mgds_far_create(&channels->far[at], &spec, &refusal) < 0
               ? mgds_lack_of_refusal(&refusal)
               : MGDS_LACK_NOT_JOINED;
}

static void connect_stream(struct mgds_channels *channels, unsigned index,
                           unsigned rank, unsigned to,
                           const struct mgds_told *there)
{
    size_t at = mgds_channels_at(channels, index, to);
    enum mgds_lack lack = lack_of(channels, index, rank, there);

    if (lack == MGDS_LACK_SAME_GPU)
        channels->shared[index] = true;
    if (lack == MGDS_LACK_NOTHING)
        lack =
            open_channel(channels, index, rank, &channels->channel[at], there);
    if (lack == MGDS_LACK_OTHER_HOST && mgds_channels_is_far(channels, rank))
        lack = make_far(channels, index, rank, at, there);
    channels->lack[at] = (unsigned char)lack;
}

/* As the other one says of these two streams, whatever one of them alone knows
 * against a channel. */
static bool may_offer(const struct mgds_channels *channels, unsigned index,
                      unsigned rank, const struct mgds_told *there)
{
    const struct mgds_member *peer = &channels->members[rank];
    uint64_t host = channels->members[channels->rank].host;

    return host != 0 && peer->host == host &&
           peer->process != channels->process && there->able &&
           channels->told[index].able;
}

void mgds_channels_connect(struct mgds_channels *channels, unsigned rank,
                           const char *description)
{
    unsigned streams = mgds_channels_streams_of(channels, rank);

    for (unsigned i = 0; i < channels->streams; i++)
        for (unsigned j = 0; j < streams; j++) {
            struct mgds_told told;

            memcpy(&told, description + j * sizeof(told), sizeof(told));
            if (may_offer(channels, i, rank, &told))
                channels->offers[rank]++;
            connect_stream(channels, i, rank, channels->base[rank] + j, &told);
        }
}
