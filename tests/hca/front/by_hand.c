/* Writes WQEs segment by segment, and compares them with a ring's. */
#include "tests/hca/front/by_hand.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void wqe_append(struct wqe *wqe, const void *segment, size_t bytes)
{
    memcpy(wqe->at + wqe->bytes, segment, bytes);
    wqe->bytes += bytes;
}

void wqe_append_sge(struct wqe *wqe, const struct ibv_sge *sge)
{
    struct mgds_wqe_data data = {.bytes = mgds_to_be32(sge->length),
                                 .lkey = mgds_to_be32(sge->lkey),
                                 .address = mgds_to_be64(sge->addr)};

    wqe_append(wqe, &data, sizeof(data));
}

void wqe_append_atomic(struct wqe *wqe, uint8_t opcode, uint64_t operand,
                       uint64_t compare)
{
    struct mgds_wqe_atomic atomic = {.operand = mgds_to_be64(operand),
                                     .compare = mgds_to_be64(compare)};
    size_t at = wqe->bytes + offsetof(struct mgds_wqe_atomic, compare);

    if (opcode == MGDS_WQE_ATOMIC_FA)
        memset(wqe->left + at, true, sizeof(atomic.compare));
    wqe_append(wqe, &atomic, sizeof(atomic));
}

void wqe_end(struct wqe *wqe, struct mgds_wqe_ctrl ctrl, uint32_t qpn)
{
    size_t units = (wqe->bytes + MGDS_WQE_UNIT - 1) / MGDS_WQE_UNIT;

    ctrl.qpn_ds = mgds_to_be32(qpn << 8 | (uint32_t)units);
    memcpy(wqe->at, &ctrl, sizeof(ctrl));
}

/* The WQE may go on where the ring begins. Bytes that pad its last unit are
 * whatever. */
uint32_t wqe_compare(const struct wqe *wqe, const struct mlx5dv_qp *ring,
                     uint32_t blocks, const char *name)
{
    size_t ring_bytes = (size_t)ring->sq.wqe_cnt * MGDS_WQE_BLOCK;
    const uint8_t *bytes = ring->sq.buf;

    for (size_t at = 0; at < wqe->bytes; at++) {
        size_t offset = (size_t)blocks * MGDS_WQE_BLOCK + at;
        uint8_t found = bytes[offset % ring_bytes];

        if (!wqe->left[at] && found != wqe->at[at])
            fail_msg("%s, opcode 0x%02x: byte %zu is 0x%02x, by hand 0x%02x",
                     name, wqe->at[3], at, found, wqe->at[at]);
    }
    return blocks +
           (uint32_t)(wqe->bytes + MGDS_WQE_BLOCK - 1) / MGDS_WQE_BLOCK;
}

void wqe_compare_built(const struct wqe *wqe, struct mgds_wqe built,
                       const struct mlx5dv_qp *ring, uint32_t blocks,
                       const char *name)
{
    struct wqe copy = *wqe;
    size_t units = (wqe->bytes + MGDS_WQE_UNIT - 1) / MGDS_WQE_UNIT;

    assert_int_equal(built.bytes, units * MGDS_WQE_UNIT);
    mgds_wqe_stamp(&built.ctrl, (uint16_t)blocks);
    memcpy(copy.at, built.at, wqe->bytes);
    wqe_compare(&copy, ring, blocks, name);
}
