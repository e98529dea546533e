/* Dynamic connections through libmlx5: what it writes for each operation of a
 * DCI, beside the same WQE written by hand with device/abi_wqe.h, and by its
 * builder in device/impl/wqe.h; and what DCI and DCT are told. */
#include <errno.h>
#include <string.h>

#include "tests/hca/front/by_hand.h"
#include "tests/hca/front/verbs_pair.h"
#include "tests/lib/sanitized.h"

enum { REMOTE = 4096, BYTES = 600, LAPS = 300, RECEIVES = 8 };

static const uint64_t dc_key = 0x1ee7a330;
static const uint32_t immediate = 0x11223344;

/* A DCI of side a, and a DCT of side b with its SRQ; their QPs of RC are not
 * used. */
struct place {
    struct ibv_context *context;
    struct verbs_side a;
    struct verbs_side b;
    struct ibv_srq *srq;
    struct ibv_qp *dci;
    struct ibv_qp *dct;
    struct ibv_ah *ah;
    struct mlx5dv_qp sq; /* of the DCI */
    struct mlx5dv_ah av;
    uint32_t blocks; /* that were posted */
};

static struct ibv_qp_init_attr_ex qp_attr(const struct verbs_side *side,
                                          struct ibv_srq *srq)
{
    return (struct ibv_qp_init_attr_ex){
        .qp_type = IBV_QPT_DRIVER,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .srq = srq,
        .pd = side->pd,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
    };
}

static struct ibv_qp *create_dci(const struct verbs_side *side)
{
    struct ibv_qp_init_attr_ex attr = qp_attr(side, NULL);
    struct mlx5dv_qp_init_attr dynamic = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
        .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCI},
    };

    attr.cap = (struct ibv_qp_cap){
        .max_send_wr = PAIR_WRS, .max_send_sge = 1, .max_inline_data = 60};
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags =
        IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
        IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND |
        IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
        IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP;
    return mlx5dv_create_qp(side->pd->context, &attr, &dynamic);
}

static struct ibv_qp *create_dct(const struct verbs_side *side,
                                 struct ibv_srq *srq)
{
    struct ibv_qp_init_attr_ex attr = qp_attr(side, srq);
    struct mlx5dv_qp_init_attr dynamic = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC,
        .dc_init_attr = {.dc_type = MLX5DV_DCTYPE_DCT,
                         .dct_access_key = dc_key},
    };

    return mlx5dv_create_qp(side->pd->context, &attr, &dynamic);
}

static const struct ibv_qp_attr rtr = {
    .qp_state = IBV_QPS_RTR,
    .path_mtu = IBV_MTU_1024,
    .min_rnr_timer = 1,
    .ah_attr = {.port_num = 1, .is_global = 1},
};

static void ready_dct(struct ibv_qp *dct)
{
    struct ibv_qp_attr attr = rtr;

    assert_int_equal(verbs_init(dct), 0);
    assert_int_equal(ibv_modify_qp(dct, &attr,
                                   IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER |
                                       IBV_QP_AV | IBV_QP_PATH_MTU),
                     0);
    assert_true(dct->qp_num > 0);
}

static void ready_dci(struct ibv_qp *dci)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

    assert_int_equal(
        ibv_modify_qp(dci, &attr,
                      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT),
        0);
    attr = rtr;
    assert_int_equal(ibv_modify_qp(dci, &attr, IBV_QP_STATE | IBV_QP_PATH_MTU),
                     0);
    assert_int_equal(verbs_rts(dci, 7), 0);
}

