/* What libmlx5 writes for each operation, beside the same WQE written by hand
 * with device/abi_wqe.h, and by its builder in device/impl/wqe.h: bit for bit;
 * and what the device makes of it. */
#include <string.h>

#include "tests/hca/front/by_hand.h"
#include "tests/hca/front/verbs_pair.h"
#include "tests/lib/sanitized.h"

enum { REMOTE = 4096, INDICES = 1 << 16 };

struct place {
    struct verbs_pair pair;
    struct mlx5dv_qp sq; /* of a */
    uint16_t index;      /* of a's next WQE */
    uint32_t blocks;     /* that were posted */
};

struct operation {
    const char *name;
    enum ibv_wr_opcode verbs;
    uint8_t opcode;
    unsigned flags;    /* IBV_SEND_* */
    unsigned elements; /* of the list */
    uint32_t bytes;    /* of each */
};

#define SIGNALLED IBV_SEND_SIGNALED

static const struct operation operations[] = {
    {"write", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE, SIGNALLED, 1, 100},
    {"write of a list", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE, SIGNALLED, 4,
     33},
    {"write of nothing", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE, SIGNALLED, 0,
     0},
    {"write of 4 bytes inline", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE,
     SIGNALLED | IBV_SEND_INLINE, 1, 4},
    {"write of a block inline", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE,
     SIGNALLED | IBV_SEND_INLINE, 1, 28},
    {"write of two blocks inline", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE,
     SIGNALLED | IBV_SEND_INLINE, 2, 30},
    {"write behind a fence", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE,
     SIGNALLED | IBV_SEND_FENCE, 1, 64},
    {"write with immediate", IBV_WR_RDMA_WRITE_WITH_IMM,
     MGDS_WQE_RDMA_WRITE_IMM, SIGNALLED, 1, 64},
    {"read", IBV_WR_RDMA_READ, MGDS_WQE_RDMA_READ, SIGNALLED, 1, 1000},
    {"read to a list", IBV_WR_RDMA_READ, MGDS_WQE_RDMA_READ, SIGNALLED, 3, 55},
    {"send", IBV_WR_SEND, MGDS_WQE_SEND, SIGNALLED, 1, 500},
    {"send of a list, solicited", IBV_WR_SEND, MGDS_WQE_SEND,
     SIGNALLED | IBV_SEND_SOLICITED, 3, 50},
    {"send inline", IBV_WR_SEND, MGDS_WQE_SEND, SIGNALLED | IBV_SEND_INLINE, 1,
     12},
    {"send with immediate", IBV_WR_SEND_WITH_IMM, MGDS_WQE_SEND_IMM, SIGNALLED,
     1, 200},
    {"fetch and add", IBV_WR_ATOMIC_FETCH_AND_ADD, MGDS_WQE_ATOMIC_FA,
     SIGNALLED, 1, 8},
    {"compare and swap", IBV_WR_ATOMIC_CMP_AND_SWP, MGDS_WQE_ATOMIC_CS,
     SIGNALLED, 1, 8},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static const uint32_t immediate = 0x11223344;

static void place_open(struct place *place)
{
    struct mlx5dv_obj obj = {0};

    memset(place, 0, sizeof(*place));
    verbs_pair_open(&place->pair);
    obj.qp.in = place->pair.a.qp;
    obj.qp.out = &place->sq;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP), 0);
    assert_int_equal(place->sq.sq.stride, MGDS_WQE_BLOCK);
}

static uint64_t remote_address(const struct place *place)
{
    return (uintptr_t)place->pair.b.memory + REMOTE;
}

static uint8_t control_bits(unsigned flags)
{
    return (uint8_t)((flags & IBV_SEND_SIGNALED ? MGDS_WQE_CE_ALWAYS : 0) |
                     (flags & IBV_SEND_SOLICITED ? MGDS_WQE_SOLICITED : 0) |
                     (flags & IBV_SEND_FENCE ? MGDS_WQE_FENCE_BOTH : 0));
}

static void append_list(struct wqe *wqe, const struct place *place,
                        const struct operation *it)
{
    for (unsigned i = 0; i < it->elements; i++) {
        struct ibv_sge sge =
            verbs_sge(&place->pair.a, (size_t)300 * i, it->bytes);

        wqe_append_sge(wqe, &sge);
    }
}

static void append_inline(struct wqe *wqe, const struct place *place,
                          const struct operation *it)
{
    struct mgds_wqe_inline head = {
        mgds_to_be32(MGDS_WQE_INLINE_FLAG | it->elements * it->bytes)};

    wqe_append(wqe, &head, sizeof(head));
    for (unsigned i = 0; i < it->elements; i++)
        wqe_append(wqe, place->pair.a.memory + (size_t)300 * i, it->bytes);
}

static bool is_atomic(const struct operation *it)
{
    return it->opcode == MGDS_WQE_ATOMIC_FA || it->opcode == MGDS_WQE_ATOMIC_CS;
}

