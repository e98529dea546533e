/* device/abi_wqe.h beside rdma-core's mlx5dv.h: the same sizes, offsets and
 * constants. Skipped where that header was not there to compile with. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#if __has_include(<infiniband/mlx5dv.h>)
#include <infiniband/mlx5dv.h>
#define HAVE_MLX5DV 1
#else
#define HAVE_MLX5DV 0
#endif

#include "device/abi_wqe.h"

#if HAVE_MLX5DV

#define SAME_SIZE(ours, theirs)                                                \
    _Static_assert(sizeof(struct ours) == sizeof(struct theirs), #ours)
#define SAME_PLACE(ours, field, theirs, twin)                                  \
    _Static_assert(offsetof(struct ours, field) ==                             \
                           offsetof(struct theirs, twin) &&                    \
                       sizeof(((struct ours *)NULL)->field) ==                 \
                           sizeof(((struct theirs *)NULL)->twin),              \
                   #ours "." #field)
#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours)

SAME_SIZE(mgds_wqe_ctrl, mlx5_wqe_ctrl_seg);
SAME_PLACE(mgds_wqe_ctrl, opmod_idx_opcode, mlx5_wqe_ctrl_seg,
           opmod_idx_opcode);
SAME_PLACE(mgds_wqe_ctrl, qpn_ds, mlx5_wqe_ctrl_seg, qpn_ds);
SAME_PLACE(mgds_wqe_ctrl, signature, mlx5_wqe_ctrl_seg, signature);
SAME_PLACE(mgds_wqe_ctrl, fm_ce_se, mlx5_wqe_ctrl_seg, fm_ce_se);
SAME_PLACE(mgds_wqe_ctrl, imm, mlx5_wqe_ctrl_seg, imm);

SAME_SIZE(mgds_wqe_raddr, mlx5_wqe_raddr_seg);
SAME_PLACE(mgds_wqe_raddr, address, mlx5_wqe_raddr_seg, raddr);
SAME_PLACE(mgds_wqe_raddr, rkey, mlx5_wqe_raddr_seg, rkey);

SAME_SIZE(mgds_wqe_data, mlx5_wqe_data_seg);
SAME_PLACE(mgds_wqe_data, bytes, mlx5_wqe_data_seg, byte_count);
SAME_PLACE(mgds_wqe_data, lkey, mlx5_wqe_data_seg, lkey);
SAME_PLACE(mgds_wqe_data, address, mlx5_wqe_data_seg, addr);

SAME_SIZE(mgds_wqe_inline, mlx5_wqe_inl_data_seg);
SAME_SIZE(mgds_wqe_atomic, mlx5_wqe_atomic_seg);
SAME_PLACE(mgds_wqe_atomic, operand, mlx5_wqe_atomic_seg, swap_add);
SAME_PLACE(mgds_wqe_atomic, compare, mlx5_wqe_atomic_seg, compare);

SAME_SIZE(mgds_wqe_av, mlx5_wqe_av);
SAME_PLACE(mgds_wqe_av, key, mlx5_wqe_av, key);
SAME_PLACE(mgds_wqe_av, qpn, mlx5_wqe_av, dqp_dct);
SAME_PLACE(mgds_wqe_av, rate_sl, mlx5_wqe_av, stat_rate_sl);
SAME_PLACE(mgds_wqe_av, path_bits, mlx5_wqe_av, fl_mlid);
SAME_PLACE(mgds_wqe_av, lid, mlx5_wqe_av, rlid);
SAME_PLACE(mgds_wqe_av, mac, mlx5_wqe_av, rmac);
SAME_PLACE(mgds_wqe_av, traffic_class, mlx5_wqe_av, tclass);
SAME_PLACE(mgds_wqe_av, hop_limit, mlx5_wqe_av, hop_limit);
SAME_PLACE(mgds_wqe_av, grh, mlx5_wqe_av, grh_gid_fl);
SAME_PLACE(mgds_wqe_av, gid, mlx5_wqe_av, rgid);

SAME_SIZE(mgds_wqe_umr, mlx5_wqe_umr_ctrl_seg);
SAME_PLACE(mgds_wqe_umr, flags, mlx5_wqe_umr_ctrl_seg, flags);
SAME_PLACE(mgds_wqe_umr, klm_units, mlx5_wqe_umr_ctrl_seg, klm_octowords);
SAME_PLACE(mgds_wqe_umr, offset, mlx5_wqe_umr_ctrl_seg, translation_offset);
SAME_PLACE(mgds_wqe_umr, mask, mlx5_wqe_umr_ctrl_seg, mkey_mask);

SAME_SIZE(mgds_wqe_mkey, mlx5_wqe_mkey_context_seg);
SAME_PLACE(mgds_wqe_mkey, free, mlx5_wqe_mkey_context_seg, free);
SAME_PLACE(mgds_wqe_mkey, access, mlx5_wqe_mkey_context_seg, access_flags);
SAME_PLACE(mgds_wqe_mkey, qpn_key, mlx5_wqe_mkey_context_seg, qpn_mkey);
SAME_PLACE(mgds_wqe_mkey, address, mlx5_wqe_mkey_context_seg, start_addr);
SAME_PLACE(mgds_wqe_mkey, bytes, mlx5_wqe_mkey_context_seg, len);

SAME_PLACE(mgds_wqe_data, bytes, mlx5_wqe_umr_klm_seg, byte_count);
SAME_PLACE(mgds_wqe_data, lkey, mlx5_wqe_umr_klm_seg, mkey);
SAME_PLACE(mgds_wqe_data, address, mlx5_wqe_umr_klm_seg, address);

SAME_SIZE(mgds_wqe_next, mlx5_wqe_srq_next_seg);
SAME_PLACE(mgds_wqe_next, next, mlx5_wqe_srq_next_seg, next_wqe_index);

SAME_SIZE(mgds_cqe, mlx5_cqe64);
SAME_PLACE(mgds_cqe, slid, mlx5_cqe64, slid);
SAME_PLACE(mgds_cqe, flags_rqpn, mlx5_cqe64, flags_rqpn);
SAME_PLACE(mgds_cqe, srqn_uidx, mlx5_cqe64, srqn_uidx);
SAME_PLACE(mgds_cqe, imm, mlx5_cqe64, imm_inval_pkey);
SAME_PLACE(mgds_cqe, bytes, mlx5_cqe64, byte_cnt);
SAME_PLACE(mgds_cqe, timestamp, mlx5_cqe64, timestamp);
SAME_PLACE(mgds_cqe, opcode_qpn, mlx5_cqe64, sop_drop_qpn);
SAME_PLACE(mgds_cqe, wqe_counter, mlx5_cqe64, wqe_counter);
SAME_PLACE(mgds_cqe, signature, mlx5_cqe64, signature);
SAME_PLACE(mgds_cqe, op_own, mlx5_cqe64, op_own);

SAME_SIZE(mgds_cqe_error, mlx5_err_cqe);
SAME_PLACE(mgds_cqe_error, srqn_uidx, mlx5_err_cqe, srqn);
SAME_PLACE(mgds_cqe_error, vendor_syndrome, mlx5_err_cqe, vendor_err_synd);
SAME_PLACE(mgds_cqe_error, syndrome, mlx5_err_cqe, syndrome);
SAME_PLACE(mgds_cqe_error, opcode_qpn, mlx5_err_cqe, s_wqe_opcode_qpn);
SAME_PLACE(mgds_cqe_error, wqe_counter, mlx5_err_cqe, wqe_counter);
SAME_PLACE(mgds_cqe_error, op_own, mlx5_err_cqe, op_own);

/* MGDS_WQE_DUMP is not in mlx5dv.h. */
SAME(MGDS_WQE_NOP, MLX5_OPCODE_NOP);
SAME(MGDS_WQE_SEND_INVAL, MLX5_OPCODE_SEND_INVAL);
SAME(MGDS_WQE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE);
SAME(MGDS_WQE_RDMA_WRITE_IMM, MLX5_OPCODE_RDMA_WRITE_IMM);
SAME(MGDS_WQE_SEND, MLX5_OPCODE_SEND);
SAME(MGDS_WQE_SEND_IMM, MLX5_OPCODE_SEND_IMM);
SAME(MGDS_WQE_RDMA_READ, MLX5_OPCODE_RDMA_READ);
SAME(MGDS_WQE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_CS);
SAME(MGDS_WQE_ATOMIC_FA, MLX5_OPCODE_ATOMIC_FA);
SAME(MGDS_WQE_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_CS);
SAME(MGDS_WQE_MASKED_FA, MLX5_OPCODE_ATOMIC_MASKED_FA);
SAME(MGDS_WQE_UMR, MLX5_OPCODE_UMR);
SAME(MGDS_AV_FULL, MLX5_EXTENDED_UD_AV);

