/* Far ways between the streams of members on different hosts: made, in the
 * collective call that makes a stream communicator, in three steps that each
 * member makes for each other one (comm.h). */
#include <errno.h>
#include <string.h>

#include "shim/base/log.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels_state.h"
#include "shim/gds/transport/far.h"

static bool are_apart(const struct mgds_member *a, const struct mgds_member *b)
{
    return a->far && b->far && a->host != b->host;
}

bool mgds_channels_is_far(const struct mgds_channels *channels, unsigned rank)
{
    return are_apart(&channels->members[channels->rank],
                     &channels->members[rank]);
}

bool mgds_channels_are_far(const struct mgds_member *members, unsigned count)
{
    const struct mgds_member *first = NULL;

    for (unsigned i = 0; i < count; i++) {
        if (!first && members[i].far)
            first = &members[i];
        if (first && are_apart(first, &members[i]))
            return true;
    }
    return false;
}

size_t mgds_channels_far_bytes(unsigned most)
{
    return (size_t)most * most * sizeof(struct mgds_far_card);
}

size_t mgds_channels_joined_bytes(unsigned most)
{
    return (size_t)most * most;
}

/* Of one of the own streams and one of the rank's. */
struct pair {
    unsigned mine, theirs; /* by index */
    size_t at;             /* mgds_channels_at */
    size_t here, there;    /* in blocks as this end writes them, and the other
                              one */
};

static struct pair pair_of(const struct mgds_channels *channels, unsigned rank,
                           unsigned most, unsigned number)
{
    unsigned theirs = mgds_channels_streams_of(channels, rank);
    struct pair pair = {.mine = number / theirs, .theirs = number % theirs};

    pair.at = mgds_channels_at(channels, pair.mine,
                               channels->base[rank] + pair.theirs);
    pair.here = (size_t)pair.mine * most + pair.theirs;
    pair.there = (size_t)pair.theirs * most + pair.mine;
    return pair;
}

static unsigned count_pairs(const struct mgds_channels *channels, unsigned rank)
{
    return channels->streams * mgds_channels_streams_of(channels, rank);
}

void mgds_channels_offer_far(const struct mgds_channels *channels,
                             unsigned rank, unsigned most, char *offer)
{
    for (unsigned i = 0; i < count_pairs(channels, rank); i++) {
        struct pair pair = pair_of(channels, rank, most, i);
        struct mgds_far_card card = {.made = 0};

        if (channels->far[pair.at])
            mgds_far_tell(channels->far[pair.at], &card);
        memcpy(offer + pair.here * sizeof(card), &card, sizeof(card));
    }
}

static void drop_far(struct mgds_channels *channels, size_t at,
                     enum mgds_lack lack)
{
    mgds_far_destroy(channels->far[at]);
    channels->far[at] = NULL;
    channels->lack[at] = (unsigned char)lack;
}

/* False: there is none any more. */
static bool join_far(struct mgds_channels *channels, size_t at,
                     const struct mgds_far_card *there)
{
    struct mgds_refusal refusal = {.reason = MGDS_REFUSAL_NONE};
    int rc = -ENOTCONN;

    if (!channels->far[at])
        return false;
    if (there->made)
        rc = mgds_far_connect(channels->far[at], there, &refusal);
    if (rc < 0)
        drop_far(channels, at,
                 there->made ? mgds_lack_of_refusal(&refusal)
                             : MGDS_LACK_NOT_JOINED);
    return rc == 0;
}

void mgds_channels_join_far(struct mgds_channels *channels, unsigned rank,
                            unsigned most, const char *offer, char *joined)
{
    for (unsigned i = 0; i < count_pairs(channels, rank); i++) {
        struct pair pair = pair_of(channels, rank, most, i);
        struct mgds_far_card there;

        memcpy(&there, offer + pair.there * sizeof(there), sizeof(there));
        joined[pair.here] = join_far(channels, pair.at, &there);
    }
}

static void open_far(struct mgds_channels *channels, size_t at)
{
    struct mgds_far *far = channels->far[at];
    int rc = mgds_channel_create_far(&channels->channel[at], &mgds_ib_cpu, far);

    if (rc < 0) {
        drop_far(channels, at, MGDS_LACK_HCA_MIRROR);
        return;
    }
    channels->far[at] = NULL;
    channels->lack[at] = MGDS_LACK_NOTHING;
}

void mgds_channels_open_far(struct mgds_channels *channels, unsigned rank,
                            unsigned most, const char *joined)
{
    for (unsigned i = 0; i < count_pairs(channels, rank); i++) {
        struct pair pair = pair_of(channels, rank, most, i);

        if (!channels->far[pair.at])
            continue;
        if (joined[pair.there])
            open_far(channels, pair.at);
        else
            drop_far(channels, pair.at, MGDS_LACK_NOT_JOINED);
    }
    if (mgds_channels_is_far(channels, rank))
        mgds_channels_say(channels, rank);
}
