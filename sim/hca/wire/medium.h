/* What carries packets between devices: an unreliable, bounded channel that is
 * addressed by LID. Flows (sender.h, receiver.h) repair what it loses. There
 * are two: lanes.h between devices of a host, mail.h between hosts; fabric.h
 * has both, and knows which one reaches a LID. */
#ifndef MGDS_SIM_HCA_WIRE_MEDIUM_H
#define MGDS_SIM_HCA_WIRE_MEDIUM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/piece.h"
#include "sim/hca/wire/packet.h"

struct mgds_hca_inbox;
struct mgds_hca_medium;

/* A device that packets go to. */
struct mgds_hca_link {
    struct mgds_hca_inbox *inbox; /* NULL: nobody is there */
    const struct mgds_hca_medium *medium;
    uint16_t lid;
};

struct mgds_hca_medium {
    /* Packets will go there; `file` is its inbox's. 0 or what it lacks. */
    int (*connect)(void *ctx, const struct mgds_hca_link *link, int file);
    /* Copies packet and payload. False: no room now. */
    bool (*send)(void *ctx, const struct mgds_hca_link *link,
                 const struct mgds_hca_packet *packet,
                 const struct mgds_hca_list *payload);
    /* The next packet that came. The payload stays where the list says until
     * the next call of receive. False: none. The packet may be any. */
    bool (*receive)(void *ctx, struct mgds_hca_packet *packet,
                    struct mgds_hca_list *payload);
    /* The count of packets that were sent there, by the medium; and true if
     * those before such a position were taken. Without: not known. */
    uint32_t (*position)(void *ctx, const struct mgds_hca_link *link);
    bool (*taken)(void *ctx, const struct mgds_hca_link *link,
                  uint32_t position);
    /* A peer that has gone around so often has taken and answered what was
     * there before, or was taken by then if that is known. */
    uint32_t rounds;
    void *ctx;
};

#endif
