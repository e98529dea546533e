/* What libmlx5 writes to bind and invalidate memory windows, beside the same
 * WQEs written by hand with device/abi_wqe.h; and what the device makes of
 * them. */
#include <string.h>

#include "tests/hca/front/by_hand.h"
#include "tests/hca/front/verbs_pair.h"
#include "tests/lib/sanitized.h"

enum { WINDOW_AT = 4096, WINDOW_BYTES = 256, LAPS = 400 };

struct place {
    struct verbs_pair pair;
    struct ibv_mr *region; /* of a's memory, for windows */
    struct ibv_mw *first;  /* of type 1 and 2, of a */
    struct ibv_mw *second;
    struct mlx5dv_qp sq; /* of a */
    uint32_t blocks;     /* posted by a */
    bool fenced;         /* its next WQE comes behind a bind */
};

static void place_open(struct place *place)
{
    struct mlx5dv_obj obj = {0};
    struct verbs_side *a = &place->pair.a;

    memset(place, 0, sizeof(*place));
    verbs_pair_open(&place->pair);
    place->region = ibv_reg_mr(a->pd, a->memory, PAIR_MEMORY,
                               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    assert_non_null(place->region);
    place->first = ibv_alloc_mw(a->pd, IBV_MW_TYPE_1);
    place->second = ibv_alloc_mw(a->pd, IBV_MW_TYPE_2);
    assert_non_null(place->first);
    assert_non_null(place->second);
    obj.qp.in = a->qp;
    obj.qp.out = &place->sq;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
}

static void place_close(struct place *place)
{
    assert_int_equal(ibv_dealloc_mw(place->first), 0);
    assert_int_equal(ibv_dealloc_mw(place->second), 0);
    assert_int_equal(ibv_dereg_mr(place->region), 0);
    verbs_pair_close(&place->pair);
}

static uint64_t window_address(const struct place *place)
{
    return (uintptr_t)place->pair.a.memory + WINDOW_AT;
}

static void append_ctrl(struct wqe *wqe, const struct place *place,
                        uint8_t opcode, unsigned units, uint32_t key)
{
    struct mgds_wqe_ctrl ctrl = {
        .opmod_idx_opcode =
            mgds_to_be32((place->blocks & 0xffff) << 8 | opcode),
        .qpn_ds = mgds_to_be32(place->pair.a.qp->qp_num << 8 | units),
        .fm_ce_se = (uint8_t)(MGDS_WQE_CE_ALWAYS |
                              (place->fenced ? MGDS_WQE_FENCE_SMALL : 0)),
        .imm = mgds_to_be32(key),
    };

    wqe_append(wqe, &ctrl, sizeof(ctrl));
}

static void append_umr(struct wqe *wqe, bool second, bool binds)
{
    uint64_t mask = MGDS_UMR_MASK_FREE | MGDS_UMR_MASK_KEY;
    struct mgds_wqe_umr umr = {.flags = MGDS_UMR_INLINE | MGDS_UMR_OFFSET};

    if (binds)
        mask |= MGDS_UMR_MASK_BYTES | MGDS_UMR_MASK_ADDRESS |
                MGDS_UMR_MASK_LOCAL_WRITE | MGDS_UMR_MASK_REMOTE_READ |
                MGDS_UMR_MASK_REMOTE_WRITE | MGDS_UMR_MASK_ATOMIC;
    if (second) {
        mask |= MGDS_UMR_MASK_QPN;
        umr.flags |= binds ? MGDS_UMR_CHECK_FREE : MGDS_UMR_CHECK_QPN;
    }
    umr.klm_units = mgds_to_be16(binds ? MGDS_WQE_BLOCK_UNITS : 0);
    umr.mask = mgds_to_be64(mask);
    wqe_append(wqe, &umr, sizeof(umr));
}

/* libmlx5 leaves as it was what the mask leaves out. */
static void append_key(struct wqe *wqe, const struct place *place, bool second,
                       bool binds, uint8_t variant)
{
    uint32_t qpn =
        second && binds ? place->pair.a.qp->qp_num : MGDS_MKEY_ANY_QPN;
    bool *left = wqe->left + wqe->bytes;
    struct mgds_wqe_mkey key = {
        .free = binds ? 0 : MGDS_MKEY_FREE,
        .qpn_key = mgds_to_be32(qpn << 8 | variant),
    };

    if (binds) {
        key.access = MGDS_MKEY_REMOTE_WRITE | MGDS_MKEY_REMOTE_READ;
        key.address = mgds_to_be64(window_address(place));
        key.bytes = mgds_to_be64(WINDOW_BYTES);
    }
    wqe_append(wqe, &key, sizeof(key));
    memset(left, true, sizeof(key));
    left[offsetof(struct mgds_wqe_mkey, free)] = false;
    memset(left + offsetof(struct mgds_wqe_mkey, qpn_key), false, 4);
    if (!binds)
        return;
    left[offsetof(struct mgds_wqe_mkey, access)] = false;
    memset(left + offsetof(struct mgds_wqe_mkey, address), false, 16);
}

static void append_memory(struct wqe *wqe, const struct place *place)
{
    static const uint8_t padding[MGDS_WQE_BLOCK - MGDS_WQE_UNIT];
    struct mgds_wqe_data memory = {
        .bytes = mgds_to_be32(WINDOW_BYTES),
        .lkey = mgds_to_be32(place->region->lkey),
        .address = mgds_to_be64(window_address(place)),
    };

    wqe_append(wqe, &memory, sizeof(memory));
    wqe_append(wqe, padding, sizeof(padding));
}

/* Binds a window whose key is `key`, or binds nothing. */
static struct wqe by_hand(const struct place *place, bool second, bool binds,
                          uint32_t key, uint8_t variant)
{
    struct wqe wqe = {.bytes = 0};

    append_ctrl(&wqe, place, MGDS_WQE_UMR, binds ? 12 : 8, key);
    append_umr(&wqe, second, binds);
    append_key(&wqe, place, second, binds, variant);
    if (binds)
        append_memory(&wqe, place);
    return wqe;
}

static void assert_same(struct place *place, const struct wqe *wqe,
                        enum ibv_wc_opcode opcode)
{
    struct ibv_wc wc;

    place->blocks = wqe_compare(wqe, &place->sq, place->blocks, "window");
    wc = verbs_wait(place->pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, opcode);
}

static struct ibv_mw_bind_info window_of(const struct place *place)
{
    return (struct ibv_mw_bind_info){
        .mr = place->region,
        .addr = window_address(place),
        .length = WINDOW_BYTES,
        .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };
}

/* Type 1: libmlx5 chooses the next low byte. */
static void bind_first(struct place *place, bool binds)
{
    uint32_t key = place->first->rkey;
    struct wqe wqe =
        by_hand(place, false, binds, key, (uint8_t)ibv_inc_rkey(key));
    struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED};

    if (binds)
        bind.bind_info = window_of(place);
    assert_int_equal(ibv_bind_mw(place->pair.a.qp, place->first, &bind), 0);
    assert_same(place, &wqe, IBV_WC_BIND_MW);
    assert_int_equal(place->first->rkey, ibv_inc_rkey(key));
    place->fenced = true;
}

