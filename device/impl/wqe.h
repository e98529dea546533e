/* Builders of work queue entries: each returns a WQE outside of any ring, made
 * of its arguments alone, so host and GPU build the same bytes. Whoever puts a
 * WQE into a ring stamps it with the index of its first block there, once for
 * each use, and rings; the builders know no ring. C, C++ and CUDA.
 *
 *   struct mgds_wqe_path path = {.qpn = 0x123};
 *   wqe = mgds_wqe_write(path, MGDS_WQE_CE_ALWAYS, remote, local);
 *   mgds_wqe_stamp(&wqe.ctrl, index);
 *
 * tests/hca/front/posting_test.c and dynamic_test.c compare them with what
 * libmlx5 writes. */
#ifndef MGDS_DEVICE_WQE_H
#define MGDS_DEVICE_WQE_H

#include <string.h>

#include "device/abi_wqe.h"

enum {
    MGDS_WQE_MOST_BYTES = 2 * MGDS_WQE_BLOCK,
    /* Inline payload of a WRITE that fits one block, and of one that fits two
     * behind a full address vector. */
    MGDS_WQE_INLINE_RC = 28,
    MGDS_WQE_INLINE_DC = 44
};

/* A WQE whose index is 0 until it is stamped. Bytes behind it are 0. */
struct mgds_wqe {
    union {
        struct mgds_wqe_ctrl ctrl;
        uint8_t at[MGDS_WQE_MOST_BYTES];
        uint64_t words[MGDS_WQE_MOST_BYTES / sizeof(uint64_t)];
    };
    uint32_t bytes;
};

/* The QP that posts; and whom a DCI calls: its address vector, with
 * MGDS_AV_FULL in `qpn` if all of it counts. NULL: the QP is of RC. */
struct mgds_wqe_path {
    uint32_t qpn;
    const struct mgds_wqe_av *av;
};

struct mgds_wqe_remote {
    uint64_t address;
    uint32_t rkey;
};

struct mgds_wqe_local {
    uint64_t address;
    uint32_t bytes; /* less than 2^31 */
    uint32_t lkey;
};

struct mgds_wqe_swap {
    uint64_t compare;
    uint64_t swap;
};

MGDS_WQE_FN void mgds_wqe_append(struct mgds_wqe *wqe, const void *segment,
                                 uint32_t bytes)
{
    memcpy(wqe->at + wqe->bytes, segment, bytes);
    wqe->bytes += bytes;
}

/* `flags` is fm_ce_se: a fence, when to complete visibly, MGDS_WQE_SOLICITED.
 */
MGDS_WQE_FN struct mgds_wqe mgds_wqe_begin(struct mgds_wqe_path path,
                                           enum mgds_wqe_opcode opcode,
                                           unsigned flags)
{
    struct mgds_wqe wqe;

    memset(&wqe, 0, sizeof(wqe));
    wqe.ctrl.opmod_idx_opcode = mgds_to_be32((uint32_t)opcode);
    wqe.ctrl.qpn_ds = mgds_to_be32(path.qpn << 8);
    wqe.ctrl.fm_ce_se = (uint8_t)flags;
    wqe.bytes = (uint32_t)sizeof(wqe.ctrl);
    if (path.av)
        mgds_wqe_append(&wqe, path.av,
                        mgds_from_be32(path.av->qpn) & MGDS_AV_FULL
                            ? (uint32_t)sizeof(*path.av)
                            : (uint32_t)MGDS_WQE_UNIT);
    return wqe;
}

MGDS_WQE_FN void mgds_wqe_append_remote(struct mgds_wqe *wqe,
                                        struct mgds_wqe_remote remote)
{
    struct mgds_wqe_raddr raddr;

    raddr.address = mgds_to_be64(remote.address);
    raddr.rkey = mgds_to_be32(remote.rkey);
    raddr.reserved = 0;
    mgds_wqe_append(wqe, &raddr, (uint32_t)sizeof(raddr));
}

