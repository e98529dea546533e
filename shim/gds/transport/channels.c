/* The channels of a member: what they have, and their end; see channels.h. */
#include "shim/gds/transport/channels.h"

#include <stdlib.h>

#include "device/impl/mem.h"
#include "shim/base/config.h"
#include "shim/base/log.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels_state.h"
#include "shim/gds/transport/far.h"

static const struct mgds_hindrance lacks[] = {
#define MGDS_LACK(name, why, remedy) [MGDS_LACK_##name] = {why, remedy},
#include "shim/gds/transport/hindrances.def"
};

struct mgds_channel *mgds_channels_find(const struct mgds_channels *channels,
                                        unsigned index, unsigned to)
{
    if (!channels || index >= channels->streams)
        return NULL;
    return channels->channel[mgds_channels_at(channels, index, to)];
}

const struct mgds_hindrance *
mgds_channels_why(const struct mgds_channels *channels, unsigned index,
                  unsigned to)
{
    return &lacks[channels
                      ? channels->lack[mgds_channels_at(channels, index, to)]
                      : MGDS_LACK_NOTHING_HEARD];
}

bool mgds_channels_can_take(const struct mgds_channels *channels,
                            unsigned index)
{
    return channels && channels->ring[index] && !channels->shared[index];
}

bool mgds_channels_share_gpu(const struct mgds_channels *channels,
                             unsigned index)
{
    return channels && channels->shared[index];
}

bool mgds_channels_hold(const struct mgds_channels *channels, unsigned index,
                        unsigned source, uint32_t units, size_t bytes)
{
    uint32_t room;

    if (!channels || !channels->ring[index] || channels->region[source] < 0)
        return false;
    room = mgds_channel_slot_units(mgds_ring_units(channels->ring[index]));
    return units < room && mgds_channel_units_of(bytes) <= room - units;
}

uint64_t mgds_channels_units(const struct mgds_channels *channels,
                             unsigned index, unsigned source, uint32_t units)
{
    char *region = mgds_ring_region(channels->ring[index],
                                    (uint32_t)channels->region[source]);

    return (uintptr_t)region + units * sizeof(struct mgds_unit);
}

void mgds_channels_say(const struct mgds_channels *channels, unsigned rank)
{
    unsigned to = channels->base[rank];
    const struct mgds_channel *channel = mgds_channels_find(channels, 0, to);

    if (channel)
        mgds_info("rank %u: enqueued messages in GPU memory take %s", rank,
                  mgds_path_names[mgds_channel_transport(channel)->path]);
    else
        mgds_info("rank %u: enqueued messages take host: %s", rank,
                  mgds_channels_why(channels, 0, to)->why);
}

void mgds_channels_get(struct mgds_channels *channels)
{
    __atomic_fetch_add(&channels->refs, 1, __ATOMIC_RELAXED);
}

void mgds_channels_put(struct mgds_channels *channels)
{
    size_t count;

    if (!channels ||
        __atomic_sub_fetch(&channels->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    count = channels->base
                ? (size_t)channels->streams * channels->base[channels->peers]
                : 0;
    for (size_t i = 0; channels->channel && i < count; i++)
        mgds_channel_destroy(channels->channel[i]);
    for (size_t i = 0; channels->far && i < count; i++)
        mgds_far_destroy(channels->far[i]);
    for (unsigned i = 0; channels->ring && i < channels->streams; i++)
        mgds_ring_destroy(channels->ring[i]);
    free(channels->shared);
    free(channels->channel);
    free(channels->far);
    free(channels->lack);
    free(channels->ring);
    free(channels->region);
    free(channels->base);
    free(channels);
}
