/* Formats that a ConnectX and its programs share: work queue entries (WQEs),
 * completion queue entries (CQEs), doorbell records and registers. Formats
 * only, for host and device builders and for the software HCA; C, C++ and CUDA.
 *
 *   send queue, a ring of 64-byte basic blocks; a WQE begins at a block:
 *
 *   0        16        32        48        64
 *   +--------+---------+---------+---------+---
 *   | ctrl   | raddr   | data    | data    | ..   RDMA WRITE, RDMA READ
 *   | ctrl   | raddr   | atomic  | data    |      FETCH-ADD, COMPARE-SWAP
 *   | ctrl   | data    | data    | ..             SEND
 *   | ctrl   | raddr   | inline: 4 bytes, then n  WRITE of n bytes
 *   +--------+---------+---------+---------+---
 *
 * A WQE goes on at the start of the ring where the ring ends. Indices count
 * basic blocks, run freely and are seen modulo 2^16. What the HCA parses is
 * big-endian, and typed so; payload is as the program wrote it.
 *
 * tests/hca/layout_test.c compares all of this with rdma-core's mlx5dv.h. */
#ifndef MGDS_DEVICE_ABI_WQE_H
#define MGDS_DEVICE_ABI_WQE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MGDS_WQE_FN static __host__ __device__ __forceinline__
#else
#define MGDS_WQE_FN static inline
#endif

#ifdef __cplusplus
#define MGDS_WQE_ASSERT static_assert
#else
#define MGDS_WQE_ASSERT _Static_assert
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the conversions below are written for little-endian machines"
#endif

/* Numbers in the order of the HCA. They are structs, so that none is taken for
 * a number by mistake. */
struct mgds_be16 {
    uint16_t raw;
};

struct mgds_be32 {
    uint32_t raw;
};

struct mgds_be64 {
    uint64_t raw;
};

MGDS_WQE_FN uint16_t mgds_swap16(uint16_t v)
{
    return (uint16_t)(v >> 8 | v << 8);
}

MGDS_WQE_FN uint32_t mgds_swap32(uint32_t v)
{
    return v >> 24 | (v >> 8 & 0xff00u) | (v << 8 & 0xff0000u) | v << 24;
}

MGDS_WQE_FN uint64_t mgds_swap64(uint64_t v)
{
    return (uint64_t)mgds_swap32((uint32_t)v) << 32 |
           mgds_swap32((uint32_t)(v >> 32));
}

MGDS_WQE_FN struct mgds_be16 mgds_to_be16(uint16_t v)
{
    struct mgds_be16 be;
    be.raw = mgds_swap16(v);
    return be;
}

MGDS_WQE_FN struct mgds_be32 mgds_to_be32(uint32_t v)
{
    struct mgds_be32 be;
    be.raw = mgds_swap32(v);
    return be;
}

MGDS_WQE_FN struct mgds_be64 mgds_to_be64(uint64_t v)
{
    struct mgds_be64 be;
    be.raw = mgds_swap64(v);
    return be;
}

MGDS_WQE_FN uint16_t mgds_from_be16(struct mgds_be16 v)
{
    return mgds_swap16(v.raw);
}

MGDS_WQE_FN uint32_t mgds_from_be32(struct mgds_be32 v)
{
    return mgds_swap32(v.raw);
}

MGDS_WQE_FN uint64_t mgds_from_be64(struct mgds_be64 v)
{
    return mgds_swap64(v.raw);
}

enum {
    MGDS_WQE_UNIT = 16,  /* a segment; DS counts them */
    MGDS_WQE_BLOCK = 64, /* a basic block; indices count them */
    MGDS_WQE_BLOCK_UNITS = MGDS_WQE_BLOCK / MGDS_WQE_UNIT,
    MGDS_WQE_MAX_UNITS = 63 /* DS has six bits */
};

enum mgds_wqe_opcode {
    MGDS_WQE_NOP = 0x00,
    MGDS_WQE_SEND_INVAL = 0x01, /* invalidates a window of the receiver */
    MGDS_WQE_RDMA_WRITE = 0x08,
    MGDS_WQE_RDMA_WRITE_IMM = 0x09,
    MGDS_WQE_SEND = 0x0a,
    MGDS_WQE_SEND_IMM = 0x0b,
    MGDS_WQE_RDMA_READ = 0x10,
    MGDS_WQE_ATOMIC_CS = 0x11,
    MGDS_WQE_ATOMIC_FA = 0x12,
    MGDS_WQE_MASKED_CS = 0x14, /* opmod MGDS_WQE_MASKED_4 or _8 */
    MGDS_WQE_MASKED_FA = 0x15,
    MGDS_WQE_DUMP = 0x23, /* reads local memory, and that is all */
    MGDS_WQE_UMR = 0x25   /* changes a key: binds a window, or invalidates it */
};

