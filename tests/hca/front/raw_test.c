/* Operations that libmlx5 has no verb for, written by hand with
 * device/abi_wqe.h and posted through it (mlx5dv_wr_raw_wqe): NOP, DUMP and
 * masked atomics. It puts them into its ring, rings, and polls for them. */
#include <string.h>

#include "tests/hca/front/by_hand.h"
#include "tests/hca/front/verbs_pair.h"

enum { REMOTE = 4096, OLD = 512, BYTES = 64 };

struct place {
    struct verbs_pair pair;
    struct mlx5dv_qp sq; /* of a */
    uint32_t blocks;     /* that were posted */
};

static void create_raw(struct verbs_side *side)
{
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_RC,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .pd = side->pd,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .send_ops_flags = IBV_QP_EX_WITH_SEND,
        .cap = {.max_send_wr = PAIR_WRS,
                .max_recv_wr = 1,
                .max_send_sge = 2,
                .max_recv_sge = 1}};
    struct mlx5dv_qp_init_attr raw = {
        .comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
        .send_ops_flags = MLX5DV_QP_EX_WITH_RAW_WQE};

    assert_int_equal(ibv_destroy_qp(side->qp), 0);
    side->qp = mlx5dv_create_qp(side->pd->context, &attr, &raw);
    assert_non_null(side->qp);
}

static void place_open(struct place *place)
{
    struct mlx5dv_obj obj = {.qp = {.out = &place->sq}};

    memset(place, 0, sizeof(*place));
    verbs_pair_open(&place->pair);
    create_raw(&place->pair.a);
    verbs_reset(&place->pair.b);
    verbs_connect(&place->pair.a, &place->pair.b);
    verbs_connect(&place->pair.b, &place->pair.a);
    obj.qp.in = place->pair.a.qp;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
}

static struct wqe begin(const struct place *place, uint8_t opmod,
                        uint8_t opcode)
{
    struct wqe wqe = {.bytes = sizeof(struct mgds_wqe_ctrl)};
    struct mgds_wqe_ctrl ctrl = {
        .opmod_idx_opcode = mgds_to_be32(
            (uint32_t)opmod << 24 | (place->blocks & 0xffff) << 8 | opcode),
        .fm_ce_se = MGDS_WQE_CE_ALWAYS};

    memcpy(wqe.at, &ctrl, sizeof(ctrl));
    return wqe;
}

/* libmlx5 takes the size from there, and knows the QP itself. */
static void end(const struct place *place, struct wqe *wqe)
{
    struct mgds_be32 qpn_ds = mgds_to_be32(
        place->pair.a.qp->qp_num << 8 | (uint32_t)(wqe->bytes / MGDS_WQE_UNIT));

    memcpy(wqe->at + offsetof(struct mgds_wqe_ctrl, qpn_ds), &qpn_ds,
           sizeof(qpn_ds));
}

static enum ibv_wc_status post(struct place *place, struct wqe *wqe,
                               const char *name)
{
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(place->pair.a.qp);
    struct ibv_wc wc;

    end(place, wqe);
    ibv_wr_start(qp);
    qp->wr_id = place->blocks;
    qp->wr_flags = IBV_SEND_SIGNALED;
    mlx5dv_wr_raw_wqe(mlx5dv_qp_ex_from_ibv_qp_ex(qp), wqe->at);
    assert_int_equal(ibv_wr_complete(qp), 0);
    wc = verbs_wait(place->pair.a.cq);
    assert_int_equal(wc.wr_id, place->blocks);
    place->blocks = wqe_compare(wqe, &place->sq, place->blocks, name);
    return wc.status;
}

static void append_local(struct wqe *wqe, const struct place *place,
                         size_t offset, uint32_t bytes)
{
    struct ibv_sge sge = verbs_sge(&place->pair.a, offset, bytes);

    wqe_append_sge(wqe, &sge);
}

static void nothing_is_done(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place);
    for (unsigned i = 0; i < 3u * PAIR_WRS; i++) {
        wqe = begin(&place, 0, MGDS_WQE_NOP);
        assert_int_equal(post(&place, &wqe, "NOP"), IBV_WC_SUCCESS);
    }
    verbs_pair_close(&place.pair);
}

