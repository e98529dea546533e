/* WQEs written by hand with device/abi_wqe.h, beside those that libmlx5 has
 * written into a ring. What fails fails the test. */
#ifndef MGDS_TEST_BY_HAND_H
#define MGDS_TEST_BY_HAND_H

#include <infiniband/mlx5dv.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/impl/wqe.h"

enum { WQE_MAX = 256 };

/* A WQE, and which of its bytes libmlx5 leaves as they were. */
struct wqe {
    _Alignas(16) uint8_t at[WQE_MAX];
    bool left[WQE_MAX];
    size_t bytes;
};

void wqe_append(struct wqe *wqe, const void *segment, size_t bytes);
void wqe_append_sge(struct wqe *wqe, const struct ibv_sge *sge);

/* The operands of an atomic with that opcode; FETCH-ADD compares nothing. */
void wqe_append_atomic(struct wqe *wqe, uint8_t opcode, uint64_t operand,
                       uint64_t compare);

/* All segments are appended, behind room for the first one: which is that, with
 * the length, of a QP with that number. */
void wqe_end(struct wqe *wqe, struct mgds_wqe_ctrl ctrl, uint32_t qpn);

/* The ring has the WQE behind so many blocks: returns the blocks up to its
 * end. The name is for who reads of a difference. */
uint32_t wqe_compare(const struct wqe *wqe, const struct mlx5dv_qp *ring,
                     uint32_t blocks, const char *name);

/* The same of what a builder has made; by hand it was *wqe. */
void wqe_compare_built(const struct wqe *wqe, struct mgds_wqe built,
                       const struct mlx5dv_qp *ring, uint32_t blocks,
                       const char *name);

#endif