SAME(MGDS_WQE_BLOCK, MLX5_SEND_WQE_BB);
SAME(MGDS_WQE_INLINE_FLAG, MLX5_INLINE_SEG);
SAME(MGDS_WQE_INVALID_LKEY, MLX5_INVALID_LKEY);
SAME(MGDS_WQE_CE_ALWAYS, MLX5_WQE_CTRL_CQ_UPDATE);
SAME(MGDS_WQE_SOLICITED, MLX5_WQE_CTRL_SOLICITED);
SAME(MGDS_WQE_FENCE_BOTH, MLX5_WQE_CTRL_FENCE);
SAME(MGDS_WQE_FENCE_SMALL, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE);
SAME(MGDS_DBREC_RECEIVE, MLX5_RCV_DBR);
SAME(MGDS_DBREC_SEND, MLX5_SND_DBR);

SAME(MGDS_UMR_INLINE, MLX5_WQE_UMR_CTRL_FLAG_INLINE);
SAME(MGDS_UMR_CHECK_FREE, MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE);
SAME(MGDS_UMR_OFFSET, MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET);
SAME(MGDS_UMR_CHECK_QPN, MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN);
SAME(MGDS_UMR_MASK_BYTES, MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN);
SAME(MGDS_UMR_MASK_ADDRESS, MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR);
SAME(MGDS_UMR_MASK_KEY, MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY);
SAME(MGDS_UMR_MASK_QPN, MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN);
SAME(MGDS_UMR_MASK_LOCAL_WRITE, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE);
SAME(MGDS_UMR_MASK_REMOTE_READ, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ);
SAME(MGDS_UMR_MASK_REMOTE_WRITE,
     MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE);