static void memory_is_dumped(void **state)
{
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place);
    wqe = begin(&place, 0, MGDS_WQE_DUMP);
    append_local(&wqe, &place, 0, BYTES);
    assert_int_equal(post(&place, &wqe, "DUMP"), IBV_WC_SUCCESS);
    wqe = begin(&place, 0, MGDS_WQE_DUMP);
    append_local(&wqe, &place, PAIR_MEMORY, BYTES);
    assert_int_equal(post(&place, &wqe, "DUMP of too much"),
                     IBV_WC_LOC_PROT_ERR);
    verbs_pair_close(&place.pair);
}

static struct wqe begin_masked(const struct place *place, uint8_t opmod,
                               uint8_t opcode)
{
    struct wqe wqe = begin(place, opmod, opcode);
    struct mgds_wqe_raddr raddr = {
        .address = mgds_to_be64((uintptr_t)place->pair.b.memory + REMOTE),
        .rkey = mgds_to_be32(place->pair.b.mr->rkey)};

    wqe_append(&wqe, &raddr, sizeof(raddr));
    return wqe;
}

/* Posts the masked atomic: what the word was, and is now. */
static void change(struct place *place, struct wqe *wqe, uint64_t before,
                   uint32_t bytes, uint64_t after)
{
    uint8_t *there = place->pair.b.memory + REMOTE;
    uint64_t found = 0;

    memcpy(there, &before, sizeof(before));
    append_local(wqe, place, OLD, bytes);
    assert_int_equal(post(place, wqe, "masked atomic"), IBV_WC_SUCCESS);
    assert_memory_equal(place->pair.a.memory + OLD, &before, bytes);
    memcpy(&found, there, sizeof(found));
    assert_int_equal(found, after);
}

static void fields_are_added_to(void **state)
{
    struct mgds_wqe_masked_fa_8 eight = {
        .operand = mgds_to_be64(UINT64_C(0x00000001000000ff)),
        .boundary = mgds_to_be64(UINT64_C(0x0000000080000000))};
    struct mgds_wqe_masked_fa_4 four = {.operand = mgds_to_be32(0x00010001),
                                        .boundary = mgds_to_be32(0x8000)};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place);
    wqe = begin_masked(&place, MGDS_WQE_MASKED_8, MGDS_WQE_MASKED_FA);
    wqe_append(&wqe, &eight, sizeof(eight));
    change(&place, &wqe, UINT64_C(0x00000007ffffff01), 8,
           UINT64_C(0x0000000800000000));
    wqe = begin_masked(&place, MGDS_WQE_MASKED_4, MGDS_WQE_MASKED_FA);
    wqe_append(&wqe, &four, sizeof(four));
    change(&place, &wqe, UINT64_C(0x1111111100fdffff), 4,
           UINT64_C(0x1111111100fe0000));
    verbs_pair_close(&place.pair);
}

static void fields_are_swapped(void **state)
{
    struct mgds_wqe_masked_cs_8 eight = {
        .swap = mgds_to_be64(UINT64_C(0xaaaaaaaabbbbbbbb)),
        .compare = mgds_to_be64(7),
        .swap_mask = mgds_to_be64(UINT64_C(0x00000000ffffffff)),
        .compare_mask = mgds_to_be64(0xff)};
    struct mgds_wqe_masked_cs_4 four = {.swap = mgds_to_be32(0xcccc),
                                        .compare = mgds_to_be32(8),
                                        .swap_mask = mgds_to_be32(0xffff),
                                        .compare_mask = mgds_to_be32(0xff)};
    struct place place;
    struct wqe wqe;

    (void)state;
    place_open(&place);
    wqe = begin_masked(&place, MGDS_WQE_MASKED_8, MGDS_WQE_MASKED_CS);
    wqe_append(&wqe, &eight, sizeof(eight));
    change(&place, &wqe, UINT64_C(0x1234567800000007), 8,
           UINT64_C(0x12345678bbbbbbbb));
    wqe = begin_masked(&place, MGDS_WQE_MASKED_4, MGDS_WQE_MASKED_CS);
    wqe_append(&wqe, &four, sizeof(four));
    change(&place, &wqe, 9, 4, 9); /* it is not 8 */
    verbs_pair_close(&place.pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_done),
        cmocka_unit_test(memory_is_dumped),
        cmocka_unit_test(fields_are_added_to),
        cmocka_unit_test(fields_are_swapped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
