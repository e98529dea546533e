/* One channel: its slots and its done words; see channel.h. */
#include "shim/gds/transport/channel.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "device/impl/mem.h"
#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/proto/mapping.h"
#include "shim/gds/transport/base_ring.h"
#include "shim/gds/transport/dones.h"
#include "shim/gds/transport/far.h"
#include "shim/gds/transport/far_rings.h"
#include "shim/gds/transport/own_rings.h"

/* A larger ring has so many times the units. And a ring has room for so many of
 * its messages: places come back several at a time (credit.h), and whoever
 * finds none waits. */
enum { GROWTH = 8, MESSAGES = MGDS_TAKEN_MOST };

struct mgds_channel {
    const struct mgds_transport *transport;
    struct mgds_ring_pair *pair; /* a reference; or NULL, and */
    struct mgds_far *far;
    struct mgds_far_ring *ring; /* its own; NULL: it has the pair's alone */
    struct mgds_ring_ask ask;
    uint32_t wanted; /* units that were asked for last */
    uint64_t denied; /* when less came than that, ns; 0: it came */
    uint64_t out;    /* messages that have a slot, in whatever ring */
    int error;       /* atomic; none comes once it is in use: who has found the
                        channel finds it again */
    bool barred;     /* no ring of the other process's can be mapped */
    bool
        hopeless; /* waiting for a slot was in vain, and none came back since */
    struct mgds_mappings ours, theirs;
};

size_t mgds_channel_units_of(size_t bytes)
{
    return bytes ? (bytes - 1) / sizeof(uint64_t) + 1 : 1;
}

int mgds_channel_create(struct mgds_channel **out,
                        const struct mgds_transport *transport,
                        struct mgds_ring_pair *pair)
{
    struct mgds_channel *channel =
        (struct mgds_channel *)mgds_calloc(1, sizeof(*channel));

    if (!channel)
        return -ENOMEM;
    channel->transport = transport;
    channel->pair = pair;
    mgds_engine_enter();
    mgds_base_ring_join(pair);
    mgds_engine_leave();
    *out = channel;
    return 0;
}

int mgds_channel_create_far(struct mgds_channel **out,
                            const struct mgds_transport *transport,
                            struct mgds_far *far)
{
    struct mgds_channel *channel =
        (struct mgds_channel *)mgds_calloc(1, sizeof(*channel));
    int rc;

    if (!channel)
        return -ENOMEM;
    rc =
        mgds_far_fix(&channel->ring, mgds_far_mirror(far), mgds_far_units(far));
    if (rc < 0) {
        free(channel);
        return rc;
    }
    channel->transport = transport;
    channel->far = far;
    *out = channel;
    return 0;
}

static void leave_pair(struct mgds_channel *channel)
{
    mgds_engine_enter();
    mgds_far_forget(channel->pair, &channel->ask);
    if (channel->ring)
        mgds_far_leave(channel->ring);
    mgds_base_ring_part(channel->pair);
    mgds_ring_pair_put(channel->pair);
    mgds_engine_leave();
}

void mgds_channel_destroy(struct mgds_channel *channel)
{
    if (!channel)
        return;
    mgds_mappings_clear(&channel->ours);
    mgds_mappings_clear(&channel->theirs);
    if (channel->pair) {
        leave_pair(channel);
    } else {
        mgds_far_unfix(channel->ring);
        mgds_far_destroy(channel->far);
    }
    free(channel);
}

const struct mgds_transport *
mgds_channel_transport(const struct mgds_channel *channel)
{
    return channel->transport;
}

int mgds_channel_error(const struct mgds_channel *channel)
{
    return __atomic_load_n(&channel->error, __ATOMIC_RELAXED);
}

struct mgds_ring_pair *mgds_channel_pair(const struct mgds_channel *channel)
{
    return channel->pair;
}

struct mgds_far *mgds_channel_far(const struct mgds_channel *channel)
{
    return channel->far;
}

bool mgds_channel_can_get(const struct mgds_channel *channel)
{
    return channel && channel->pair;
}

bool mgds_channel_is_open(const struct mgds_channel *channel)
{
    return !channel->far || mgds_far_is_open(channel->far);
}

/* A ring of its own. */

/* Where the next message goes. */
static struct mgds_far_ring *ring_of(const struct mgds_channel *channel)
{
    return channel->ring ? channel->ring : channel->pair->base.ring;
}

