/* A send queue in ordinary memory, whose HCA is the test: it looks at what was
 * put and rung, and says what is through. */
#ifndef MGDS_TEST_HAND_SENDQ_H
#define MGDS_TEST_HAND_SENDQ_H

#include <stdint.h>

#include "shim/gds/hca/sendq.h"

enum { HAND_BLOCKS = 8, HAND_ENTRIES = 16, HAND_QPN = 0xfedcba };

struct hand_sendq {
    uint8_t ring[HAND_BLOCKS * MGDS_WQE_BLOCK];
    uint8_t cqes[HAND_ENTRIES * MGDS_CQE_BYTES];
    uint32_t record;
    uint64_t doorbell;
    struct mgds_sendq queue;
    uint32_t written; /* CQEs */
};

/* So many WQEs were posted, and are through. */
void hand_sendq_open(struct hand_sendq *hand, uint32_t begin);

/* The WQE at an index. */
const uint8_t *hand_sendq_block(const struct hand_sendq *hand, uint32_t index);

/* The WQE at an index is through. */
void hand_sendq_complete(struct hand_sendq *hand, unsigned opcode,
                         uint32_t index, uint8_t syndrome);

#endif
