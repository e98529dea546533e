/* A send queue in ordinary memory; see hand_sendq.h. */
#include "tests/unit/hand_sendq.h"

#include <string.h>

void hand_sendq_open(struct hand_sendq *hand, uint32_t begin)
{
    memset(hand, 0, sizeof(*hand));
    for (unsigned i = 0; i < HAND_ENTRIES; i++)
        hand->cqes[i * MGDS_CQE_BYTES + 63] = MGDS_CQE_UNUSED;
    hand->queue = (struct mgds_sendq){.qpn = HAND_QPN,
                                      .blocks = HAND_BLOCKS,
                                      .slot = 1,
                                      .ring = hand->ring,
                                      .record = &hand->record,
                                      .doorbell = &hand->doorbell,
                                      .cqes = hand->cqes,
                                      .entries = HAND_ENTRIES,
                                      .posted = begin,
                                      .rung = begin,
                                      .done = begin};
}

const uint8_t *hand_sendq_block(const struct hand_sendq *hand, uint32_t index)
{
    return hand->ring + index % HAND_BLOCKS * (size_t)MGDS_WQE_BLOCK;
}

void hand_sendq_complete(struct hand_sendq *hand, unsigned opcode,
                         uint32_t index, uint8_t syndrome)
{
    uint8_t *cqe =
        hand->cqes + hand->written % HAND_ENTRIES * (size_t)MGDS_CQE_BYTES;

    cqe[54] = 0x88;
    cqe[55] = syndrome;
    cqe[60] = (uint8_t)(index >> 8);
    cqe[61] = (uint8_t)index;
    cqe[63] = (uint8_t)(opcode << 4 | (hand->written / HAND_ENTRIES & 1));
    hand->written++;
}
