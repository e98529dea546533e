/* How fast a port is: packets go one behind the other, each for as long as its
 * bytes take, and are on their way for a time. They wait here meanwhile.
 *
 *   put --> | leaves when the one before has left and its bytes have, too |
 *           | arrives a latency later                                     | -->
 * take
 *
 * A sender finds no room while packets of MGDS_HCA_BACKLOG ns have not left, so
 * that no timer of a requester ends behind them. */
#ifndef MGDS_SIM_HCA_WIRE_PACE_H
#define MGDS_SIM_HCA_WIRE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire/packet.h"

enum {
    MGDS_HCA_PACED = 512,       /* packets on their way */
    MGDS_HCA_BACKLOG = 5000000, /* ns */
    MGDS_HCA_PACED_HEADER = 32  /* bytes that count beside the payload */
};

/* All zero: at once, as fast as it can. */
struct mgds_hca_speed {
    uint64_t rate;    /* bytes in a microsecond */
    uint64_t latency; /* ns */
};

struct mgds_hca_pace;

/* NULL: no memory. */
struct mgds_hca_pace *mgds_hca_pace_make(const struct mgds_hca_speed *speed);
void mgds_hca_pace_free(struct mgds_hca_pace *pace);

/* False: no room now. */
bool mgds_hca_pace_put(struct mgds_hca_pace *pace, uint64_t now, uint16_t lid,
                       const struct mgds_hca_packet *packet,
                       const struct mgds_hca_list *payload);

/* The packet that arrives next, and to whom, if it is time; it stays until
 * mgds_hca_pace_drop. */
const struct mgds_hca_packet *mgds_hca_pace_next(struct mgds_hca_pace *pace,
                                                 uint64_t now, uint16_t *lid,
                                                 struct mgds_hca_list *payload);
void mgds_hca_pace_drop(struct mgds_hca_pace *pace);

/* When it is time; 0: there is none. */
uint64_t mgds_hca_pace_due(const struct mgds_hca_pace *pace);

#endif
