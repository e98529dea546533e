/* The channels of a member are made: own rings, and channels to the rings that
 * other members describe; see channels.h and comm.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/ctx.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels_state.h"
#include "shim/gds/transport/far.h"

static unsigned streams_of(const struct mgds_member *member)
{
    return member->streams ? member->streams : 1;
}

static bool is_beside(const struct mgds_channels *channels, unsigned rank)
{
    uint64_t host = channels->members[channels->rank].host;

    return host && channels->members[rank].host == host;
}

/* Regions for the sources of such members, behind those that there are. */
static void number_regions(struct mgds_channels *channels,
                           bool (*is_such)(const struct mgds_channels *channels,
                                           unsigned rank))
{
    for (unsigned i = 0; i < channels->peers; i++) {
        if (!is_such(channels, i))
            continue;
        for (unsigned s = channels->base[i]; s < channels->base[i + 1]; s++)
            channels->region[s] = (int)channels->regions++;
    }
}

/* Members of one host count their sources in the same order, each for itself:
 * so all of them know each other's regions, if those of others are behind. */
static int number_sources(struct mgds_channels *channels)
{
    const struct mgds_member *members = channels->members;
    unsigned sources = 0;

    channels->base = (unsigned *)mgds_calloc(channels->peers + 1, sizeof(int));
    if (!channels->base)
        return -ENOMEM;
    for (unsigned i = 0; i < channels->peers; i++)
        channels->base[i + 1] = sources += streams_of(&members[i]);
    channels->region = (int *)mgds_calloc(sources, sizeof(int));
    if (!channels->region)
        return -ENOMEM;
    for (unsigned s = 0; s < sources; s++)
        channels->region[s] = -1;
    number_regions(channels, is_beside);
    number_regions(channels, mgds_channels_is_far);
    return 0;
}

static bool has_kernels(const struct mgds_channels *channels, unsigned index)
{
    return channels->stream[index] &&
           mgds_gstream_has_kernels(channels->stream[index]);
}

static uint32_t units_of_region(const struct mgds_channels *channels)
{
    uint64_t bytes = mgds_ctx()->config.ring;
    uint64_t share = mgds_ctx()->config.ring_total / channels->regions;

    bytes = bytes < share ? bytes : share;
    return (uint32_t)(bytes / sizeof(struct mgds_unit));
}

/* Without a ring messages are staged: that is no error. */
static void make_rings(struct mgds_channels *channels)
{
    uint32_t units;

    if (channels->regions == 0 || mgds_ctx()->config.eager == 0)
        return;
    units = units_of_region(channels);
    for (unsigned i = 0; i < channels->streams && units > 0; i++) {
        int rc;

        if (!has_kernels(channels, i))
            continue;
        rc = mgds_ring_create(&channels->ring[i],
                              mgds_gstream_context(channels->stream[i]),
                              channels->regions, units);
        if (rc < 0) {
            errno = -rc;
            mgds_debug("no ring for short messages: %m: they are staged");
        }
    }
}

static int make_tables(struct mgds_channels *channels)
{
    unsigned streams = channels->streams;
    size_t pairs = (size_t)streams * channels->base[channels->peers];

    channels->ring =
        (struct mgds_ring **)mgds_calloc(streams, sizeof(struct mgds_ring *));
    channels->channel = (struct mgds_channel **)mgds_calloc(
        pairs, sizeof(struct mgds_channel *));
    channels->lack = (unsigned char *)mgds_calloc(pairs, 1);
    channels->shared = (bool *)mgds_calloc(streams, sizeof(bool));
    if (!channels->ring || !channels->channel || !channels->lack ||
        !channels->shared)
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
    make_rings(channels);
    *out = channels;
    return 0;
}

size_t mgds_channels_description(unsigned streams)
{
    return streams * sizeof(struct mgds_ring_handle);
}

void mgds_channels_describe(const struct mgds_channels *channels, char *out)
{
    for (unsigned i = 0; i < channels->streams; i++) {
        struct mgds_ring_handle handle = {.regions = 0};

        if (channels->ring[i])
            mgds_ring_tell(channels->ring[i], &handle);
        memcpy(out + i * sizeof(handle), &handle, sizeof(handle));
    }
}

/* Processes that share a GPU have it in turns: while one waits in a kernel the
 * other one, which it waits for, does not run. There waits are left to memory
 * operations, unless kernels are asked for. */
static bool shares_gpu(const struct mgds_channels *channels, unsigned index,
                       const struct mgds_ring_handle *handle)
{
    struct mgds_ring_handle mine;

    if (!channels->ring[index] || handle->regions == 0 ||
        mgds_ctx()->config.trigger == MGDS_TRIGGER_KERNEL)
        return false;
    mgds_ring_tell(channels->ring[index], &mine);
    return memcmp(&mine.gpu, &handle->gpu, sizeof(mine.gpu)) == 0;
}