static void open_place(struct place *place)
{
    struct ibv_srq_init_attr srq = {
        .attr = {.max_wr = RECEIVES - 1, .max_sge = 1}};
    struct mlx5dv_obj obj = {.qp = {.out = &place->sq},
                             .ah = {.out = &place->av}};
    struct ibv_qp_attr path;

    memset(place, 0, sizeof(*place));
    place->context = verbs_open();
    verbs_side_open(place->context, &place->a);
    verbs_side_open(place->context, &place->b);
    for (unsigned i = 0; i < PAIR_MEMORY; i++)
        place->a.memory[i] = (uint8_t)(i * 7);
    place->srq = ibv_create_srq(place->b.pd, &srq);
    assert_non_null(place->srq);
    place->dct = create_dct(&place->b, place->srq);
    place->dci = create_dci(&place->a);
    assert_non_null(place->dct);
    assert_non_null(place->dci);
    ready_dct(place->dct);
    ready_dci(place->dci);
    path = verbs_rtr(&place->b);
    place->ah = ibv_create_ah(place->a.pd, &path.ah_attr);
    assert_non_null(place->ah);
    obj.qp.in = place->dci;
    obj.ah.in = place->ah;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_AH), 0);
}

static void close_place(struct place *place)
{
    assert_int_equal(ibv_destroy_ah(place->ah), 0);
    assert_int_equal(ibv_destroy_qp(place->dci), 0);
    assert_int_equal(ibv_destroy_qp(place->dct), 0);
    assert_int_equal(ibv_destroy_srq(place->srq), 0);
    verbs_side_close(&place->a);
    verbs_side_close(&place->b);
    assert_int_equal(ibv_close_device(place->context), 0);
}

struct operation {
    uint32_t bytes;
    uint8_t opcode;
    bool in_line;
};

