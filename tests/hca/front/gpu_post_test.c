/* A GPU posts to a send queue that libmlx5 has made: ring, record, register and
 * CQ are registered with the GPU, and the WQE was built before. */
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "device/abi_wqe.h"
#include "tests/hca/front/gpu_kernels.h"
#include "tests/hca/front/gpu_pair.h"

enum { BYTES = 256, LAPS = 100, FLAG = 8192, PAGE = 4096 };

/* One that fills a block: ctrl, raddr, data. */
struct block {
    struct mgds_wqe_ctrl ctrl;
    struct mgds_wqe_raddr raddr;
    struct mgds_wqe_data data;
    uint8_t rest[16];
};
_Static_assert(sizeof(struct block) == MGDS_WQE_BLOCK, "a block");

static struct place {
    struct gpu_pair pair;
    struct ibv_mr *from_mr; /* of the GPU, a's */
    CUdeviceptr from;
    struct mlx5dv_qp qp;
    struct mlx5dv_cq cq;
    CUdeviceptr ring, record, uar, cqes; /* as the GPU calls them */
    CUstream stream;
    uint16_t index;
} place;

static CUdeviceptr map_for_gpu(void *at, size_t bytes, unsigned flags)
{
    CUdeviceptr seen;

    CU(cuMemHostRegister_v2(at, bytes, flags | CU_MEMHOSTREGISTER_DEVICEMAP));
    CU(cuMemHostGetDevicePointer_v2(&seen, at, 0));
    return seen;
}

static void *page_of(void *at)
{
    return (uint8_t *)at - (uintptr_t)at % PAGE;
}

/* The page of a register is I/O memory, and is refused as anything else. */
static void map_queues(void)
{
    void *uar = page_of(place.qp.bf.reg);

    assert_int_not_equal(cuMemHostRegister_v2(uar, PAGE, 0), CUDA_SUCCESS);
    place.uar = map_for_gpu(uar, PAGE, CU_MEMHOSTREGISTER_IOMEMORY) +
                (uintptr_t)place.qp.bf.reg % PAGE;
    place.ring = map_for_gpu(place.qp.sq.buf,
                             (size_t)place.qp.sq.wqe_cnt * MGDS_WQE_BLOCK, 0);
    place.record = map_for_gpu(place.qp.dbrec, 8, 0);
    place.cqes = map_for_gpu(place.cq.buf,
                             (size_t)place.cq.cqe_cnt * place.cq.cqe_size, 0);
}