static enum mgds_lack lack_of(const struct mgds_channels *channels,
                              unsigned index, unsigned rank,
                              const struct mgds_ring_handle *handle)
{
    const struct mgds_member *there = &channels->members[rank];
    int mine = channels->region[channels->base[channels->rank] + index];

    if (!has_kernels(channels, index) || mine < 0)
        return MGDS_LACK_NO_GPU_HERE;
    if (there->host == 0)
        return MGDS_LACK_NO_GPU_THERE;
    if (there->host != channels->members[channels->rank].host)
        return MGDS_LACK_OTHER_HOST;
    if ((uint32_t)mine >= handle->regions)
        return MGDS_LACK_NO_RING;
    if (there->process != channels->process &&
        shares_gpu(channels, index, handle))
        return MGDS_LACK_SAME_GPU;
    return MGDS_LACK_NOTHING;
}

static enum mgds_lack lack_by(int rc)
{
    if (rc == -ENOTSUP)
        return MGDS_LACK_NO_PEERS;
    return rc == -EXDEV ? MGDS_LACK_OTHER_CONTEXT : MGDS_LACK_NO_MAPPING;
}

static const struct mgds_transport *
transport_to(const struct mgds_channels *channels, unsigned rank)
{
    return channels->members[rank].process == channels->process ? &mgds_self
                                                                : &mgds_p2p;
}

/* To the source `to`, which is of the rank. */
static enum mgds_lack open_channel(struct mgds_channels *channels,
                                   unsigned index, unsigned rank, unsigned to,
                                   const struct mgds_ring_handle *handle)
{
    int mine = channels->region[channels->base[channels->rank] + index];
    struct mgds_channel **at =
        &channels->channel[mgds_channels_at(channels, index, to)];
    int rc = mgds_channel_create(at, transport_to(channels, rank),
                                 mgds_gstream_context(channels->stream[index]),
                                 handle, (uint32_t)mine);

    if (rc < 0) {
        errno = -rc;
        mgds_debug("no channel to rank %u: %m: messages are staged", rank);
        return lack_by(rc);
    }
    mgds_channel_pair(*at, channels->ring[index],
                      (uint32_t)channels->region[to], handle);
    return MGDS_LACK_NOTHING;
}

/* What will be offered to the source. */
static enum mgds_lack make_far(struct mgds_channels *channels, unsigned index,
                               unsigned rank, unsigned to,
                               const struct mgds_ring_handle *handle)
{
    const struct mgds_far_spec spec = {
        .ctx = mgds_gstream_context(channels->stream[index]),
        .ring = channels->ring[index],
        .region = (uint32_t)channels->region[to],
        .units = handle->units,
        .rank = rank,
        .over = mgds_ib_cpu_over};
    struct mgds_refusal refusal;

    if (!spec.ring || handle->regions == 0)
        return MGDS_LACK_NO_RING;
    return mgds_far_create(
               &channels->far[mgds_channels_at(channels, index, to)], &spec,
               &refusal) < 0
               ? mgds_lack_of_refusal(&refusal)
               : MGDS_LACK_NOT_JOINED;
}

static void connect_stream(struct mgds_channels *channels, unsigned index,
                           unsigned rank, unsigned to_index,
                           const struct mgds_ring_handle *handle)
{
    unsigned to = channels->base[rank] + to_index;
    enum mgds_lack lack = lack_of(channels, index, rank, handle);

    if (lack == MGDS_LACK_SAME_GPU)
        channels->shared[index] = true;
    if (lack == MGDS_LACK_NOTHING)
        lack = open_channel(channels, index, rank, to, handle);
    if (lack == MGDS_LACK_OTHER_HOST && mgds_channels_is_far(channels, rank))
        lack = make_far(channels, index, rank, to, handle);
    channels->lack[mgds_channels_at(channels, index, to)] = (unsigned char)lack;
}

void mgds_channels_connect(struct mgds_channels *channels, unsigned rank,
                           const char *description)
{
    unsigned streams = mgds_channels_streams_of(channels, rank);

    for (unsigned i = 0; i < channels->streams; i++)
        for (unsigned j = 0; j < streams; j++) {
            struct mgds_ring_handle handle;

            memcpy(&handle, description + j * sizeof(handle), sizeof(handle));
            connect_stream(channels, i, rank, j, &handle);
        }
    if (channels->streams > 0 && !mgds_channels_is_far(channels, rank))
        mgds_channels_say(channels, rank);
}