SAME(MGDS_UMR_MASK_ATOMIC, MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC);
SAME(MGDS_UMR_MASK_FREE, MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE);
SAME(MGDS_MKEY_FREE, MLX5_WQE_MKEY_CONTEXT_FREE);
SAME(MGDS_MKEY_LOCAL_WRITE, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE);
SAME(MGDS_MKEY_REMOTE_READ, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ);
SAME(MGDS_MKEY_REMOTE_WRITE, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE);
SAME(MGDS_MKEY_ATOMIC, MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC);

SAME(MGDS_CQE_REQUEST, MLX5_CQE_REQ);
SAME(MGDS_CQE_RECEIVE_WRITE_IMM, MLX5_CQE_RESP_WR_IMM);
SAME(MGDS_CQE_RECEIVE_SEND, MLX5_CQE_RESP_SEND);
SAME(MGDS_CQE_RECEIVE_SEND_IMM, MLX5_CQE_RESP_SEND_IMM);
SAME(MGDS_CQE_RECEIVE_SEND_INVAL, MLX5_CQE_RESP_SEND_INV);
SAME(MGDS_CQE_REQUEST_ERROR, MLX5_CQE_REQ_ERR);
SAME(MGDS_CQE_RECEIVE_ERROR, MLX5_CQE_RESP_ERR);
SAME(MGDS_CQE_INVALID, MLX5_CQE_INVALID);
SAME(MGDS_CQE_OWNER, MLX5_CQE_OWNER_MASK);

