/* The channels of a member, as the files of this folder know them. */
#ifndef MGDS_TRANSPORT_CHANNELS_STATE_H
#define MGDS_TRANSPORT_CHANNELS_STATE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/gds/comm/comm.h"
#include "shim/gds/hca/refusal.h"
#include "shim/gds/transport/channels.h"

struct mgds_far;
struct mgds_gstream;
struct mgds_member;
struct mgds_told;

/* Why there is no channel; hindrances.def has what users are told. */
enum mgds_lack {
#define MGDS_LACK(name, why, remedy) MGDS_LACK_##name,
#include "shim/gds/transport/hindrances.def"
};

static inline enum mgds_lack
mgds_lack_of_refusal(const struct mgds_refusal *refusal)
{
    return (enum mgds_lack)(MGDS_LACK_HCA_NONE + (int)refusal->reason);
}

struct mgds_channels {
    unsigned refs; /* atomic */
    unsigned rank, peers, streams;
    unsigned *base;                     /* by rank: of its sources */
    struct mgds_gstream *const *stream; /* while it is made */
    uint64_t process;
    const struct mgds_member *members; /* likewise */
    unsigned *offers; /* by rank: how many it and this one make (offer.h) */
    bool *able; /* by own index: kernels of it can do all that is needed */
    struct mgds_told *told; /* by own index: what others hear (connect.c) */
    bool *shared; /* by own index: another process has a stream of its GPU */
    struct mgds_channel **channel; /* by own index, then by source */
    unsigned char *lack;           /* likewise: enum mgds_lack */
    struct mgds_far **far;         /* likewise: while they are made */
};

/* A source of a member without streams counts, too. */
static inline unsigned mgds_channels_streams_of(const struct mgds_channels *of,
                                                unsigned rank)
{
    return of->base[rank + 1] - of->base[rank];
}

/* Is there a way to that member's streams that is tried once all have told of
 * theirs? While they are made. */
bool mgds_channels_is_far(const struct mgds_channels *channels, unsigned rank);

/* For which a channel cannot be had, by what the driver said. */
static inline enum mgds_lack mgds_lack_by(int rc)
{
    if (rc == -ENOTSUP)
        return MGDS_LACK_NO_PEERS;
    return rc == -EXDEV ? MGDS_LACK_OTHER_CONTEXT : MGDS_LACK_NO_MAPPING;
}

/* For who wants to know where the time goes: what messages to the rank take. */
void mgds_channels_say(const struct mgds_channels *channels, unsigned rank);

/* Where they have what is from that own stream to that source. */
static inline size_t mgds_channels_at(const struct mgds_channels *channels,
                                      unsigned index, unsigned to)
{
    return (size_t)index * channels->base[channels->peers] + to;
}

#endif
