/* What one end of a connection tells the other: how its ports and QPs are
 * reached. A frame has the same length in each version:
 *
 *    0  "mgds", then the version, the count of rails, two bytes of 0
 *    8  for each of MGDS_END_RAILS rails, 0 where there is none:
 *       +0  QPN, PSN: 32 bits each    +12  MTU, link: 8 bits each
 *       +8  LID, P_Key: 16 bits each  +14  two bytes of 0
 *       +16 GID
 *
 * Numbers are little-endian. Both ends have both frames, and find the same
 * terms in them, or the same reason why there are none. */
#ifndef MGDS_HCA_END_H
#define MGDS_HCA_END_H

#include <stddef.h>
#include <stdint.h>

#include "shim/gds/hca/port.h"
#include "shim/gds/hca/refusal.h"

enum {
    MGDS_END_VERSION = 1,
    MGDS_END_RAILS = 4,
    MGDS_END_RAIL_BYTES = 32,
    MGDS_END_BYTES = 8 + MGDS_END_RAILS * MGDS_END_RAIL_BYTES
};

/* A port, and a QP there. */
struct mgds_end_rail {
    uint32_t qpn;
    uint32_t psn; /* of the first packet that the QP sends */
    uint16_t lid; /* InfiniBand; 0: it has none */
    uint16_t pkey;
    uint8_t mtu; /* as verbs has it: 1 is 256 bytes, 5 is 4096 */
    enum mgds_link link;
    uint8_t gid[16];
};

struct mgds_end {
    unsigned rails; /* from 1 */
    struct mgds_end_rail rail[MGDS_END_RAILS];
};

/* Rail i of one end talks to rail i of the other one. */
struct mgds_terms {
    unsigned rails;
    uint8_t mtu[MGDS_END_RAILS];
};

void mgds_end_pack(const struct mgds_end *end, uint8_t frame[MGDS_END_BYTES]);

/* 0; -EPROTO and why: FRAME, VERSION. */
int mgds_end_unpack(struct mgds_end *end, const uint8_t *frame, size_t bytes,
                    struct mgds_refusal *refusal);

/* As many rails as both have, with the smaller MTU of each two. 0; -ENOTSUP and
 * why: LINKS, PKEYS, NO_ADDRESS. */
int mgds_end_agree(const struct mgds_end *mine, const struct mgds_end *theirs,
                   struct mgds_terms *terms, struct mgds_refusal *refusal);

#endif