SAME(MGDS_SYNDROME_LOCAL_LENGTH, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
SAME(MGDS_SYNDROME_LOCAL_QP_OPERATION, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
SAME(MGDS_SYNDROME_LOCAL_PROTECTION, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
SAME(MGDS_SYNDROME_FLUSHED, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
SAME(MGDS_SYNDROME_WINDOW_BIND, MLX5_CQE_SYNDROME_MW_BIND_ERR);
SAME(MGDS_SYNDROME_BAD_RESPONSE, MLX5_CQE_SYNDROME_BAD_RESP_ERR);
SAME(MGDS_SYNDROME_LOCAL_ACCESS, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
SAME(MGDS_SYNDROME_REMOTE_INVALID_REQUEST,
     MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
SAME(MGDS_SYNDROME_REMOTE_ACCESS, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
SAME(MGDS_SYNDROME_REMOTE_OPERATION, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
SAME(MGDS_SYNDROME_RETRY_EXCEEDED, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
SAME(MGDS_SYNDROME_RNR_RETRY_EXCEEDED, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
SAME(MGDS_SYNDROME_REMOTE_ABORTED, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR);

/* What rdma-core's inline functions write. */
static void ctrl_and_data_are_what_mlx5dv_writes(void **state)
{
    struct mlx5_wqe_ctrl_seg ctrl = {.qpn_ds = 0};
    struct mlx5_wqe_data_seg data;
    const struct mgds_wqe_ctrl ours = {
        .opmod_idx_opcode = mgds_to_be32(0xfffeu << 8 | MGDS_WQE_SEND_IMM),
        .qpn_ds = mgds_to_be32(0x123456u << 8 | 2),
        .fm_ce_se = MGDS_WQE_CE_ALWAYS | MGDS_WQE_SOLICITED,
        .imm = mgds_to_be32(7),
    };
    const struct mgds_wqe_data segment = {
        .bytes = mgds_to_be32(4096),
        .lkey = mgds_to_be32(0x1234),
        .address = mgds_to_be64(UINT64_C(0x7fff12345678)),
    };

    (void)state;
    mlx5dv_set_ctrl_seg(&ctrl, 0xfffe, MLX5_OPCODE_SEND_IMM, 0, 0x123456,
                        MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_SOLICITED, 2, 0,
                        mgds_to_be32(7).raw);
    assert_memory_equal(&ctrl, &ours, sizeof(ours));
    mlx5dv_set_data_seg(&data, 4096, 0x1234, (uintptr_t)0x7fff12345678);
    assert_memory_equal(&data, &segment, sizeof(segment));
}

#endif

static void conversions_swap_bytes(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct mgds_be16 be16 = mgds_to_be16(0x0102);
    struct mgds_be32 be32 = mgds_to_be32(0x01020304);
    struct mgds_be64 be64 = mgds_to_be64(UINT64_C(0x0102030405060708));

    (void)state;
    assert_memory_equal(&be16, bytes, sizeof(be16));
    assert_memory_equal(&be32, bytes, sizeof(be32));
    assert_memory_equal(&be64, bytes, sizeof(be64));
    assert_int_equal(mgds_from_be16(be16), 0x0102);
    assert_int_equal(mgds_from_be32(be32), 0x01020304);
    assert_int_equal(mgds_from_be64(be64), UINT64_C(0x0102030405060708));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conversions_swap_bytes),
#if HAVE_MLX5DV
        cmocka_unit_test(ctrl_and_data_are_what_mlx5dv_writes),
#endif
    };
    int rc = cmocka_run_group_tests(tests, NULL, NULL);

    if (rc == 0 && !HAVE_MLX5DV) {
        puts("skipped: no infiniband/mlx5dv.h to compare with");
        return 77;
    }
    return rc;
}
