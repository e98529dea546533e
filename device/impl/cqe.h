/* Reading completion queue entries. An entry is judged by its last dword, which
 * the HCA writes last: load that with acquire order, and read the rest only
 * when it says that the entry is there. C, C++ and CUDA.
 *
 *   bits   7:0       15:8      23:16      31:28   24
 *          counter,  counter,  signature  opcode  owner
 *          high      low
 *
 * A reader keeps count of the entries that it has consumed, of all laps. */
#ifndef MGDS_DEVICE_CQE_H
#define MGDS_DEVICE_CQE_H

#include "device/abi_wqe.h"

/* Value 0 is no state, so that forgotten ones are found. */
enum mgds_cqe_state {
    MGDS_CQE_NOT_YET = 1,
    MGDS_CQE_DONE,
    MGDS_CQE_FAILED /* whatever is there and no success, known or not */
};

MGDS_WQE_FN enum mgds_cqe_state mgds_cqe_state_of(unsigned opcode)
{
    switch (opcode) {
    case MGDS_CQE_REQUEST:
    case MGDS_CQE_RECEIVE_WRITE_IMM:
    case MGDS_CQE_RECEIVE_SEND:
    case MGDS_CQE_RECEIVE_SEND_IMM:
    case MGDS_CQE_RECEIVE_SEND_INVAL:
        return MGDS_CQE_DONE;
    default:
        return MGDS_CQE_FAILED;
    }
}

/* `entries` is a power of two. An error is never taken for an entry that is
 * not there yet: that takes the lap's owner bit and the opcode INVALID alone.
 */
MGDS_WQE_FN enum mgds_cqe_state mgds_cqe_judge(uint32_t last, uint32_t consumed,
                                               uint32_t entries)
{
    unsigned op_own = last >> 24;
    unsigned opcode = op_own >> MGDS_CQE_OPCODE_SHIFT;
    unsigned owner = (consumed & entries) != 0;

    if (opcode == MGDS_CQE_INVALID || (op_own & MGDS_CQE_OWNER) != owner)
        return MGDS_CQE_NOT_YET;
    return mgds_cqe_state_of(opcode);
}

/* Of a requester: the index of the completed WQE's first block. */
MGDS_WQE_FN uint16_t mgds_cqe_counter(uint32_t last)
{
    return mgds_swap16((uint16_t)last);
}

/* The same index with the bits above: that of a block which is `oldest` or one
 * of the 65,535 behind it. */
MGDS_WQE_FN uint32_t mgds_cqe_block(uint16_t counter, uint32_t oldest)
{
    return oldest + (uint16_t)(counter - (uint16_t)oldest);
}

#endif
