/* The channels of a member: what they have, and their end; see channels.h. */
#include "shim/gds/transport/channels.h"

#include <stdlib.h>

#include "shim/base/config.h"
#include "shim/base/log.h"
#include "shim/gds/comm/comm.h"
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
    struct mgds_channel *channel;

    if (!channels || index >= channels->streams)
        return NULL;
    channel = channels->channel[mgds_channels_at(channels, index, to)];
    return channel && mgds_channel_error(channel) == 0 ? channel : NULL;
}

static enum mgds_lack lack_of(const struct mgds_channels *channels, size_t at)
{
    const struct mgds_channel *channel = channels->channel[at];

    return channel && mgds_channel_error(channel)
               ? mgds_lack_by(mgds_channel_error(channel))
               : (enum mgds_lack)channels->lack[at];
}

const struct mgds_hindrance *
mgds_channels_why(const struct mgds_channels *channels, unsigned index,
                  unsigned to)
{
    return &lacks[channels
                      ? lack_of(channels, mgds_channels_at(channels, index, to))
                      : MGDS_LACK_NOTHING_HEARD];
}

bool mgds_channels_can_take(const struct mgds_channels *channels,
                            unsigned index)
{
    return channels && channels->able[index] && !channels->shared[index];
}

bool mgds_channels_share_gpu(const struct mgds_channels *channels,
                             unsigned index)
{
    return channels && channels->shared[index];
}

uint64_t mgds_channels_far_place(const struct mgds_channels *channels,
                                 unsigned index, unsigned source,
                                 uint32_t units, size_t count)
{
    const struct mgds_channel *channel =
        mgds_channels_find(channels, index, source);
    const struct mgds_far *far = channel ? mgds_channel_far(channel) : NULL;

    return far ? mgds_far_place(far, units, count) : 0;
}

void mgds_channels_say(const struct mgds_channels *channels, unsigned rank)
{
    unsigned to = channels->base[rank];
    const struct mgds_channel *channel = mgds_channels_find(channels, 0, to);

    if (channels->streams == 0)
        return;
    if (channel)
        mgds_info("rank %u: enqueued messages in GPU memory take %s", rank,
                  mgds_path_names[mgds_channel_transport(channel)->path]);
    else
        mgds_info("rank %u: enqueued messages take host: %s", rank,
                  mgds_channels_why(channels, 0, to)->why);
}

static bool any_freed; /* atomic */

bool mgds_channels_any_freed(void)
{
    return __atomic_load_n(&any_freed, __ATOMIC_RELAXED);
}

void mgds_channels_note_freed(bool freed)
{
    __atomic_store_n(&any_freed, freed, __ATOMIC_RELAXED);
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
    free(channels->far);
    free(channels->offers);
    free(channels->shared);
    free(channels->channel);
    free(channels->lack);
    free(channels->told);
    free(channels->able);
    free(channels->base);
    free(channels);
    mgds_channels_note_freed(true);
}