/* No segment for no bytes: to the HCA a count of 0 means 2 GiB. */
MGDS_WQE_FN void mgds_wqe_append_local(struct mgds_wqe *wqe,
                                       struct mgds_wqe_local local)
{
    struct mgds_wqe_data data;

    if (local.bytes == 0)
        return;
    data.bytes = mgds_to_be32(local.bytes);
    data.lkey = mgds_to_be32(local.lkey);
    data.address = mgds_to_be64(local.address);
    mgds_wqe_append(wqe, &data, (uint32_t)sizeof(data));
}

MGDS_WQE_FN void mgds_wqe_append_inline(struct mgds_wqe *wqe, const void *bytes,
                                        uint32_t count)
{
    struct mgds_wqe_inline head;

    head.bytes = mgds_to_be32(MGDS_WQE_INLINE_FLAG | count);
    mgds_wqe_append(wqe, &head, (uint32_t)sizeof(head));
    mgds_wqe_append(wqe, bytes, count);
}

/* The last unit is padded; then the length is known. */
MGDS_WQE_FN void mgds_wqe_end(struct mgds_wqe *wqe)
{
    uint32_t units = (wqe->bytes + MGDS_WQE_UNIT - 1) / MGDS_WQE_UNIT;

    wqe->bytes = units * MGDS_WQE_UNIT;
    wqe->ctrl.qpn_ds = mgds_to_be32(mgds_from_be32(wqe->ctrl.qpn_ds) | units);
}

/* An operation between memory there and memory here. */
MGDS_WQE_FN struct mgds_wqe mgds_wqe_move(struct mgds_wqe_path path,
                                          enum mgds_wqe_opcode opcode,
                                          unsigned flags,
                                          struct mgds_wqe_remote remote,
                                          struct mgds_wqe_local local)
{
    struct mgds_wqe wqe = mgds_wqe_begin(path, opcode, flags);

    mgds_wqe_append_remote(&wqe, remote);
    mgds_wqe_append_local(&wqe, local);
    mgds_wqe_end(&wqe);
    return wqe;
}

MGDS_WQE_FN struct mgds_wqe mgds_wqe_write(struct mgds_wqe_path path,
                                           unsigned flags,
                                           struct mgds_wqe_remote remote,
                                           struct mgds_wqe_local local)
{
    return mgds_wqe_move(path, MGDS_WQE_RDMA_WRITE, flags, remote, local);
}

/* The receiver gets `imm` as it is here. */
MGDS_WQE_FN struct mgds_wqe mgds_wqe_write_imm(struct mgds_wqe_path path,
                                               unsigned flags,
                                               struct mgds_wqe_remote remote,
                                               struct mgds_wqe_local local,
                                               uint32_t imm)
{
    struct mgds_wqe wqe =
        mgds_wqe_move(path, MGDS_WQE_RDMA_WRITE_IMM, flags, remote, local);

    wqe.ctrl.imm.raw = imm;
    return wqe;
}

/* At most MGDS_WQE_INLINE_RC bytes, or MGDS_WQE_INLINE_DC. */
MGDS_WQE_FN struct mgds_wqe mgds_wqe_write_inline(struct mgds_wqe_path path,
                                                  unsigned flags,
                                                  struct mgds_wqe_remote remote,
                                                  const void *bytes,
                                                  uint32_t count)
{
    struct mgds_wqe wqe = mgds_wqe_begin(path, MGDS_WQE_RDMA_WRITE, flags);

    mgds_wqe_append_remote(&wqe, remote);
    mgds_wqe_append_inline(&wqe, bytes, count);
    mgds_wqe_end(&wqe);
    return wqe;
}

MGDS_WQE_FN struct mgds_wqe mgds_wqe_read(struct mgds_wqe_path path,
                                          unsigned flags,
                                          struct mgds_wqe_remote remote,
                                          struct mgds_wqe_local local)
{
    return mgds_wqe_move(path, MGDS_WQE_RDMA_READ, flags, remote, local);
}

