/* How fast the software ConnectX is below libibverbs and libmlx5, both QPs in
 * one process, with every word looked at. It prints, and fails if something
 * else arrived.
 *
 *   bench_verbs [LAPS]
 *
 *   verbs   ibv_post_send and ibv_poll_cq: under MPIX_SIM_HCA_INLINE=no the
 *           engine's thread does the work, else who polls
 *   raw     WQEs, records and doorbells by hand, in what mlx5dv_init_obj tells
 *           of: the engine's thread does the work */
#include <infiniband/mlx5dv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/abi_wqe.h"
#include "tests/hca/bench_write.h"
#include "tests/hca/front/verbs_pair.h"

enum { LAPS = 20000, RUNS = 20, WINDOW = 64 };

struct bench {
    struct verbs_pair pair;
    struct mlx5dv_qp qp; /* raw: a's, and its CQ */
    struct mlx5dv_cq cq;
    uint16_t posted;
    uint32_t consumed;
};

/* A way to post a WRITE of a word of one memory to the other, and to take all
 * completions, each of success. */
struct way {
    const char *name;
    void (*post)(struct bench *bench, unsigned place);
    unsigned (*take)(struct bench *bench);
};

static void post_verbs(struct bench *bench, unsigned place)
{
    const struct verbs_pair *pair = &bench->pair;
    struct ibv_sge sge =
        verbs_sge(&pair->a, place * (size_t)BENCH_WORD, BENCH_WORD);
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_RDMA_WRITE,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.rdma = {.remote_addr =
                        (uintptr_t)pair->b.memory + place * (size_t)BENCH_WORD,
                    .rkey = pair->b.mr->rkey}};
    struct ibv_send_wr *bad;

    assert_int_equal(ibv_post_send(pair->a.qp, &wr, &bad), 0);
}

static unsigned take_verbs(struct bench *bench)
{
    struct ibv_wc wc[WINDOW];
    int found = ibv_poll_cq(bench->pair.a.cq, WINDOW, wc);

    assert_true(found >= 0);
    for (int i = 0; i < found; i++)
        assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
    return (unsigned)found;
}

static void post_raw(struct bench *bench, unsigned place)
{
    const struct verbs_side *a = &bench->pair.a, *b = &bench->pair.b;
    size_t offset = place * (size_t)BENCH_WORD;
    struct bench_word from = {.address = (uintptr_t)a->memory + offset,
                              .key = a->mr->lkey};
    struct bench_word to = {.address = (uintptr_t)b->memory + offset,
                            .key = b->mr->rkey};
    struct bench_wqe wqe = bench_write(a->qp->qp_num, bench->posted, from, to);
    void *block = (uint8_t *)bench->qp.sq.buf +
                  bench->posted % bench->qp.sq.wqe_cnt * (size_t)MGDS_WQE_BLOCK;

    bench_ring(block, &wqe, ++bench->posted, &bench->qp.dbrec[MGDS_DBREC_SEND],
               (uint64_t *)bench->qp.bf.reg);
}

/* The CQE's owner bit is its lap's. */
static bool next_raw(const struct bench *bench)
{
    const struct mgds_cqe *cqe = (const struct mgds_cqe *)bench->cq.buf +
                                 (bench->consumed & (bench->cq.cqe_cnt - 1));
    uint8_t opcode;

    if (!bench_cqe_is_there(cqe, bench->consumed & bench->cq.cqe_cnt, &opcode))
        return false;
    assert_int_equal(opcode, MGDS_CQE_REQUEST);
    return true;
}

static unsigned take_raw(struct bench *bench)
{
    unsigned taken = 0;

    for (; next_raw(bench); taken++)
        bench->consumed++;
    /* CQEs were read before their places are given back. */
    if (taken > 0)
        __atomic_store_n(bench->cq.dbrec,
                         mgds_to_be32(bench->consumed & 0xffffff).raw,
                         __ATOMIC_RELEASE);
    return taken;
}

static double time_one(struct bench *bench, const struct way *way,
                       unsigned laps)
{
    volatile uint64_t *from = (volatile uint64_t *)bench->pair.a.memory;
    volatile uint64_t *to = (volatile uint64_t *)bench->pair.b.memory;
    double start = bench_now(), spent;

    for (unsigned i = 0; i < laps; i++) {
        from[0] = i + 1;
        way->post(bench, 0);
        while (way->take(bench) == 0)
            ;
        assert_true(to[0] == i + 1);
    }
    spent = bench_now() - start;
    return spent / laps;
}

static double time_window(struct bench *bench, const struct way *way,
                          unsigned laps)
{
    const struct verbs_pair *pair = &bench->pair;
    double start = bench_now(), spent;
    unsigned posted = 0, done = 0;

    while (done < laps) {
        for (; posted < laps && posted - done < WINDOW; posted++)
            way->post(bench, posted % WINDOW);
        done += way->take(bench);
    }
    spent = bench_now() - start;
    assert_memory_equal(pair->b.memory, pair->a.memory,
                        (size_t)WINDOW * BENCH_WORD);
    return spent / laps;
}

static double best_of(double (*time)(struct bench *, const struct way *,
                                     unsigned),
                      struct bench *bench, const struct way *way, unsigned laps)
{
    double best = 1e18, one;

    for (int run = 0; run < RUNS; run++) {
        one = time(bench, way, laps / RUNS);
        best = one < best ? one : best;
    }
    return best;
}

/* Its QP is another one, with room for a window. */
static void widen(struct verbs_side *side)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_RC,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .cap = {.max_send_wr = WINDOW, .max_send_sge = 1}};

    assert_int_equal(ibv_destroy_qp(side->qp), 0);
    side->qp = ibv_create_qp(side->pd, &attr);
    assert_non_null(side->qp);
}

static void measure(const struct way *way, unsigned laps)
{
    struct bench bench = {.posted = 0};
    struct mlx5dv_obj obj = {0};

    verbs_pair_open(&bench.pair);
    widen(&bench.pair.a);
    widen(&bench.pair.b);
    verbs_connect(&bench.pair.a, &bench.pair.b);
    verbs_connect(&bench.pair.b, &bench.pair.a);
    obj.qp.in = bench.pair.a.qp;
    obj.qp.out = &bench.qp;
    obj.cq.in = bench.pair.a.cq;
    obj.cq.out = &bench.cq;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
    assert_int_equal(bench.cq.cqe_size, sizeof(struct mgds_cqe));
    printf("%s: post to CQE %.0f ns\n", way->name,
           best_of(time_one, &bench, way, laps));
    printf("%s: window of %d, %.2f M/s\n", way->name, WINDOW,
           1e3 / best_of(time_window, &bench, way, laps * 10));
    verbs_pair_close(&bench.pair);
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {{"verbs", post_verbs, take_verbs},
                                      {"raw", post_raw, take_raw}};
    unsigned laps = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : LAPS;

    if (laps < RUNS) {
        fprintf(stderr, "bench_verbs: %u laps: give %d at least\n", laps, RUNS);
        return 2;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        measure(&ways[i], laps);
    return 0;
}
