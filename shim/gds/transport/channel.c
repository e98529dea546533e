/* One channel: its slots and its done words; see channel.h. */
#include "shim/gds/transport/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/proto/mapping.h"
#include "shim/gds/proto/place.h"
#include "shim/gds/proto/ring.h"
#include "shim/gds/transport/far.h"

/* Words at the end of a region, that say what was copied. */
enum { DONES = 256 };

struct mgds_channel {
    const struct mgds_transport *transport;
    struct mgds_ring_view *view; /* or NULL, and what has a mirror of it */
    struct mgds_far *far;
    char *region;
    struct mgds_places places;
    bool
        hopeless; /* waiting for a slot was in vain, and none came back since */
    /* done words: of what goes, in the own region, and of what comes; NULL:
     * there are none */
    char *back, *there;
    uint16_t done[DONES]; /* those of back that are free */
    unsigned dones;       /* how many */
    struct mgds_mappings ours, theirs;
};

/* Serials of different communicators do not meet, though memory is used again:
 * they begin anywhere below 2^62. */
static uint64_t first_serial(void)
{
    uint64_t word = MGDS_COUNT_FROM;

    if (word)
        return word + 1;
    if (getrandom(&word, sizeof(word), 0) != (ssize_t)sizeof(word))
        word = (uintptr_t)&word;
    return (word >> 2) | 1;
}

static uint32_t dones_of(uint32_t units)
{
    return units >= 4 * DONES ? DONES : 0;
}

uint32_t mgds_channel_slot_units(uint32_t units)
{
    return units - dones_of(units);
}

size_t mgds_channel_units_of(size_t bytes)
{
    return bytes ? (bytes - 1) / sizeof(uint64_t) + 1 : 1;
}

int mgds_channel_create(struct mgds_channel **out,
                        const struct mgds_transport *transport,
                        struct mgds_context *ctx,
                        const struct mgds_ring_handle *handle, uint32_t region)
{
    struct mgds_channel *channel =
        (struct mgds_channel *)mgds_calloc(1, sizeof(*channel));
    int rc;

    if (!channel)
        return -ENOMEM;
    channel->transport = transport;
    rc = mgds_ring_view_create(&channel->view, ctx, handle,
                               transport->one_process);
    if (rc < 0)
        goto drop;
    channel->region = mgds_ring_view_region(channel->view, region);
    rc = mgds_places_init(&channel->places,
                          mgds_channel_slot_units(handle->units),
                          first_serial());
    if (rc < 0)
        goto close;
    *out = channel;
    return 0;
close:
    mgds_ring_view_destroy(channel->view);
drop:
    free(channel);
    return rc;
}

int mgds_channel_create_far(struct mgds_channel **out,
                            const struct mgds_transport *transport,
                            struct mgds_far *far, uint32_t units)
{
    struct mgds_channel *channel =
        (struct mgds_channel *)mgds_calloc(1, sizeof(*channel));
    int rc;

    if (!channel)
        return -ENOMEM;
    rc = mgds_places_init(&channel->places, mgds_channel_slot_units(units),
                          first_serial());
    if (rc < 0) {
        free(channel);
        return rc;
    }
    channel->transport = transport;
    channel->far = far;
    channel->region = mgds_far_mirror(far);
    *out = channel;
    return 0;
}

void mgds_channel_pair(struct mgds_channel *channel,
                       const struct mgds_ring *ring, uint32_t region,
                       const struct mgds_ring_handle *there)
{
    struct mgds_ring_handle here = {.regions = 0};
    uint32_t dones;

    if (!ring)
        return;
    mgds_ring_tell(ring, &here);
    dones = dones_of(here.units);
    if (dones == 0 || dones_of(there->units) == 0)
        return;
    channel->back = mgds_ring_region(ring, region) +
                    (here.units - dones) * sizeof(struct mgds_unit);
    channel->there =
        channel->region + (there->units - dones) * sizeof(struct mgds_unit);
    while (channel->dones < dones) {
        channel->done[channel->dones] = (uint16_t)channel->dones;
        channel->dones++;
    }
}