/* For messages of so many units. full: there is no place for another one. */
static uint32_t units_wanted(const struct mgds_channel *channel, size_t units,
                             bool full)
{
    const struct mgds_far_ring *ring = ring_of(channel);
    size_t least = MGDS_RING_FIRST, most = mgds_ring_units_most();

    if (ring && full)
        least = (size_t)ring->units * GROWTH;
    if (least < MESSAGES * units)
        least = MESSAGES * units;
    return (uint32_t)(least < most ? least : most);
}

/* Is a ring worth more than where messages go now? One of its own is, where it
 * is as long. */
static bool is_better(const struct mgds_channel *channel,
                      const struct mgds_far_ring *ring)
{
    const struct mgds_far_ring *has = ring_of(channel);

    return !has || ring->units > has->units ||
           (ring->units == has->units && !channel->ring);
}

static void adopt_ring(struct mgds_channel *channel)
{
    struct mgds_far_ring *ring = channel->ask.ring;

    channel->ask.state = MGDS_ASK_NONE;
    if (!ring) /* nobody used it for so long that it has gone again */
        return;
    channel->denied = ring->units < channel->wanted ? mgds_clock_ns() : 0;
    if (!is_better(channel, ring)) {
        mgds_far_leave(ring);
        return;
    }
    if (channel->ring)
        mgds_far_leave(channel->ring);
    mgds_far_use(ring, &channel->ring);
    channel->hopeless = false;
}

/* A ring that cannot be mapped will not be tomorrow, either. */
static void hear_refusal(struct mgds_channel *channel)
{
    int error = channel->ask.error;

    if (!mgds_ring_error_passes(error) && !ring_of(channel))
        channel->barred = true;
    channel->denied = mgds_clock_ns();
    channel->ask.state = MGDS_ASK_NONE;
}

static void hear_answer(struct mgds_channel *channel)
{
    if (channel->ask.state == MGDS_ASK_GOT)
        adopt_ring(channel);
    if (channel->ask.state == MGDS_ASK_REFUSED)
        hear_refusal(channel);
}

/* A pair's ring that is full is full of others' messages, too. */
static bool is_large_enough(const struct mgds_channel *channel, uint32_t units,
                            bool full)
{
    const struct mgds_far_ring *ring = ring_of(channel);

    return ring && ring->units >= units && (channel->ring || !full);
}

/* A ring that came instead of a larger one, and is no better, lies idle: while
 * it does another ask would bring less, and take that from others. */
static bool may_ask(const struct mgds_channel *channel)
{
    if (channel->ask.state != MGDS_ASK_NONE || channel->barred ||
        mgds_channel_error(channel))
        return false;
    return channel->denied == 0 ||
           (mgds_clock_ns() - channel->denied > MGDS_RING_AGAIN_NS &&
            TAILQ_EMPTY(&channel->pair->idle));
}

static void pursue_ring(struct mgds_channel *channel, size_t units, bool full)
{
    const struct mgds_far_ring *before = ring_of(channel);
    uint32_t wanted = units_wanted(channel, units, full);
    bool coming = mgds_base_ring_open(channel->pair);

    hear_answer(channel);
    if (ring_of(channel) != before || coming || !may_ask(channel) ||
        is_large_enough(channel, wanted, full))
        return;
    channel->wanted = wanted;
    mgds_far_ask(channel->pair, &channel->ask, wanted);
    hear_answer(channel);
}

static bool is_recent(uint64_t since, uint64_t ns)
{
    return mgds_clock_ns() - since < ns;
}

static bool are_dones_coming(const struct mgds_ring_pair *pair)
{
    return pair->state == MGDS_DONES_MAKING || pair->state == MGDS_DONES_TOLD;
}

static bool is_asked(const struct mgds_ring_ask *ask)
{
    return ask->state == MGDS_ASK_ASKED;
}

void mgds_channel_judge(struct mgds_channel *channel)
{
    int error = mgds_base_ring_error(channel->pair);

    if (error)
        __atomic_store_n(&channel->error, error, __ATOMIC_RELAXED);
}

bool mgds_channel_open(struct mgds_channel *channel, uint64_t ns)
{
    struct mgds_ring_pair *pair = channel->pair;

    mgds_base_ring_open(pair);
    mgds_dones_open(pair);
    mgds_channel_judge(channel);
    return (is_asked(&pair->base.ask) && is_recent(pair->base.ask.since, ns)) ||
           (are_dones_coming(pair) && is_recent(pair->since, ns));
}