static bool is_send(const struct operation *it)
{
    return it->opcode == MGDS_WQE_SEND || it->opcode == MGDS_WQE_SEND_IMM;
}

static bool has_immediate(const struct operation *it)
{
    return it->opcode == MGDS_WQE_RDMA_WRITE_IMM ||
           it->opcode == MGDS_WQE_SEND_IMM;
}

/* COMPARE-SWAP finds what it compares with. */
static uint64_t compare_with(const struct place *place)
{
    uint64_t value;

    memcpy(&value, place->pair.b.memory + REMOTE, sizeof(value));
    return value;
}

static struct wqe by_hand(const struct place *place, const struct operation *it)
{
    struct wqe wqe = {.bytes = sizeof(struct mgds_wqe_ctrl)};
    struct mgds_wqe_ctrl ctrl = {
        .opmod_idx_opcode =
            mgds_to_be32((uint32_t)place->index << 8 | it->opcode),
        .fm_ce_se = control_bits(it->flags),
    };
    struct mgds_wqe_raddr raddr = {
        .address = mgds_to_be64(remote_address(place)),
        .rkey = mgds_to_be32(place->pair.b.mr->rkey),
    };

    if (has_immediate(it))
        ctrl.imm.raw = immediate;
    if (!is_send(it))
        wqe_append(&wqe, &raddr, sizeof(raddr));
    if (is_atomic(it))
        wqe_append_atomic(&wqe, it->opcode, 42, compare_with(place));
    if (it->flags & IBV_SEND_INLINE)
        append_inline(&wqe, place, it);
    else
        append_list(&wqe, place, it);
    wqe_end(&wqe, ctrl, place->pair.a.qp->qp_num);
    return wqe;
}

/* Builders make WQEs of one element, for the operations of the transports. */
static bool has_builder(const struct operation *it)
{
    if (is_send(it))
        return it->opcode == MGDS_WQE_SEND && it->elements == 1 &&
               !(it->flags & IBV_SEND_INLINE);
    return it->elements <= 1;
}

static struct mgds_wqe build_inline(const struct place *place,
                                    const struct operation *it)
{
    const struct mgds_wqe_path path = {.qpn = place->pair.a.qp->qp_num};
    const struct mgds_wqe_remote remote = {remote_address(place),
                                           place->pair.b.mr->rkey};

    return mgds_wqe_write_inline(path, control_bits(it->flags), remote,
                                 place->pair.a.memory, it->bytes);
}

static struct mgds_wqe build(const struct place *place,
                             const struct operation *it)
{
    const struct mgds_wqe_path path = {.qpn = place->pair.a.qp->qp_num};
    const struct mgds_wqe_remote remote = {remote_address(place),
                                           place->pair.b.mr->rkey};
    const struct mgds_wqe_local local = {(uintptr_t)place->pair.a.memory,
                                         it->bytes, place->pair.a.mr->lkey};
    const struct mgds_wqe_swap swap = {compare_with(place), 42};
    unsigned flags = control_bits(it->flags);

    switch (it->opcode) {
    case MGDS_WQE_SEND:
        return mgds_wqe_send(path, flags, local);
    case MGDS_WQE_RDMA_READ:
        return mgds_wqe_read(path, flags, remote, local);
    case MGDS_WQE_RDMA_WRITE_IMM:
        return mgds_wqe_write_imm(path, flags, remote, local, immediate);
    case MGDS_WQE_ATOMIC_FA:
        return mgds_wqe_fetch_add(path, flags, remote, 42, local);
    case MGDS_WQE_ATOMIC_CS:
        return mgds_wqe_compare_swap(path, flags, remote, swap, local);
    default:
        return it->flags & IBV_SEND_INLINE
                   ? build_inline(place, it)
                   : mgds_wqe_write(path, flags, remote, local);
    }
}

static void by_verbs(const struct place *place, const struct operation *it)
{
    struct ibv_sge list[4];
    struct ibv_send_wr wr = {
        .wr_id = place->index,
        .sg_list = list,
        .num_sge = (int)it->elements,
        .opcode = it->verbs,
        .send_flags = it->flags,
        .imm_data = immediate,
    };
    struct ibv_send_wr *bad;

    for (unsigned i = 0; i < it->elements; i++)
        list[i] = verbs_sge(&place->pair.a, (size_t)300 * i, it->bytes);
    if (is_atomic(it)) {
        bool swaps = it->opcode == MGDS_WQE_ATOMIC_CS;

        wr.wr.atomic.remote_addr = remote_address(place);
        wr.wr.atomic.rkey = place->pair.b.mr->rkey;
        wr.wr.atomic.compare_add = swaps ? compare_with(place) : 42;
        wr.wr.atomic.swap = 42;
    } else {
        wr.wr.rdma.remote_addr = remote_address(place);
        wr.wr.rdma.rkey = place->pair.b.mr->rkey;
    }
    assert_int_equal(ibv_post_send(place->pair.a.qp, &wr, &bad), 0);
}