/* The first unit of every WQE. */
struct mgds_wqe_ctrl {
    struct mgds_be32 opmod_idx_opcode; /* opmod << 24 | index << 8 | opcode */
    struct mgds_be32 qpn_ds;           /* QPN << 8 | units of the WQE */
    uint8_t signature;
    uint8_t stream_channel[2];
    uint8_t fm_ce_se;
    struct mgds_be32 imm; /* goes out as it is; or a key: SEND_INVAL, UMR */
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_ctrl) == 16, "a unit");
MGDS_WQE_ASSERT(offsetof(struct mgds_wqe_ctrl, fm_ce_se) == 11, "byte 11");

/* fm_ce_se: what the WQE waits for, when it completes visibly, and whether it
 * asks the receiver's program to be woken. */
enum {
    MGDS_WQE_FENCE_MASK = 7 << 5,
    MGDS_WQE_FENCE_NONE = 0 << 5,
    MGDS_WQE_FENCE_SMALL = 1 << 5, /* earlier invalidations and bindings */
    MGDS_WQE_FENCE = 2 << 5,       /* answers of earlier READs and atomics */
    MGDS_WQE_FENCE_STRONG = 3 << 5,
    MGDS_WQE_FENCE_BOTH = 4 << 5, /* FENCE and SMALL: IBV_SEND_FENCE */

    MGDS_WQE_CE_MASK = 3 << 2,
    MGDS_WQE_CE_ERROR = 0 << 2,       /* a CQE if it fails or is flushed */
    MGDS_WQE_CE_FIRST_ERROR = 1 << 2, /* a CQE if it fails */
    MGDS_WQE_CE_ALWAYS = 2 << 2,
    MGDS_WQE_CE_EVENT = 3 << 2, /* a CQE, and an event */

    MGDS_WQE_SOLICITED = 1 << 1
};

struct mgds_wqe_raddr {
    struct mgds_be64 address;
    struct mgds_be32 rkey;
    uint32_t reserved;
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_raddr) == 16, "a unit");

/* Also the element of a receive WQE, which has no other segments. */
struct mgds_wqe_data {
    struct mgds_be32 bytes; /* bit 31 clear */
    struct mgds_be32 lkey;
    struct mgds_be64 address;
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_data) == 16, "a unit");

/* Ends the list of a receive WQE that has fewer elements than its stride. */
#define MGDS_WQE_INVALID_LKEY 0x100u

/* Payload follows at once, padded to a unit. */
struct mgds_wqe_inline {
    struct mgds_be32 bytes; /* MGDS_WQE_INLINE_FLAG | bytes */
};
#define MGDS_WQE_INLINE_FLAG 0x80000000u
#define MGDS_WQE_INLINE_MASK 0x3ffu

struct mgds_wqe_atomic {
    struct mgds_be64 operand; /* what to add, or to swap in */
    struct mgds_be64 compare; /* COMPARE-SWAP alone */
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_atomic) == 16, "a unit");

/* Opmods of masked atomics, of words of 4 and 8 bytes; and what stands behind
 * raddr, with numbers of that size. An addition does not carry beyond bits that
 * are set in `boundary`. */
enum { MGDS_WQE_MASKED_4 = 8, MGDS_WQE_MASKED_8 = 9 };

struct mgds_wqe_masked_fa_4 {
    struct mgds_be32 operand;
    struct mgds_be32 boundary;
    uint32_t reserved[2];
};
struct mgds_wqe_masked_fa_8 {
    struct mgds_be64 operand;
    struct mgds_be64 boundary;
};
struct mgds_wqe_masked_cs_4 {
    struct mgds_be32 swap;
    struct mgds_be32 compare;
    struct mgds_be32 swap_mask;
    struct mgds_be32 compare_mask;
};
struct mgds_wqe_masked_cs_8 {
    struct mgds_be64 swap;
    struct mgds_be64 compare;
    struct mgds_be64 swap_mask;
    struct mgds_be64 compare_mask;
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_masked_fa_4) == 16, "a unit");
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_masked_fa_8) == 16, "a unit");
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_masked_cs_4) == 16, "a unit");
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_masked_cs_8) == 32, "two units");