/* A larger ring, or the pair's. */
static bool is_ring_coming(const struct mgds_channel *channel)
{
    return is_asked(&channel->ask) || is_asked(&channel->pair->base.ask);
}

bool mgds_channel_is_coming(struct mgds_channel *channel, size_t bytes,
                            bool patient)
{
    size_t units = mgds_channel_units_of(bytes);
    const struct mgds_far_ring *before = ring_of(channel);

    if (channel->far || units > mgds_ring_units_most())
        return false;
    pursue_ring(channel, units, true);
    return ring_of(channel) != before || (patient && is_ring_coming(channel));
}

bool mgds_channel_may_get(const struct mgds_channel *channel)
{
    return channel->pair && ring_of(channel) &&
           channel->pair->state == MGDS_DONES_READY;
}

bool mgds_channel_words_are_coming(struct mgds_channel *channel, bool patient)
{
    bool has_words = mgds_dones_open(channel->pair) == MGDS_DONES_READY;
    bool coming =
        !ring_of(channel) && mgds_channel_is_coming(channel, 0, patient);

    return has_words ? coming : patient && are_dones_coming(channel->pair);
}

/* Its slots. */

static bool take_units(struct mgds_channel *channel, size_t units,
                       struct mgds_slot *slot)
{
    struct mgds_far_ring *ring = ring_of(channel);

    if (!ring || !mgds_channel_is_open(channel) ||
        mgds_places_take(&ring->places, (uint32_t)units, &slot->units,
                         &slot->serial) < 0)
        return false;
    slot->address = ring->base + (size_t)slot->units * sizeof(struct mgds_unit);
    slot->ring = ring;
    channel->out++;
    return true;
}

bool mgds_channel_take_slot(struct mgds_channel *channel, size_t bytes,
                            struct mgds_slot *slot)
{
    size_t units = mgds_channel_units_of(bytes);

    if (!take_units(channel, units, slot))
        return false;
    mgds_count(ring_sends);
    if (channel->pair && slot->ring->units < MESSAGES * units)
        /* before it is full */
        pursue_ring(channel, units, false);
    return true;
}

void mgds_channel_give_slot(struct mgds_channel *channel,
                            const struct mgds_slot *slot)
{
    channel->hopeless = false;
    channel->out--;
    if (mgds_far_give(slot->ring, slot->serial) < 0)
        mgds_err("slot %" PRIu64 " of a ring came back, but was not out: it "
                 "is passed over",
                 slot->serial);
}

uint32_t mgds_channel_ring_number(const struct mgds_slot *slot)
{
    return slot->ring->number;
}

bool mgds_channel_is_full(const struct mgds_channel *channel, size_t bytes,
                          bool direct)
{
    const struct mgds_far_ring *ring = ring_of(channel);

    return (direct || !channel->hopeless) && ring &&
           mgds_channel_is_open(channel) &&
           mgds_channel_units_of(bytes) <= ring->units &&
           mgds_places_out(&ring->places) > 0;
}

bool mgds_channel_is_spent(const struct mgds_channel *channel)
{
    return !channel->hopeless && mgds_channel_may_get(channel) &&
           channel->pair->frees == 0;
}

uint64_t mgds_channel_out(const struct mgds_channel *channel)
{
    return channel->out;
}

void mgds_channel_despair(struct mgds_channel *channel)
{
    channel->hopeless = true;
}

bool mgds_channel_reserve(struct mgds_channel *channel, struct mgds_slot *slot,
                          uint32_t *done)
{
    if (!mgds_dones_take(channel->pair, done))
        return false;
    if (take_units(channel, 1, slot))
        return true;
    mgds_dones_give(channel->pair, *done);
    return false;
}

void mgds_channel_give_done(struct mgds_channel *channel, uint32_t done)
{
    channel->hopeless = false;
    mgds_dones_give(channel->pair, done);
}

uint64_t *mgds_channel_done_here(const struct mgds_channel *channel,
                                 uint32_t done)
{
    return mgds_dones_here(channel->pair, done);
}

struct mgds_mappings *mgds_channel_ours(struct mgds_channel *channel)
{
    return &channel->ours;
}

struct mgds_mappings *mgds_channel_theirs(struct mgds_channel *channel)
{
    return &channel->theirs;
}
