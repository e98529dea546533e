/* The medium between devices of one host, in shared memory: each sender has a
 * lane (lane.h) in the inbox of each device that it sends to. A full lane
 * delays. Under the lock of the device. */
#ifndef MGDS_SIM_HCA_WIRE_LANES_H
#define MGDS_SIM_HCA_WIRE_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire/inbox.h"
#include "sim/hca/wire/lane.h"
#include "sim/hca/wire/medium.h"

struct mgds_hca_mail;

struct mgds_hca_lanes {
    uint16_t lid; /* of this device */
    struct mgds_hca_inbox *inbox;
    const struct mgds_hca_mail *mail; /* wakes those that rest */
    struct mgds_hca_lane_end end[MGDS_HCA_LIDS + 1];
    uint16_t sender[MGDS_HCA_LIDS]; /* those that have a lane in use */
    unsigned senders;
    uint32_t joined; /* as the inbox said when they were looked for */
    struct mgds_hca_link to_wake[MGDS_HCA_LIDS]; /* since the last flush */
    unsigned wakes;
    uint64_t marked[MGDS_HCA_SENDER_SETS]; /* those LIDs */
    unsigned turn;                         /* the one that is taken from */
    unsigned taken;                        /* in this turn */
};

/* *lanes has its first three fields, and the rest is zero. */
struct mgds_hca_medium mgds_hca_lanes_medium(struct mgds_hca_lanes *lanes);

/* Wakes those that were sent something and rest. */
void mgds_hca_lanes_flush(struct mgds_hca_lanes *lanes);

/* A packet is there. */
bool mgds_hca_lanes_filled(struct mgds_hca_lanes *lanes);

#endif