/* What was to be built must be known before memory changes. */
static void assert_same(struct place *place, const struct operation *it,
                        const struct wqe *wqe, const struct mgds_wqe *built)
{
    if (has_builder(it))
        wqe_compare_built(wqe, *built, &place->sq, place->blocks, it->name);
    place->blocks = wqe_compare(wqe, &place->sq, place->blocks, it->name);
    place->index = (uint16_t)place->blocks;
}

static void post_receive(struct verbs_side *side)
{
    struct ibv_sge sge = verbs_sge(side, REMOTE, 4096);
    struct ibv_recv_wr wr = {.wr_id = 77, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    assert_int_equal(ibv_post_recv(side->qp, &wr, &bad), 0);
}

/* What the operation must leave in the memory that it writes to. */
static void foresee(const struct place *place, const struct operation *it,
                    uint8_t *a, uint8_t *b)
{
    const struct verbs_pair *pair = &place->pair;
    uint64_t old = compare_with(place), value = 42;

    memcpy(a, pair->a.memory, PAIR_MEMORY);
    memcpy(b, pair->b.memory, PAIR_MEMORY);
    if (is_atomic(it)) {
        memcpy(a, &old, sizeof(old));
        value += it->opcode == MGDS_WQE_ATOMIC_FA ? old : 0;
        memcpy(b + REMOTE, &value, sizeof(value));
        return;
    }
    for (unsigned i = 0; i < it->elements; i++) {
        size_t offset = (size_t)i * it->bytes;

        if (it->opcode == MGDS_WQE_RDMA_READ)
            memcpy(a + (size_t)300 * i, b + REMOTE + offset, it->bytes);
        else
            memcpy(b + REMOTE + offset, a + (size_t)300 * i, it->bytes);
    }
}

static void expect_receive(struct place *place, const struct operation *it)
{
    struct ibv_wc wc = verbs_wait(place->pair.b.cq);

    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, 77);
    assert_int_equal(wc.qp_num, place->pair.b.qp->qp_num);
    assert_int_equal(wc.byte_len, it->elements * it->bytes);
    assert_int_equal(wc.opcode, it->opcode == MGDS_WQE_RDMA_WRITE_IMM
                                    ? IBV_WC_RECV_RDMA_WITH_IMM
                                    : IBV_WC_RECV);
    assert_int_equal(!!(wc.wc_flags & IBV_WC_WITH_IMM), has_immediate(it));
    if (has_immediate(it))
        assert_int_equal(wc.imm_data, immediate);
}

static void run(struct place *place, const struct operation *it)
{
    static uint8_t a[PAIR_MEMORY], b[PAIR_MEMORY];
    struct wqe wqe = by_hand(place, it);
    struct mgds_wqe built = build(place, it);
    bool receives = is_send(it) || has_immediate(it);
    uint16_t index = place->index;
    struct ibv_wc wc;

    foresee(place, it, a, b);
    if (receives)
        post_receive(&place->pair.b);
    by_verbs(place, it);
    assert_same(place, it, &wqe, &built);
    wc = verbs_wait(place->pair.a.cq);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, index);
    assert_int_equal(wc.qp_num, place->pair.a.qp->qp_num);
    if (receives)
        expect_receive(place, it);
    if (memcmp(place->pair.a.memory, a, PAIR_MEMORY) != 0 ||
        memcmp(place->pair.b.memory, b, PAIR_MEMORY) != 0)
        fail_msg("%s: memory is not as foreseen", it->name);
}

/* Every operation at every place of the ring where it can begin, until the
 * index of 16 bits has begun again. */
static void libmlx5_writes_what_we_write(void **state)
{
    const uint32_t enough = MGDS_SANITIZED ? INDICES / 16 : INDICES + 100;
    struct place place;

    (void)state;
    place_open(&place);
    for (unsigned i = 0; place.blocks < enough; i++)
        run(&place, &operations[(i + i / OPERATIONS) % OPERATIONS]);
    verbs_pair_close(&place.pair);
}

static void unsignalled_ones_complete_in_silence(void **state)
{
    static const struct operation silent = {
        "silent write", IBV_WR_RDMA_WRITE, MGDS_WQE_RDMA_WRITE, 0, 1, 64};
    struct place place;
    struct mgds_wqe built;
    struct wqe wqe;
    struct ibv_wc wc;

    (void)state;
    place_open(&place);
    wqe = by_hand(&place, &silent);
    built = build(&place, &silent);
    by_verbs(&place, &silent);
    assert_same(&place, &silent, &wqe, &built);
    run(&place, &operations[0]);
    assert_int_equal(ibv_poll_cq(place.pair.a.cq, 1, &wc), 0);
    assert_memory_equal(place.pair.b.memory + REMOTE, place.pair.a.memory, 64);
    verbs_pair_close(&place.pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libmlx5_writes_what_we_write),
        cmocka_unit_test(unsignalled_ones_complete_in_silence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
