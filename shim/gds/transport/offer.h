/*
 * What two processes give each other when a communicator is made in which they
 * have channels, if they have not got it yet: the pair's ring (base_ring.h) and
 * done words (dones.h). It goes by the collective call, so that nobody has to
 * connect to anybody for it.
 *
 *   mgds_channels_offer        makes what is in memory of this process
 *   mgds_channels_write_offer  says so to one member, once (own_rings.h), in as
 *                              many bytes as that one says of its own
 *   mgds_channels_take_offer   maps what that one has made
 *   mgds_channels_settle       what was mapped is the channels'
 *
 * comm.h has the functions, for who exchanges the bytes.
 */
#ifndef MGDS_TRANSPORT_OFFER_H
#define MGDS_TRANSPORT_OFFER_H

#include <stdint.h>

#include "shim/gds/proto/ring.h"

/* For one stream of each of the two. Plain. */
struct mgds_offer {
    uint64_t from, to; /* the contexts: of who says this, of who hears it */
    uint32_t ring;     /* their numbers; 0: there is none */
    uint32_t dones;
    struct mgds_ring_handle of_ring, of_dones;
};

#endif