static const struct operation operations[] = {
    {BYTES, MGDS_WQE_RDMA_WRITE, false}, {44, MGDS_WQE_RDMA_WRITE, true},
    {BYTES, MGDS_WQE_SEND, false},       {BYTES, MGDS_WQE_RDMA_READ, false},
    {12, MGDS_WQE_SEND_IMM, true},       {8, MGDS_WQE_ATOMIC_FA, false},
    {8, MGDS_WQE_ATOMIC_CS, false},      {64, MGDS_WQE_RDMA_WRITE_IMM, false},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static bool is_send(const struct operation *it)
{
    return it->opcode == MGDS_WQE_SEND || it->opcode == MGDS_WQE_SEND_IMM;
}

static bool has_immediate(const struct operation *it)
{
    return it->opcode == MGDS_WQE_SEND_IMM ||
           it->opcode == MGDS_WQE_RDMA_WRITE_IMM;
}

static uint64_t remote_address(const struct place *place)
{
    return (uintptr_t)place->b.memory + REMOTE;
}

static struct mgds_wqe_av av_of(const struct place *place)
{
    struct mgds_wqe_av av;

    memcpy(&av, place->av.av, sizeof(av));
    av.key.dc_key = mgds_to_be64(dc_key);
    av.qpn = mgds_to_be32(MGDS_AV_FULL | place->dct->qp_num);
    return av;
}

static void append_data(struct wqe *wqe, const struct place *place,
                        const struct operation *it)
{
    struct ibv_sge sge = verbs_sge(&place->a, 0, it->bytes);
    struct mgds_wqe_inline head = {
        mgds_to_be32(MGDS_WQE_INLINE_FLAG | it->bytes)};

    if (it->in_line) {
        wqe_append(wqe, &head, sizeof(head));
        wqe_append(wqe, place->a.memory, it->bytes);
    } else {
        wqe_append_sge(wqe, &sge);
    }
}

static struct wqe by_hand(const struct place *place, const struct operation *it)
{
    struct wqe wqe = {.bytes = sizeof(struct mgds_wqe_ctrl)};
    struct mgds_wqe_ctrl ctrl = {
        .opmod_idx_opcode =
            mgds_to_be32((place->blocks & 0xffff) << 8 | it->opcode),
        .fm_ce_se = MGDS_WQE_CE_ALWAYS,
        .imm = {has_immediate(it) ? immediate : 0},
    };
    struct mgds_wqe_raddr raddr = {
        .address = mgds_to_be64(remote_address(place)),
        .rkey = mgds_to_be32(place->b.mr->rkey),
    };
    struct mgds_wqe_av av = av_of(place);

    wqe_append(&wqe, &av, sizeof(av));
    if (!is_send(it))
        wqe_append(&wqe, &raddr, sizeof(raddr));
    if (it->opcode == MGDS_WQE_ATOMIC_CS || it->opcode == MGDS_WQE_ATOMIC_FA)
        wqe_append_atomic(&wqe, it->opcode, 42, 7);
    append_data(&wqe, place, it);
    wqe_end(&wqe, ctrl, place->dci->qp_num);
    return wqe;
}

/* Of SEND_IMM there is no builder. */
static struct mgds_wqe build(const struct place *place,
                             const struct operation *it)
{
    const struct mgds_wqe_av av = av_of(place);
    const struct mgds_wqe_path path = {place->dci->qp_num, &av};
    const struct mgds_wqe_remote remote = {remote_address(place),
                                           place->b.mr->rkey};
    const struct mgds_wqe_local local = {(uintptr_t)place->a.memory, it->bytes,
                                         place->a.mr->lkey};
    const struct mgds_wqe_swap swap = {7, 42};
    const unsigned flags = MGDS_WQE_CE_ALWAYS;

    switch (it->opcode) {
    case MGDS_WQE_RDMA_WRITE:
        return it->in_line ? mgds_wqe_write_inline(path, flags, remote,
                                                   place->a.memory, it->bytes)
                           : mgds_wqe_write(path, flags, remote, local);
    case MGDS_WQE_RDMA_WRITE_IMM:
        return mgds_wqe_write_imm(path, flags, remote, local, immediate);
    case MGDS_WQE_RDMA_READ:
        return mgds_wqe_read(path, flags, remote, local);
    case MGDS_WQE_ATOMIC_FA:
        return mgds_wqe_fetch_add(path, flags, remote, 42, local);
    case MGDS_WQE_ATOMIC_CS:
        return mgds_wqe_compare_swap(path, flags, remote, swap, local);
    default:
        return mgds_wqe_send(path, flags, local);
    }
}

static void start(struct ibv_qp_ex *qp, const struct operation *it,
                  uint32_t rkey, uint64_t address)
{
    switch (it->opcode) {
    case MGDS_WQE_RDMA_WRITE:
        ibv_wr_rdma_write(qp, rkey, address);
        break;
    case MGDS_WQE_RDMA_WRITE_IMM:
        ibv_wr_rdma_write_imm(qp, rkey, address, immediate);
        break;
    case MGDS_WQE_RDMA_READ:
        ibv_wr_rdma_read(qp, rkey, address);
        break;
    case MGDS_WQE_ATOMIC_FA:
        ibv_wr_atomic_fetch_add(qp, rkey, address, 42);
        break;
    case MGDS_WQE_ATOMIC_CS:
        ibv_wr_atomic_cmp_swp(qp, rkey, address, 7, 42);
        break;
    case MGDS_WQE_SEND_IMM:
        ibv_wr_send_imm(qp, immediate);
        break;
    default:
        ibv_wr_send(qp);
    }
}

static void by_verbs(const struct place *place, const struct operation *it,
                     uint64_t key)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(place->dci);
    struct ibv_sge sge = verbs_sge(&place->a, 0, it->bytes);

    ibv_wr_start(qp);
    qp->wr_id = place->blocks;
    qp->wr_flags = IBV_SEND_SIGNALED;
    start(qp, it, place->b.mr->rkey, remote_address(place));
    mlx5dv_wr_set_dc_addr(mlx5dv_qp_ex_from_ibv_qp_ex(qp), place->ah,
                          place->dct->qp_num, key);
    if (it->in_line)
        ibv_wr_set_inline_data(qp, place->a.memory, it->bytes);
    else
        ibv_wr_set_sge(qp, sge.lkey, sge.addr, sge.length);
    assert_int_equal(ibv_wr_complete(qp), 0);
}

