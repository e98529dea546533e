/* Memory of the software GPU below a pair of QPs. */
#include "tests/hca/front/gpu_pair.h"

#include <string.h>

/* Messages, and where a's memory has what comes back. */
enum { BYTES = 5000, BACK = 8192 };

CUdeviceptr gpu_zeroed(size_t bytes)
{
    CUdeviceptr at;

    CU(cuMemAlloc_v2(&at, bytes));
    CU(cuMemsetD8_v2(at, 0, bytes));
    CU(cuCtxSynchronize());
    return at;
}

struct ibv_mr *gpu_register(struct ibv_pd *pd, CUdeviceptr at, size_t bytes)
{
    return ibv_reg_mr(pd, (void *)(uintptr_t)at, bytes,
                      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                          IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
}

int gpu_export(CUdeviceptr at, size_t bytes)
{
    int fd;

    CU(cuMemGetHandleForAddressRange(&fd, at, bytes,
                                     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
    return fd;
}

void gpu_pair_open(struct gpu_pair *pair)
{
    CUcontext ctx;

    CU(cuInit(0));
    CU(cuDevicePrimaryCtxRetain(&ctx, 0));
    CU(cuCtxSetCurrent(ctx));
    verbs_pair_open(&pair->verbs);
    pair->at = gpu_zeroed(GPU_BYTES);
    pair->mr = gpu_register(pair->verbs.b.pd, pair->at, GPU_BYTES);
    assert_non_null(pair->mr);
}

void gpu_pair_close(struct gpu_pair *pair)
{
    assert_int_equal(ibv_dereg_mr(pair->mr), 0);
    verbs_pair_close(&pair->verbs);
    CU(cuMemFree_v2(pair->at));
    CU(cuDevicePrimaryCtxRelease_v2(0));
}

void gpu_post(const struct verbs_side *side, enum ibv_wr_opcode opcode,
              struct ibv_sge sge, uint64_t address, uint32_t rkey)
{
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = opcode,
        .send_flags = IBV_SEND_SIGNALED,
    };
    struct ibv_send_wr *bad;

    if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = address;
        wr.wr.atomic.rkey = rkey;
        wr.wr.atomic.compare_add = 1;
    } else {
        wr.wr.rdma.remote_addr = address;
        wr.wr.rdma.rkey = rkey;
    }
    assert_int_equal(ibv_post_send(side->qp, &wr, &bad), 0);
}

enum ibv_wc_status gpu_wait(const struct verbs_side *side)
{
    return verbs_wait(side->cq).status;
}

void gpu_expect(CUdeviceptr at, const void *expected, size_t bytes)
{
    static uint8_t found[GPU_BYTES];

    CU(cuMemcpyDtoH_v2(found, at, bytes));
    assert_memory_equal(found, expected, bytes);
}

static void do_one(const struct verbs_side *side, enum ibv_wr_opcode opcode,
                   struct ibv_sge sge, uint64_t address, uint32_t rkey)
{
    gpu_post(side, opcode, sge, address, rkey);
    assert_int_equal(gpu_wait(side), IBV_WC_SUCCESS);
}

static void fill_on_gpu(CUdeviceptr at, uint8_t byte)
{
    CU(cuMemsetD8_v2(at, byte, BYTES));
    CU(cuCtxSynchronize());
}

/* A FETCH-ADD of the first word, which a's memory has, too. */
static void add_one(const struct verbs_side *a, CUdeviceptr at,
                    uint64_t address, uint32_t rkey)
{
    uint64_t word;

    memcpy(&word, a->memory, sizeof(word));
    do_one(a, IBV_WR_ATOMIC_FETCH_AND_ADD, verbs_sge(a, BACK, sizeof(word)),
           address, rkey);
    assert_memory_equal(a->memory + BACK, &word, sizeof(word));
    word++;
    memcpy(a->memory, &word, sizeof(word));
    gpu_expect(at, a->memory, BYTES);
}

void gpu_exercise(struct gpu_pair *pair, CUdeviceptr at, struct ibv_mr *mr,
                  uint64_t address)
{
    struct verbs_side *a = &pair->verbs.a, *b = &pair->verbs.b;
    struct ibv_sge back = verbs_sge(a, BACK, BYTES);
    struct ibv_sge there = {.addr = address, .length = BYTES, .lkey = mr->lkey};

    do_one(a, IBV_WR_RDMA_WRITE, verbs_sge(a, 0, BYTES), address, mr->rkey);
    gpu_expect(at, a->memory, BYTES);
    add_one(a, at, address, mr->rkey);
    do_one(a, IBV_WR_RDMA_READ, back, address, mr->rkey);
    assert_memory_equal(a->memory + BACK, a->memory, BYTES);
    /* what the GPU wrote is read, and not what was there before */
    fill_on_gpu(at, 0x5a);
    do_one(a, IBV_WR_RDMA_READ, back, address, mr->rkey);
    gpu_expect(at, a->memory + BACK, BYTES);
    /* b reads its own memory, of the GPU, and writes to a's */
    fill_on_gpu(at, 0x33);
    do_one(b, IBV_WR_RDMA_WRITE, there, (uintptr_t)a->memory, a->mr->rkey);
    gpu_expect(at, a->memory, BYTES);
    assert_int_equal(a->memory[BYTES - 1], 0x33);
}

void gpu_exercise_part(struct gpu_pair *pair)
{
    CUdeviceptr at = pair->at + 808;
    struct ibv_mr *part = gpu_register(pair->verbs.b.pd, at, BYTES);

    assert_non_null(part);
    gpu_exercise(pair, at, part, at);
    assert_int_equal(ibv_dereg_mr(part), 0);
}

void gpu_exercise_receives(struct gpu_pair *pair, int laps)
{
    struct verbs_side *a = &pair->verbs.a, *b = &pair->verbs.b;
    struct ibv_sge there = {
        .addr = pair->at, .length = BYTES, .lkey = pair->mr->lkey};

    for (int lap = 0; lap < laps; lap++) {
        memset(a->memory, lap + 1, BYTES);
        verbs_receive(b, there);
        gpu_post(a, IBV_WR_SEND, verbs_sge(a, 0, BYTES), 0, 0);
        assert_int_equal(gpu_wait(b), IBV_WC_SUCCESS);
        gpu_expect(pair->at, a->memory, BYTES);
        assert_int_equal(gpu_wait(a), IBV_WC_SUCCESS);
    }
}