/* UMR: what is changed of the key in ctrl, what it is then, and the memory that
 * it means, whose segment fills a block. */
struct mgds_wqe_umr {
    uint8_t flags;
    uint8_t reserved0[3];
    struct mgds_be16 klm_units; /* of the memory's segment */
    struct mgds_be16 offset;
    struct mgds_be64 mask; /* what of struct mgds_wqe_mkey counts */
    uint8_t reserved1[32];
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_umr) == 48, "three units");

struct mgds_wqe_mkey {
    uint8_t free;
    uint8_t reserved0;
    uint8_t access;
    uint8_t reserved1;
    struct mgds_be32 qpn_key; /* QPN << 8, all ones: any | the key's low byte */
    uint8_t reserved2[8];
    struct mgds_be64 address;
    struct mgds_be64 bytes;
    uint8_t reserved3[32];
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_mkey) == 64, "four units");

enum {
    MGDS_UMR_INLINE = 1 << 7,     /* the memory stands in the WQE */
    MGDS_UMR_CHECK_FREE = 1 << 5, /* the key means nothing yet */
    MGDS_UMR_OFFSET = 1 << 4,
    MGDS_UMR_CHECK_QPN = 1 << 3, /* the key is this QP's */

    MGDS_UMR_MASK_BYTES = 1 << 0,
    MGDS_UMR_MASK_ADDRESS = 1 << 6,
    MGDS_UMR_MASK_KEY = 1 << 13,
    MGDS_UMR_MASK_QPN = 1 << 14,
    MGDS_UMR_MASK_LOCAL_WRITE = 1 << 18,
    MGDS_UMR_MASK_REMOTE_READ = 1 << 19,
    MGDS_UMR_MASK_REMOTE_WRITE = 1 << 20,
    MGDS_UMR_MASK_ATOMIC = 1 << 21,
    MGDS_UMR_MASK_FREE = 1 << 29,

    MGDS_MKEY_FREE = 1 << 6,
    MGDS_MKEY_ANY_QPN = 0xffffff,
    MGDS_MKEY_LOCAL_WRITE = 1 << 3,
    MGDS_MKEY_REMOTE_READ = 1 << 4,
    MGDS_MKEY_REMOTE_WRITE = 1 << 5,
    MGDS_MKEY_ATOMIC = 1 << 6
};

/* Address vector, behind ctrl in WQEs of UD (Q_Key) and DC (DC key). Without
 * MGDS_AV_FULL it is its first unit alone. */
struct mgds_wqe_av {
    union {
        struct {
            struct mgds_be32 qkey;
            uint32_t reserved;
        } ud;
        struct mgds_be64 dc_key;
    } key;
    struct mgds_be32 qpn; /* MGDS_AV_FULL | QPN */
    uint8_t rate_sl;
    uint8_t path_bits;
    struct mgds_be16 lid; /* InfiniBand; RoCE: a UDP port */
    uint8_t reserved[4];
    uint8_t mac[6];
    uint8_t traffic_class;
    uint8_t hop_limit;
    struct mgds_be32
        grh; /* MGDS_AV_GRH | index of our GID << 20 | flow label */
    uint8_t gid[16];
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_av) == 48, "three units");
#define MGDS_AV_FULL 0x80000000u
#define MGDS_AV_GRH (1u << 30)

/* The first unit of a WQE of a shared receive queue. */
struct mgds_wqe_next {
    uint8_t reserved0[2];
    struct mgds_be16 next; /* the slot behind this one */
    uint8_t signature;
    uint8_t reserved1[11];
};
MGDS_WQE_ASSERT(sizeof(struct mgds_wqe_next) == 16, "a unit");

/* Words of a QP's doorbell record: indices & 0xffff, in 32 bits. */
enum {
    MGDS_DBREC_RECEIVE = 0, /* receive WQEs posted so far */
    MGDS_DBREC_SEND = 1     /* basic blocks posted so far */
};

/* Words of a CQ's doorbell record. */
enum {
    MGDS_DBREC_CONSUMER = 0, /* CQEs consumed so far, & 0xffffff */
    MGDS_DBREC_ARM = 1       /* sequence << 28 | command | consumer index */
};
#define MGDS_ARM_SOLICITED (1u << 24)
#define MGDS_ARM_INDEX_MASK 0xffffffu

/* A UAR page: two registers, each written at two offsets in turn. What is
 * written are the first eight bytes of a WQE: of the last one posted, or made
 * up with the next free index and DS 0. BlueFlame writes whole WQEs there. */