static void post_receive(struct place *place)
{
    struct ibv_sge sge = verbs_sge(&place->b, REMOTE, 1024);
    struct ibv_recv_wr *bad, wr = {.wr_id = 77, .sg_list = &sge, .num_sge = 1};

    assert_int_equal(ibv_post_srq_recv(place->srq, &wr, &bad), 0);
}

/* libmlx5 finds the DCT by the user index that the CQE has. */
static void expect_receive(struct place *place, const struct operation *it)
{
    struct ibv_wc wc = verbs_wait(place->b.cq);

    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, 77);
    assert_int_equal(wc.qp_num, place->dct->qp_num);
    assert_int_equal(wc.src_qp, place->dci->qp_num);
    assert_int_equal(wc.byte_len, it->bytes);
    if (has_immediate(it))
        assert_int_equal(wc.imm_data, immediate);
}

/* Memory there, before and after. */
static void check_memory(const struct place *place, const struct operation *it,
                         uint64_t before)
{
    uint64_t after;

    memcpy(&after, place->b.memory + REMOTE, sizeof(after));
    if (it->opcode == MGDS_WQE_ATOMIC_FA)
        assert_int_equal(after, before + 42);
    else if (it->opcode == MGDS_WQE_ATOMIC_CS)
        assert_int_equal(after, before == 7 ? 42 : before);
    else
        assert_memory_equal(place->b.memory + REMOTE, place->a.memory,
                            it->bytes);
}

static void run(struct place *place, const struct operation *it)
{
    bool receives = is_send(it) || has_immediate(it);
    uint64_t before = it->opcode == MGDS_WQE_ATOMIC_CS ? 7 : 1000;
    uint32_t index = place->blocks;
    struct wqe wqe = by_hand(place, it);
    struct ibv_wc wc;

    memset(place->b.memory + REMOTE, 3, 1024);
    memcpy(place->b.memory + REMOTE, &before, sizeof(before));
    if (receives)
        post_receive(place);
    by_verbs(place, it, dc_key);
    if (it->opcode != MGDS_WQE_SEND_IMM)
        wqe_compare_built(&wqe, build(place, it), &place->sq, place->blocks,
                          "DCI, built");
    place->blocks = wqe_compare(&wqe, &place->sq, place->blocks, "DCI");
    wc = verbs_wait(place->a.cq);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, index);
    assert_int_equal(wc.qp_num, place->dci->qp_num);
    if (receives)
        expect_receive(place, it);
    check_memory(place, it, before);
}

static void libmlx5_writes_what_we_write(void **state)
{
    struct place place;

    (void)state;
    open_place(&place);
    for (unsigned i = 0; i < mgds_test_laps(LAPS); i++)
        run(&place, &operations[i % OPERATIONS]);
    close_place(&place);
}

/* Programs do so after an error, UCX for one. */
static void a_dci_is_used_again(void **state)
{
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    struct place place;

    (void)state;
    open_place(&place);
    run(&place, &operations[0]);
    by_verbs(&place, &operations[0], dc_key + 1);
    assert_int_equal(verbs_wait(place.a.cq).status, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_modify_qp(place.dci, &reset, IBV_QP_STATE), 0);
    ready_dci(place.dci);
    place.blocks = 0;
    run(&place, &operations[0]);
    close_place(&place);
}

static void states_are_those_of_the_kernel(void **state)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct place place;

    (void)state;
    open_place(&place);
    assert_int_equal(ibv_modify_qp(place.dct, &attr, IBV_QP_STATE), EINVAL);
    assert_int_equal(verbs_rts(place.dct, 7), EINVAL);
    assert_int_equal(ibv_modify_qp(place.dci, &attr, IBV_QP_STATE), 0);
    assert_null(create_dct(&place.b, NULL));
    assert_int_equal(errno, EINVAL);
    close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libmlx5_writes_what_we_write),
        cmocka_unit_test(a_dci_is_used_again),
        cmocka_unit_test(states_are_those_of_the_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