static void bind_second(struct place *place)
{
    uint32_t key = place->second->rkey;
    struct wqe wqe =
        by_hand(place, true, true, key, (uint8_t)ibv_inc_rkey(key));
    struct ibv_send_wr *bad, wr = {
                                 .opcode = IBV_WR_BIND_MW,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .bind_mw = {.mw = place->second,
                                             .rkey = ibv_inc_rkey(key),
                                             .bind_info = window_of(place)},
                             };

    assert_int_equal(ibv_post_send(place->pair.a.qp, &wr, &bad), 0);
    assert_same(place, &wqe, IBV_WC_BIND_MW);
    place->second->rkey = wr.bind_mw.rkey;
    place->fenced = true;
}

static void invalidate_second(struct place *place)
{
    struct wqe wqe = by_hand(place, true, false, place->second->rkey, 0);
    struct ibv_send_wr *bad, wr = {
                                 .opcode = IBV_WR_LOCAL_INV,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .invalidate_rkey = place->second->rkey,
                             };

    assert_int_equal(ibv_post_send(place->pair.a.qp, &wr, &bad), 0);
    assert_same(place, &wqe, IBV_WC_LOCAL_INV);
    place->fenced = true;
}

/* b does it, through its own window of a. */
static void be_invalidated(struct place *place)
{
    struct verbs_side *a = &place->pair.a, *b = &place->pair.b;
    struct ibv_sge sge = verbs_sge(b, 0, 64);
    struct ibv_send_wr *bad, wr = {
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND_WITH_INV,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .invalidate_rkey = place->second->rkey,
                             };
    struct ibv_wc wc;

    verbs_receive(a, verbs_sge(a, 0, 64));
    assert_int_equal(ibv_post_send(b->qp, &wr, &bad), 0);
    assert_int_equal(verbs_wait(b->cq).status, IBV_WC_SUCCESS);
    wc = verbs_wait(a->cq);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_true(wc.wc_flags & IBV_WC_WITH_INV);
    assert_int_equal(wc.invalidated_rkey, place->second->rkey);
}

