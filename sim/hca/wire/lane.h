/* A lane: a bounded queue of packets from one device to another, in memory that
 * both map.
 *
 *   units of 64 bytes   | header | payload .. | header | .. free .. |
 *                       tail                           head
 *
 * Positions run freely; a packet is a unit, and its payload whole units behind
 * it, around the end if need be.
 *
 * Who writes what: the sender `head` and the units from head to tail + UNITS,
 * the receiver `tail`. The units of a packet are visible before the head behind
 * them (release, acquire), and have been read before the tail behind them. Who
 * dies between its stores has published nothing: the other one goes on.
 *
 * A receiver trusts nothing here: a head or length that cannot be drops all
 * that is in the lane. */
#ifndef MGDS_SIM_HCA_WIRE_LANE_H
#define MGDS_SIM_HCA_WIRE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/piece.h"
#include "sim/hca/wire/packet.h"

enum { MGDS_HCA_LANE_UNIT = 64, MGDS_HCA_LANE_UNITS = 2048 };

/* Shared, all zero at first. UNITS is a power of two, as positions run
 * through 2^32. */
struct mgds_hca_lane {
    _Alignas(64) uint32_t head;
    _Alignas(64) uint32_t tail;
    _Alignas(64) uint8_t unit[MGDS_HCA_LANE_UNITS][MGDS_HCA_LANE_UNIT];
};

/* The end that takes: units of the packet that was given last. */
struct mgds_hca_lane_end {
    struct mgds_hca_lane *lane;
    uint32_t held;
};

/* False: no room. */
bool mgds_hca_lane_put(struct mgds_hca_lane *lane,
                       const struct mgds_hca_packet *packet,
                       const struct mgds_hca_list *payload);

/* The position that the sender has come to; and true if the receiver is not
 * behind one. */
uint32_t mgds_hca_lane_position(const struct mgds_hca_lane *lane);
bool mgds_hca_lane_passed(const struct mgds_hca_lane *lane, uint32_t position);

/* Gives the room of the packet that was given last back. */
void mgds_hca_lane_release(struct mgds_hca_lane_end *end);

/* Gives room of the packet before back, and the next packet; its payload stays
 * where the list says until the next call. */
bool mgds_hca_lane_take(struct mgds_hca_lane_end *end,
                        struct mgds_hca_packet *packet,
                        struct mgds_hca_list *payload);

/* Something is there behind the packet that was given last. */
bool mgds_hca_lane_filled(const struct mgds_hca_lane_end *end);

#endif