static int setup(void **state)
{
    struct mlx5dv_obj obj = {0};
    struct verbs_side *a = &place.pair.verbs.a;

    (void)state;
    gpu_pair_open(&place.pair);
    obj.qp.in = a->qp;
    obj.qp.out = &place.qp;
    obj.cq.in = a->cq;
    obj.cq.out = &place.cq;
    assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
    place.from = gpu_zeroed(GPU_BYTES);
    place.from_mr = gpu_register(a->pd, place.from, GPU_BYTES);
    assert_non_null(place.from_mr);
    map_queues();
    CU(cuStreamCreate(&place.stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int teardown(void **state)
{
    void *const mapped[] = {page_of(place.qp.bf.reg), place.qp.sq.buf,
                            place.qp.dbrec, place.cq.buf};

    (void)state;
    CU(cuStreamDestroy_v2(place.stream));
    for (size_t i = 0; i < sizeof(mapped) / sizeof(mapped[0]); i++)
        CU(cuMemHostUnregister(mapped[i]));
    assert_int_equal(ibv_dereg_mr(place.from_mr), 0);
    CU(cuMemFree_v2(place.from));
    gpu_pair_close(&place.pair);
    return 0;
}

/* A WRITE from a's memory of the GPU to b's, signalled. */
static struct block prebuilt(void)
{
    uint32_t units = 3;

    return (struct block){
        .ctrl = {.opmod_idx_opcode = mgds_to_be32((uint32_t)place.index << 8 |
                                                  MGDS_WQE_RDMA_WRITE),
                 .qpn_ds =
                     mgds_to_be32(place.pair.verbs.a.qp->qp_num << 8 | units),
                 .fm_ce_se = MGDS_WQE_CE_ALWAYS},
        .raddr = {.address = mgds_to_be64(place.pair.at),
                  .rkey = mgds_to_be32(place.pair.mr->rkey)},
        .data = {.bytes = mgds_to_be32(BYTES),
                 .lkey = mgds_to_be32(place.from_mr->lkey),
                 .address = mgds_to_be64(place.from)},
    };
}

static CUdeviceptr block_of(uint16_t index)
{
    return place.ring +
           (CUdeviceptr)(index % place.qp.sq.wqe_cnt) * MGDS_WQE_BLOCK;
}

/* The last eight bytes of the CQE of the lap, and its owner bit. The program
 * does not poll: each lap has one. */
static CUdeviceptr cqe_of(unsigned lap, unsigned *owner)
{
    *owner = lap / place.cq.cqe_cnt & 1;
    return place.cqes +
           (CUdeviceptr)(lap % place.cq.cqe_cnt + 1) * place.cq.cqe_size - 8;
}

/* The program takes the CQE, so that the queue does not overrun: it is there
 * before the record says so. */
static void take_cqe(void)
{
    unsigned owner;
    uint64_t *cqe =
        (uint64_t *)(uintptr_t)cqe_of((uint16_t)(place.index - 1), &owner);
    unsigned op_own;

    do
        op_own = (unsigned)(__atomic_load_n(cqe, __ATOMIC_ACQUIRE) >> 56);
    while (op_own >> MGDS_CQE_OPCODE_SHIFT == MGDS_CQE_INVALID ||
           (op_own & MGDS_CQE_OWNER) != owner);
    assert_int_equal(op_own >> MGDS_CQE_OPCODE_SHIFT, MGDS_CQE_REQUEST);
    place.cq.dbrec[MGDS_DBREC_CONSUMER] = mgds_to_be32(place.index).raw;
}

static void expect_data(unsigned lap)
{
    uint8_t expected[BYTES];

    memset(expected, (int)lap, BYTES);
    gpu_expect(place.pair.at, expected, BYTES);
}

/* Data by one operation of the stream, the WQE by a copy, record and register
 * by memory operations; the stream waits until the data has arrived. */
static void post_by_memops(unsigned lap)
{
    struct block block;
    uint64_t first;

    block = prebuilt();
    memcpy(&first, &block, sizeof(first));
    CU(cuMemcpyHtoDAsync_v2(block_of(place.index), &block, sizeof(block),
                            place.stream));
    CU(cuMemsetD8Async(place.from, (unsigned char)lap, BYTES, place.stream));
    place.index++;
    CU(cuStreamWriteValue32_v2(place.stream, place.record + 4,
                               mgds_to_be32(place.index).raw, 0));
    CU(cuStreamWriteValue64_v2(place.stream, place.uar, first, 0));
    CU(cuStreamWaitValue32_v2(place.stream, place.pair.at + BYTES - 4,
                              lap * 0x01010101u, CU_STREAM_WAIT_VALUE_EQ));
    CU(cuStreamSynchronize(place.stream));
}

static CUfunction load_kernel(void)
{
    CUmodule module;
    CUfunction function;

    CU(cuModuleLoadData(&module, ".version 8.0\n.target sm_90\n"
                                 ".visible .entry post() { ret; }\n"));
    CU(cuModuleGetFunction(&function, module, "post"));
    return function;
}

/* All of it by a kernel, which waits for the CQE. */
static void post_by_kernel(CUfunction kernel, unsigned lap)
{
    struct block block = prebuilt();
    struct post_args args = {.block = block_of(place.index),
                             .record = place.record + 4,
                             .uar = place.uar};
    void *params[] = {&args};

    args.cqe = cqe_of(place.index, &args.owner);
    memcpy(args.wqe, &block, sizeof(block));
    place.index++;
    args.index = mgds_to_be32(place.index).raw;
    CU(cuMemsetD8Async(place.from, (unsigned char)lap, BYTES, place.stream));
    CU(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, place.stream, params,
                      NULL));
    CU(cuStreamSynchronize(place.stream));
}

/* Nobody polls: the engine's thread finds the doorbells. */
static void a_stream_posts(void **state)
{
    (void)state;
    for (unsigned lap = 1; lap <= LAPS; lap++) {
        post_by_memops(lap);
        take_cqe();
        expect_data(lap);
    }
}

static void a_kernel_posts(void **state)
{
    CUfunction kernel = load_kernel();

    (void)state;
    for (unsigned lap = 1; lap <= LAPS; lap++) {
        post_by_kernel(kernel, lap);
        take_cqe();
        expect_data(lap);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_posts),
        cmocka_unit_test(a_kernel_posts),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