/* b writes through the window. */
static void use(const struct place *place, uint32_t rkey)
{
    const struct verbs_side *a = &place->pair.a, *b = &place->pair.b;
    struct ibv_sge sge = verbs_sge(b, 100, WINDOW_BYTES);
    struct ibv_send_wr *bad,
        wr = {
            .sg_list = &sge,
            .num_sge = 1,
            .opcode = IBV_WR_RDMA_WRITE,
            .send_flags = IBV_SEND_SIGNALED,
            .wr.rdma = {.remote_addr = window_address(place), .rkey = rkey},
        };

    memset(a->memory + WINDOW_AT, 0, WINDOW_BYTES);
    assert_int_equal(ibv_post_send(b->qp, &wr, &bad), 0);
    assert_int_equal(verbs_wait(b->cq).status, IBV_WC_SUCCESS);
    assert_memory_equal(a->memory + WINDOW_AT, b->memory + 100, WINDOW_BYTES);
}

/* 15 blocks in a ring of a power of two: each begins everywhere. */
static void run_lap(struct place *place)
{
    bind_first(place, true);
    use(place, place->first->rkey);
    bind_first(place, false);
    bind_second(place);
    use(place, place->second->rkey);
    invalidate_second(place);
    bind_second(place);
    use(place, place->second->rkey);
    invalidate_second(place);
}

static void libmlx5_binds_as_we_do(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    for (unsigned lap = 0; lap < mgds_test_laps(LAPS); lap++)
        run_lap(&place);
    place_close(&place);
}

/* The window is free then, and is bound as one that is new. */
static void a_peer_invalidates_a_window(void **state)
{
    struct place place;

    (void)state;
    place_open(&place);
    for (unsigned lap = 0; lap < 3; lap++) {
        bind_second(&place);
        be_invalidated(&place);
    }
    place_close(&place);
}

static void send_with_invalidation_has_our_bytes(void **state)
{
    struct place place;
    struct verbs_side *a = &place.pair.a;
    struct wqe wqe = {.bytes = 0};
    struct ibv_sge sge;
    struct ibv_send_wr *bad, wr = {
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND_WITH_INV,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .invalidate_rkey = 0x12345678,
                             };

    (void)state;
    place_open(&place);
    sge = verbs_sge(a, 0, 64);
    append_ctrl(&wqe, &place, MGDS_WQE_SEND_INVAL, 2, 0x12345678);
    wqe_append_sge(&wqe, &sge);
    verbs_receive(&place.pair.b, verbs_sge(&place.pair.b, 0, 64));
    assert_int_equal(ibv_post_send(a->qp, &wr, &bad), 0);
    wqe_compare(&wqe, &place.sq, 0, "SEND");
    assert_int_equal(verbs_wait(a->cq).status, IBV_WC_REM_OP_ERR);
    assert_int_equal(verbs_wait(place.pair.b.cq).status,
                     IBV_WC_REM_INV_REQ_ERR);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libmlx5_binds_as_we_do),
        cmocka_unit_test(a_peer_invalidates_a_window),
        cmocka_unit_test(send_with_invalidation_has_our_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