enum {
    MGDS_UAR_BYTES = 4096,
    MGDS_UAR_CQ = 0x20, /* arm word, then CQN */
    MGDS_UAR_REGISTER = 0x800,
    MGDS_UAR_REGISTERS = 2,
    MGDS_UAR_REGISTER_BYTES = 512,
    MGDS_UAR_HALF_BYTES = 256
};

/* 64 bytes, or the second half of 128. The owner bit says in which lap of the
 * ring a CQE was written; op_own is written last. */
struct mgds_cqe {
    uint8_t reserved0[22];
    struct mgds_be16 slid;       /* receives of UD */
    struct mgds_be32 flags_rqpn; /* MGDS_CQE_GRH | SL << 24 | QPN */
    uint8_t reserved1[4];
    struct mgds_be32 srqn_uidx;
    struct mgds_be32 imm; /* or the key that was invalidated */
    uint8_t app[4];
    struct mgds_be32 bytes;
    struct mgds_be64 timestamp;
    struct mgds_be32 opcode_qpn; /* requester: opcode << 24 | QPN */
    struct mgds_be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own; /* opcode << 4 | format << 2 | solicited << 1 | owner */
};
MGDS_WQE_ASSERT(sizeof(struct mgds_cqe) == 64, "a line");
MGDS_WQE_ASSERT(offsetof(struct mgds_cqe, wqe_counter) == 60, "last dword");
MGDS_WQE_ASSERT(offsetof(struct mgds_cqe, op_own) == 63, "last byte");

/* The same bytes of a CQE whose opcode is REQUEST_ERROR or RECEIVE_ERROR. */
struct mgds_cqe_error {
    uint8_t reserved0[32];
    struct mgds_be32 srqn_uidx;
    uint8_t reserved1[16];
    uint8_t hw_syndrome;
    uint8_t hw_syndrome_type;
    uint8_t vendor_syndrome;
    uint8_t syndrome;
    struct mgds_be32 opcode_qpn;
    struct mgds_be16 wqe_counter;
    uint8_t signature;
    uint8_t op_own;
};
MGDS_WQE_ASSERT(sizeof(struct mgds_cqe_error) == 64, "a line");
MGDS_WQE_ASSERT(offsetof(struct mgds_cqe_error, syndrome) == 55, "byte 55");

enum mgds_cqe_opcode {
    MGDS_CQE_REQUEST = 0,
    MGDS_CQE_RECEIVE_WRITE_IMM = 1,
    MGDS_CQE_RECEIVE_SEND = 2,
    MGDS_CQE_RECEIVE_SEND_IMM = 3,
    MGDS_CQE_RECEIVE_SEND_INVAL = 4,
    MGDS_CQE_REQUEST_ERROR = 13,
    MGDS_CQE_RECEIVE_ERROR = 14,
    MGDS_CQE_INVALID = 15
};

enum {
    MGDS_CQE_BYTES = 64,
    MGDS_CQE_OWNER = 1,
    MGDS_CQE_SOLICITED = 2,
    MGDS_CQE_OPCODE_SHIFT = 4,
    MGDS_CQE_GRH = 1 << 28,
    MGDS_CQE_SL_SHIFT = 24,
    /* Programs write this into op_own of every CQE before first use. */
    MGDS_CQE_UNUSED = MGDS_CQE_INVALID << MGDS_CQE_OPCODE_SHIFT
};

enum mgds_syndrome {
    MGDS_SYNDROME_NONE = 0,
    MGDS_SYNDROME_LOCAL_LENGTH = 0x01,
    MGDS_SYNDROME_LOCAL_QP_OPERATION = 0x02,
    MGDS_SYNDROME_LOCAL_PROTECTION = 0x04,
    MGDS_SYNDROME_FLUSHED = 0x05,
    MGDS_SYNDROME_WINDOW_BIND = 0x06,
    MGDS_SYNDROME_BAD_RESPONSE = 0x10,
    MGDS_SYNDROME_LOCAL_ACCESS = 0x11,
    MGDS_SYNDROME_REMOTE_INVALID_REQUEST = 0x12,
    MGDS_SYNDROME_REMOTE_ACCESS = 0x13,
    MGDS_SYNDROME_REMOTE_OPERATION = 0x14,
    MGDS_SYNDROME_RETRY_EXCEEDED = 0x15,
    MGDS_SYNDROME_RNR_RETRY_EXCEEDED = 0x16,
    MGDS_SYNDROME_REMOTE_ABORTED = 0x22
};

#endif