/* Words of 8 bytes. The old value goes to memory here, whose bytes are 8. */
MGDS_WQE_FN struct mgds_wqe
mgds_wqe_change(struct mgds_wqe_path path, enum mgds_wqe_opcode opcode,
                unsigned flags, struct mgds_wqe_remote remote,
                struct mgds_wqe_swap swap, struct mgds_wqe_local old)
{
    struct mgds_wqe wqe = mgds_wqe_begin(path, opcode, flags);
    struct mgds_wqe_atomic atomic;

    mgds_wqe_append_remote(&wqe, remote);
    atomic.operand = mgds_to_be64(swap.swap);
    atomic.compare = mgds_to_be64(swap.compare);
    mgds_wqe_append(&wqe, &atomic, (uint32_t)sizeof(atomic));
    mgds_wqe_append_local(&wqe, old);
    mgds_wqe_end(&wqe);
    return wqe;
}

MGDS_WQE_FN struct mgds_wqe mgds_wqe_fetch_add(struct mgds_wqe_path path,
                                               unsigned flags,
                                               struct mgds_wqe_remote remote,
                                               uint64_t add,
                                               struct mgds_wqe_local old)
{
    struct mgds_wqe_swap swap;

    swap.swap = add;
    swap.compare = 0;
    return mgds_wqe_change(path, MGDS_WQE_ATOMIC_FA, flags, remote, swap, old);
}

MGDS_WQE_FN struct mgds_wqe mgds_wqe_compare_swap(struct mgds_wqe_path path,
                                                  unsigned flags,
                                                  struct mgds_wqe_remote remote,
                                                  struct mgds_wqe_swap swap,
                                                  struct mgds_wqe_local old)
{
    return mgds_wqe_change(path, MGDS_WQE_ATOMIC_CS, flags, remote, swap, old);
}

MGDS_WQE_FN struct mgds_wqe mgds_wqe_send(struct mgds_wqe_path path,
                                          unsigned flags,
                                          struct mgds_wqe_local local)
{
    struct mgds_wqe wqe = mgds_wqe_begin(path, MGDS_WQE_SEND, flags);

    mgds_wqe_append_local(&wqe, local);
    mgds_wqe_end(&wqe);
    return wqe;
}

/* Nothing: fills a block. It goes nowhere, so a DCI's has no address vector. */
MGDS_WQE_FN struct mgds_wqe mgds_wqe_nop(uint32_t qpn, unsigned flags)
{
    struct mgds_wqe_path path;
    struct mgds_wqe wqe;

    path.qpn = qpn;
    path.av = NULL;
    wqe = mgds_wqe_begin(path, MGDS_WQE_NOP, flags);
    mgds_wqe_end(&wqe);
    return wqe;
}

MGDS_WQE_FN uint32_t mgds_wqe_blocks(const struct mgds_wqe *wqe)
{
    return (wqe->bytes + MGDS_WQE_BLOCK - 1) / MGDS_WQE_BLOCK;
}

/* The index of the WQE's first block, which changes with each use of it. */
MGDS_WQE_FN void mgds_wqe_stamp(struct mgds_wqe_ctrl *ctrl, uint16_t index)
{
    uint32_t others = mgds_from_be32(ctrl->opmod_idx_opcode) & 0xff0000ffu;

    ctrl->opmod_idx_opcode = mgds_to_be32(others | (uint32_t)index << 8);
}

/* The doorbell for everything before the block `next`: its value is the same
 * for each WQE there, so it can be known before there is one. The caller makes
 * one store of it. */
MGDS_WQE_FN uint64_t mgds_doorbell_of(uint32_t qpn, uint32_t next)
{
    uint64_t low = mgds_to_be32((next & 0xffff) << 8).raw;

    return low | (uint64_t)mgds_to_be32(qpn << 8).raw << 32;
}

/* The send word of the doorbell record after so many blocks. */
MGDS_WQE_FN uint32_t mgds_dbrec_of(uint32_t blocks)
{
    return mgds_to_be32(blocks & 0xffff).raw;
}

#endif
