/* What carries packets between devices: an unreliable, bounded channel that is
 * addressed by LID. Flows (sender.h, receiver.h) repair what it loses. */
#ifndef MGDS_SIM_HCA_WIRE_MEDIUM_H
#define MGDS_SIM_HCA_WIRE_MEDIUM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/piece.h"
#include "sim/hca/wire/packet.h"

struct mgds_hca_medium {
    /* A QP of this device has a peer there. */
    void (*connect)(void *ctx, uint16_t lid);
    /* Copies packet and payload. False: no room now. A packet to a LID that
     * nobody has is sent, and lost. */
    bool (*send)(void *ctx, uint16_t lid, const struct mgds_hca_packet *packet,
                 const struct mgds_hca_list *payload);
    /* The next packet that came. The payload stays where the list says until
     * the next call of receive. False: none. The packet may be any. */
    bool (*receive)(void *ctx, struct mgds_hca_packet *packet,
                    struct mgds_hca_list *payload);
    void *ctx;
    uint16_t lid; /* of this device */
};

#endif
