/* Rings and done words are given and taken; see offer.h. */
#include "shim/gds/transport/offer.h"

#include <sched.h>
#include <string.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/transport/base_ring.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels_state.h"
#include "shim/gds/transport/far_rings.h"
#include "shim/gds/transport/own_rings.h"
#include "shim/gds/wire/wire.h"

/* What a process gives itself comes by itself, after so long at most, ns. */
enum { SETTLE_NS = 2000000000 };

static size_t channels_of(const struct mgds_channels *channels)
{
    return mgds_channels_at(channels, channels->streams, 0);
}

static struct mgds_ring_pair *pair_of(const struct mgds_channels *channels,
                                      size_t at)
{
    const struct mgds_channel *channel = channels->channel[at];

    return channel ? mgds_channel_pair(channel) : NULL;
}

/* The pair of that channel with another process, or NULL. */
static struct mgds_ring_pair *far_pair_of(const struct mgds_channels *channels,
                                          size_t at)
{
    struct mgds_ring_pair *pair = pair_of(channels, at);

    return pair && !pair->self ? pair : NULL;
}

bool mgds_channels_offer(const struct mgds_channels *channels)
{
    bool fresh = false;

    for (size_t i = 0; i < channels_of(channels); i++) {
        struct mgds_ring_pair *pair = far_pair_of(channels, i);

        if (!pair)
            continue;
        fresh |= mgds_own_rings_give_base(pair, mgds_base_ring_units());
        fresh |= mgds_own_rings_give_dones(pair);
    }
    return fresh;
}

/* Both sides count alike: streams that may have channels, of each. */
size_t mgds_channels_offer_bytes(const struct mgds_channels *channels,
                                 unsigned rank)
{
    return (size_t)channels->offers[rank] * sizeof(struct mgds_offer);
}

static struct mgds_offer offer_of(const struct mgds_ring_pair *pair)
{
    struct mgds_offer offer = {.from = pair->here->id, .to = pair->there};

    mgds_engine_enter();
    offer.ring = mgds_own_rings_tell(pair->base.given, &offer.of_ring);
    if (pair->dones)
        offer.dones = mgds_own_rings_tell(mgds_own_ring_number(pair->dones),
                                          &offer.of_dones);
    mgds_engine_leave();
    return offer;
}

void mgds_channels_write_offer(const struct mgds_channels *channels,
                               unsigned rank, char *out)
{
    size_t room = mgds_channels_offer_bytes(channels, rank);

    memset(out, 0, room);
    for (unsigned i = 0; i < channels->streams; i++)
        for (unsigned to = channels->base[rank]; to < channels->base[rank + 1];
             to++) {
            const struct mgds_ring_pair *pair =
                far_pair_of(channels, mgds_channels_at(channels, i, to));
            struct mgds_offer offer;

            if (!pair || room < sizeof(offer))
                continue;
            offer = offer_of(pair);
            memcpy(out, &offer, sizeof(offer));
            out += sizeof(offer);
            room -= sizeof(offer);
        }
}

/* Which of the channels to that rank it is for: all of them have it. */
static struct mgds_ring_pair *
find_addressed(const struct mgds_channels *channels, unsigned rank,
               const struct mgds_offer *offer)
{
    for (unsigned i = 0; i < channels->streams; i++)
        for (unsigned to = channels->base[rank]; to < channels->base[rank + 1];
             to++) {
            struct mgds_ring_pair *pair =
                far_pair_of(channels, mgds_channels_at(channels, i, to));

            if (pair && pair->there == offer->from &&
                pair->here->id == offer->to)
                return pair;
        }
    return NULL;
}

static void take_one(struct mgds_ring_pair *pair,
                     const struct mgds_offer *offer)
{
    int rc = 0;

    if (offer->ring)
        rc = mgds_far_take(pair, offer->ring, &offer->of_ring, false);
    if (offer->dones)
        mgds_far_take(pair, offer->dones, &offer->of_dones, true);
    mgds_engine_enter();
    mgds_base_ring_settle(pair, rc);
    mgds_engine_leave();
}

/* No stream here has a channel to there, whatever that one thought. */
static void return_one(const struct mgds_channels *channels, unsigned rank,
                       const struct mgds_offer *offer)
{
    const struct mgds_member *member = &channels->members[rank];
    const struct mgds_ring_ends ends = {offer->from, offer->to};
    struct mgds_wire_peer *peer;

    if (mgds_wire_peer_get(&peer, member->address, member->address_bytes) < 0)
        return;
    mgds_engine_enter();
    if (offer->ring)
        mgds_ring_pair_return(member->process, &ends, offer->ring, false);
    if (offer->dones)
        mgds_ring_pair_return(member->process, &ends, offer->dones, true);
    mgds_engine_leave();
    mgds_wire_peer_put(peer);
}

void mgds_channels_take_offer(const struct mgds_channels *channels,
                              unsigned rank, const char *in)
{
    for (unsigned i = 0; i < channels->offers[rank]; i++) {
        struct mgds_ring_pair *pair;
        struct mgds_offer offer;

        memcpy(&offer, in + i * sizeof(offer), sizeof(offer));
        pair = find_addressed(channels, rank, &offer);
        if (pair)
            take_one(pair, &offer);
        else if (offer.ring || offer.dones)
            return_one(channels, rank, &offer);
    }
}

/* Is anything that this process gives itself coming yet? */
static bool open_own(const struct mgds_channels *channels)
{
    bool coming = false;

    mgds_engine_enter();
    for (size_t i = 0; i < channels_of(channels); i++) {
        const struct mgds_ring_pair *pair = pair_of(channels, i);

        if (pair && pair->self)
            coming |= mgds_channel_open(channels->channel[i], SETTLE_NS);
        else if (pair)
            mgds_channel_judge(channels->channel[i]);
    }
    mgds_engine_leave();
    return coming;
}

void mgds_channels_settle(const struct mgds_channels *channels)
{
    while (open_own(channels)) {
        mgds_wire_progress();
        mgds_works_run_kind(MGDS_WORK_MAKE_RING, MGDS_WORK_BY_HOST);
        mgds_works_run_kind(MGDS_WORK_MAP_RING, MGDS_WORK_BY_HOST);
        sched_yield();
    }
    for (unsigned i = 0; i < channels->peers; i++)
        if (!mgds_channels_is_far(channels, i))
            mgds_channels_say(channels, i);
}
