/* What benchmarks of the software ConnectX write into its rings and read of its
 * CQs by hand: the WQE of a WRITE of one word, and its CQE. And the time. */
#ifndef MGDS_TESTS_HCA_BENCH_WRITE_H
#define MGDS_TESTS_HCA_BENCH_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "device/abi_wqe.h"

enum { BENCH_WORD = sizeof(uint64_t) };

/* In nanoseconds. */
static inline double bench_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A word, as a WQE names it. */
struct bench_word {
    uint64_t address;
    uint32_t key;
};

struct bench_wqe {
    struct mgds_wqe_ctrl ctrl;
    struct mgds_wqe_raddr raddr;
    struct mgds_wqe_data data;
};

/* A signalled WRITE, the QP's next: index is of its first block. */
static inline struct bench_wqe bench_write(uint32_t qpn, uint16_t index,
                                           struct bench_word from,
                                           struct bench_word to)
{
    return (struct bench_wqe){
        .ctrl = {.opmod_idx_opcode =
                     mgds_to_be32((uint32_t)index << 8 | MGDS_WQE_RDMA_WRITE),
                 .qpn_ds = mgds_to_be32(qpn << 8 | 3),
                 .fm_ce_se = MGDS_WQE_CE_ALWAYS},
        .raddr = {.address = mgds_to_be64(to.address),
                  .rkey = mgds_to_be32(to.key)},
        .data = {.bytes = mgds_to_be32(BENCH_WORD),
                 .lkey = mgds_to_be32(from.key),
                 .address = mgds_to_be64(from.address)},
    };
}

/* Puts it into its block of the ring and rings: posted is the QP's count of
 * blocks with this one. */
static inline void bench_ring(void *block, const struct bench_wqe *wqe,
                              uint16_t posted, uint32_t *record,
                              uint64_t *doorbell)
{
    uint64_t bell;

    memcpy(block, wqe, sizeof(*wqe));
    /* The WQE before the record, and the record before the doorbell. */
    __atomic_store_n(record, mgds_to_be32(posted).raw, __ATOMIC_RELEASE);
    memcpy(&bell, &wqe->ctrl, sizeof(bell));
    __atomic_store_n(doorbell, bell, __ATOMIC_RELEASE);
}

/* Whether the CQE is there, in a lap of that owner bit; and its opcode. */
static inline bool bench_cqe_is_there(const struct mgds_cqe *cqe, bool owner,
                                      uint8_t *opcode)
{
    /* The dword that the engine stores last. */
    uint32_t last = __atomic_load_n(
        (const uint32_t *)(const void *)&cqe->wqe_counter, __ATOMIC_ACQUIRE);
    uint8_t op_own = (uint8_t)(last >> 24);

    *opcode = op_own >> MGDS_CQE_OPCODE_SHIFT;
    return *opcode != MGDS_CQE_INVALID && (op_own & MGDS_CQE_OWNER) == owner;
}

#endif
