/* Datagrams through libmlx5: what it writes for each operation of UD, beside
 * the same WQE written by hand with device/abi_wqe.h, address vector included;
 * and what comes of it. */
#include <string.h>

#include "tests/hca/front/by_hand.h"
#include "tests/hca/front/verbs_pair.h"
#include "tests/lib/sanitized.h"

enum {
    QKEY = 0x1234,
    LAPS = 300,
    REMOTE = 4096,
    GRH = 40,
    ELEMENT = 300, /* between elements of a list */
    LABEL = 0x54321,
    CLASS = 0x21,
    HOPS = 9,
    SERVICE_LEVEL = 3
};

static const uint32_t immediate = 0x11223344;

struct place {
    struct verbs_pair pair;
    struct ibv_ah *ah;
    struct ibv_ah_attr path; /* from a to b */
    struct mlx5dv_qp sq;     /* of a */
    uint32_t blocks;         /* that were posted */
};

struct operation {
    const char *name;
    uint8_t opcode;
    unsigned flags;
    unsigned elements;
    uint32_t bytes; /* of each */
};

static const struct operation operations[] = {
    {"send", MGDS_WQE_SEND, 0, 1, 500},
    {"send of nothing", MGDS_WQE_SEND, 0, 0, 0},
    {"send of a list, solicited", MGDS_WQE_SEND, IBV_SEND_SOLICITED, 3, 55},
    {"send inline", MGDS_WQE_SEND, IBV_SEND_INLINE, 1, 12},
    {"send of two inline", MGDS_WQE_SEND, IBV_SEND_INLINE, 2, 30},
    {"send with immediate", MGDS_WQE_SEND_IMM, 0, 1, 200},
    {"send with immediate inline", MGDS_WQE_SEND_IMM, IBV_SEND_INLINE, 1, 44},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static void place_open(struct place *place, bool global)
{
    struct mlx5dv_obj obj = {.qp = {.out = &place->sq}};

    memset(place, 0, sizeof(*place));
    verbs_pair_open(&place->pair);
    verbs_serve_datagrams(&place->pair.a, QKEY);
    verbs_serve_datagrams(&place->pair.b, QKEY);
    place->path = verbs_rtr(&place->pair.b).ah_attr;
    place->path.is_global = global;
    place->path.sl = SERVICE_LEVEL;
    place->path.grh.flow_label = LABEL;
    place->path.grh.traffic_class = CLASS;
    place->path.grh.hop_limit = HOPS;
    place->ah = ibv_create_ah(place->pair.a.pd, &place->path);
    assert_non_null(place->ah);
    obj.qp.in = place->pair.a.qp;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
}

static void place_close(struct place *place)
{
    assert_int_equal(ibv_destroy_ah(place->ah), 0);
    verbs_pair_close(&place->pair);
}

static struct mgds_wqe_av address_vector(const struct place *place)
{
    struct mgds_wqe_av av = {
        .key.ud.qkey = mgds_to_be32(QKEY),
        .qpn = mgds_to_be32(MGDS_AV_FULL | place->pair.b.qp->qp_num),
        .rate_sl = SERVICE_LEVEL,
        .lid = mgds_to_be16(place->path.dlid),
    };

    if (!place->path.is_global)
        return av;
    av.traffic_class = CLASS;
    av.hop_limit = HOPS;
    av.grh = mgds_to_be32(MGDS_AV_GRH | LABEL);
    memcpy(av.gid, place->path.grh.dgid.raw, sizeof(av.gid));
    return av;
}

static void append_payload(struct wqe *wqe, const struct place *place,
                           const struct operation *it)
{
    struct mgds_wqe_inline head = {
        mgds_to_be32(MGDS_WQE_INLINE_FLAG | it->elements * it->bytes)};
    bool in_line = it->flags & IBV_SEND_INLINE;

    if (in_line)
        wqe_append(wqe, &head, sizeof(head));
    for (unsigned i = 0; i < it->elements; i++) {
        struct ibv_sge sge =
            verbs_sge(&place->pair.a, (size_t)ELEMENT * i, it->bytes);

        if (in_line)
            wqe_append(wqe, place->pair.a.memory + (size_t)ELEMENT * i,
                       it->bytes);
        else
            wqe_append_sge(wqe, &sge);
    }
}

static struct wqe by_hand(const struct place *place, const struct operation *it)
{
    struct wqe wqe = {.bytes = sizeof(struct mgds_wqe_ctrl)};
    struct mgds_wqe_av av = address_vector(place);
    struct mgds_wqe_ctrl ctrl = {
        .opmod_idx_opcode =
            mgds_to_be32((place->blocks & 0xffff) << 8 | it->opcode),
        .fm_ce_se = MGDS_WQE_CE_ALWAYS,
    };

    if (it->flags & IBV_SEND_SOLICITED)
        ctrl.fm_ce_se |= MGDS_WQE_SOLICITED;
    if (it->opcode == MGDS_WQE_SEND_IMM)
        ctrl.imm.raw = immediate;
    wqe_append(&wqe, &av, sizeof(av));
    append_payload(&wqe, place, it);
    wqe_end(&wqe, ctrl, place->pair.a.qp->qp_num);
    return wqe;
}

static void by_verbs(const struct place *place, const struct operation *it)
{
    struct ibv_sge list[3];
    struct ibv_send_wr wr = {
        .wr_id = place->blocks,
        .sg_list = list,
        .num_sge = (int)it->elements,
        .opcode = it->opcode == MGDS_WQE_SEND_IMM ? IBV_WR_SEND_WITH_IMM
                                                  : IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | it->flags,
        .imm_data = immediate,
        .wr.ud = {.ah = place->ah,
                  .remote_qpn = place->pair.b.qp->qp_num,
                  .remote_qkey = QKEY},
    };
    struct ibv_send_wr *bad;

    for (unsigned i = 0; i < it->elements; i++)
        list[i] = verbs_sge(&place->pair.a, (size_t)ELEMENT * i, it->bytes);
    assert_int_equal(ibv_post_send(place->pair.a.qp, &wr, &bad), 0);
}

static void expect_payload(const struct place *place,
                           const struct operation *it)
{
    const uint8_t *there = place->pair.b.memory + REMOTE + GRH;

    for (unsigned i = 0; i < it->elements; i++)
        assert_memory_equal(there + (size_t)i * it->bytes,
                            place->pair.a.memory + (size_t)ELEMENT * i,
                            it->bytes);
}

static void expect_receive(const struct place *place,
                           const struct operation *it)
{
    struct ibv_wc wc = verbs_wait(place->pair.b.cq);

    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.byte_len, GRH + it->elements * it->bytes);
    assert_int_equal(wc.src_qp, place->pair.a.qp->qp_num);
    assert_int_equal(wc.sl, SERVICE_LEVEL);
    assert_int_equal(!!(wc.wc_flags & IBV_WC_GRH), place->path.is_global);
    if (it->opcode == MGDS_WQE_SEND_IMM)
        assert_int_equal(wc.imm_data, immediate);
    expect_payload(place, it);
}

static void run(struct place *place, const struct operation *it)
{
    struct wqe wqe = by_hand(place, it);
    uint32_t index = place->blocks;
    struct ibv_wc wc;

    memset(place->pair.b.memory + REMOTE, 3, 1024);
    verbs_receive(&place->pair.b, verbs_sge(&place->pair.b, REMOTE, 1024));
    by_verbs(place, it);
    place->blocks = wqe_compare(&wqe, &place->sq, place->blocks, it->name);
    wc = verbs_wait(place->pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, index);
    expect_receive(place, it);
}

static void run_all(bool global)
{
    struct place place;

    place_open(&place, global);
    for (unsigned i = 0; i < mgds_test_laps(LAPS); i++)
        run(&place, &operations[i % OPERATIONS]);
    place_close(&place);
}

static void libmlx5_writes_what_we_write(void **state)
{
    (void)state;
    run_all(false);
}

static void it_does_so_with_a_global_address(void **state)
{
    (void)state;
    run_all(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libmlx5_writes_what_we_write),
        cmocka_unit_test(it_does_so_with_a_global_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