void mgds_channel_destroy(struct mgds_channel *channel)
{
    if (!channel)
        return;
    mgds_mappings_clear(&channel->ours);
    mgds_mappings_clear(&channel->theirs);
    mgds_ring_view_destroy(channel->view);
    mgds_far_destroy(channel->far);
    mgds_places_fini(&channel->places);
    free(channel);
}

const struct mgds_transport *
mgds_channel_transport(const struct mgds_channel *channel)
{
    return channel->transport;
}

bool mgds_channel_can_get(const struct mgds_channel *channel)
{
    return channel && channel->back;
}

struct mgds_far *mgds_channel_far(const struct mgds_channel *channel)
{
    return channel->far;
}

bool mgds_channel_is_open(const struct mgds_channel *channel)
{
    return !channel->far || mgds_far_is_open(channel->far);
}

static bool take_units(struct mgds_channel *channel, size_t units,
                       struct mgds_slot *slot)
{
    if (!mgds_channel_is_open(channel) ||
        mgds_places_take(&channel->places, (uint32_t)units, &slot->units,
                         &slot->serial) < 0)
        return false;
    slot->address =
        channel->region + (size_t)slot->units * sizeof(struct mgds_unit);
    return true;
}

bool mgds_channel_take_slot(struct mgds_channel *channel, size_t bytes,
                            struct mgds_slot *slot)
{
    if (!take_units(channel, mgds_channel_units_of(bytes), slot))
        return false;
    mgds_count(ring_sends);
    return true;
}

void mgds_channel_give_slot(struct mgds_channel *channel,
                            const struct mgds_slot *slot)
{
    channel->hopeless = false;
    if (mgds_places_give(&channel->places, slot->serial) < 0)
        mgds_err("slot %" PRIu64 " of a ring came back, but was not out: it "
                 "is passed over",
                 slot->serial);
}

bool mgds_channel_is_full(const struct mgds_channel *channel, size_t bytes,
                          bool direct)
{
    return (direct || !channel->hopeless) && mgds_channel_is_open(channel) &&
           bytes / sizeof(uint64_t) < channel->places.units &&
           mgds_places_out(&channel->places) > 0;
}

bool mgds_channel_is_spent(const struct mgds_channel *channel)
{
    return mgds_channel_can_get(channel) && !channel->hopeless &&
           channel->dones == 0;
}

uint64_t mgds_channel_out(const struct mgds_channel *channel)
{
    return mgds_places_out(&channel->places);
}

void mgds_channel_despair(struct mgds_channel *channel)
{
    channel->hopeless = true;
}

bool mgds_channel_reserve(struct mgds_channel *channel, struct mgds_slot *slot,
                          uint32_t *done)
{
    if (channel->dones == 0 || !take_units(channel, 1, slot))
        return false;
    *done = channel->done[--channel->dones];
    return true;
}

void mgds_channel_give_done(struct mgds_channel *channel, uint32_t done)
{
    channel->hopeless = false;
    channel->done[channel->dones++] = (uint16_t)done;
}

static uint64_t *word_of(char *words, uint32_t done)
{
    return (uint64_t *)(void *)(words + done * sizeof(struct mgds_unit));
}

uint64_t *mgds_channel_done_here(const struct mgds_channel *channel,
                                 uint32_t done)
{
    return word_of(channel->back, done);
}

uint64_t *mgds_channel_done_there(const struct mgds_channel *channel,
                                  uint32_t done)
{
    return channel->there && done < DONES ? word_of(channel->there, done)
                                          : NULL;
}

struct mgds_mappings *mgds_channel_ours(struct mgds_channel *channel)
{
    return &channel->ours;
}

struct mgds_mappings *mgds_channel_theirs(struct mgds_channel *channel)
{
    return &channel->theirs;
}
