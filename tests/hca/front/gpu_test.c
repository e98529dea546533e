/* Memory of the software GPU in regions of the software ConnectX: by address
 * and by dma-buf, what is refused, and what becomes of it when it is freed. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/hca/front/gpu_pair.h"

enum { GRANULE = 2 << 20, BYTES = 5000 };

static void addresses_of_a_gpu_are_registered(void **state)
{
    struct gpu_pair pair;

    (void)state;
    gpu_pair_open(&pair);
    gpu_exercise(&pair, pair.at, pair.mr, pair.at);
    gpu_exercise_part(&pair);
    gpu_pair_close(&pair);
}

static void receives_go_to_a_gpu(void **state)
{
    struct gpu_pair pair;

    (void)state;
    gpu_pair_open(&pair);
    gpu_exercise_receives(&pair, 30);
    gpu_pair_close(&pair);
}

/* Memory of cuMemCreate; `capable` of RDMA. */
static CUdeviceptr map(bool capable)
{
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
        .allocFlags = {.gpuDirectRDMACapable = capable},
    };
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                              CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr at;

    CU(cuMemCreate(&handle, GRANULE, &prop, 0));
    CU(cuMemAddressReserve(&at, GRANULE, 0, 0, 0));
    CU(cuMemMap(at, GRANULE, 0, handle, 0));
    CU(cuMemSetAccess(at, GRANULE, &access, 1));
    CU(cuMemRelease(handle));
    return at;
}

/* WQEs call a dma-buf by any address. */
static void dmabufs_are_registered(void **state)
{
    const uint64_t iova = 0x7000000000;
    struct gpu_pair pair;
    struct ibv_mr *mr;
    CUdeviceptr at;
    int fd;

    (void)state;
    gpu_pair_open(&pair);
    at = map(true);
    fd = gpu_export(at, GRANULE);
    mr = ibv_reg_dmabuf_mr(pair.verbs.b.pd, 4096, GRANULE - 4096, iova, fd,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                               IBV_ACCESS_REMOTE_READ |
                               IBV_ACCESS_REMOTE_ATOMIC);
    assert_non_null(mr);
    close(fd);
    gpu_exercise(&pair, at + 4096, mr, iova);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    CU(cuMemUnmap(at, GRANULE));
    CU(cuMemAddressFree(at, GRANULE));
    gpu_pair_close(&pair);
}

static void expect_refused(struct ibv_pd *pd, CUdeviceptr at, size_t bytes)
{
    errno = 0;
    assert_null(gpu_register(pd, at, bytes));
    assert_int_equal(errno, EFAULT);
}

static void other_memory_of_a_gpu_is_refused(void **state)
{
    struct gpu_pair pair;
    struct ibv_pd *pd;
    CUdeviceptr freed, mapped, pool;
    int fd;

    (void)state;
    gpu_pair_open(&pair);
    pd = pair.verbs.b.pd;
    expect_refused(pd, pair.at + 1, GPU_BYTES);
    freed = gpu_zeroed(4096);
    CU(cuMemFree_v2(freed));
    expect_refused(pd, freed, 4096);
    mapped = map(false);
    expect_refused(pd, mapped, GRANULE);
    CU(cuMemAllocAsync(&pool, 4096, NULL));
    expect_refused(pd, pool, 4096);
    CU(cuMemFreeAsync(pool, NULL));
    fd = gpu_export(pair.at, GPU_BYTES);
    assert_null(ibv_reg_dmabuf_mr(pd, 4096, GPU_BYTES, 4096, fd, 0));
    assert_int_equal(errno, EINVAL);
    close(fd);
    CU(cuMemUnmap(mapped, GRANULE));
    CU(cuMemAddressFree(mapped, GRANULE));
    gpu_pair_close(&pair);
}

/* By address the key ends with the memory, which is not to be had again by it;
 * a dma-buf keeps the memory. */
static void freed_memory_is_not_written_to(void **state)
{
    struct gpu_pair pair;
    struct verbs_side *a = &pair.verbs.a;
    struct ibv_mr *by_address, *by_dmabuf;
    CUdeviceptr at;
    int fd;

    (void)state;
    gpu_pair_open(&pair);
    at = gpu_zeroed(8192);
    by_address = gpu_register(pair.verbs.b.pd, at, 8192);
    fd = gpu_export(at, 8192);
    by_dmabuf =
        ibv_reg_dmabuf_mr(pair.verbs.b.pd, 0, 8192, at, fd,
                          IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_READ);
    assert_non_null(by_address);
    assert_non_null(by_dmabuf);
    close(fd);
    CU(cuMemFree_v2(at));
    gpu_post(a, IBV_WR_RDMA_WRITE, verbs_sge(a, 0, BYTES), at, by_dmabuf->rkey);
    assert_int_equal(gpu_wait(a), IBV_WC_SUCCESS);
    gpu_post(a, IBV_WR_RDMA_READ, verbs_sge(a, 8192, BYTES), at,
             by_dmabuf->rkey);
    assert_int_equal(gpu_wait(a), IBV_WC_SUCCESS);
    assert_memory_equal(a->memory, a->memory + 8192, BYTES);
    gpu_post(a, IBV_WR_RDMA_WRITE, verbs_sge(a, 0, BYTES), at,
             by_address->rkey);
    assert_int_equal(gpu_wait(a), IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_dereg_mr(by_address), 0);
    assert_int_equal(ibv_dereg_mr(by_dmabuf), 0);
    gpu_pair_close(&pair);
}

static sigjmp_buf behind_fault;

static void on_fault(int signo)
{
    siglongjmp(behind_fault, signo);
}

/* Both libraries put a handler over the other's, again and again; the program's
 * is behind them. */
static void faults_stay_the_programs(void **state)
{
    volatile uint8_t *hole =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct gpu_pair pair;
    struct ibv_mr *mr;

    (void)state;
    assert_ptr_not_equal(hole, MAP_FAILED);
    signal(SIGSEGV, on_fault);
    gpu_pair_open(&pair);
    for (volatile int i = 0; i < 3; i++) {
        gpu_exercise(&pair, pair.at, pair.mr, pair.at);
        mr = gpu_register(pair.verbs.b.pd, pair.at, GPU_BYTES);
        assert_int_equal(ibv_dereg_mr(mr), 0);
        if (sigsetjmp(behind_fault, 1) == 0) {
            (void)*hole;
            fail();
        }
    }
    gpu_pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_a_gpu_are_registered),
        cmocka_unit_test(receives_go_to_a_gpu),
        cmocka_unit_test(dmabufs_are_registered),
        cmocka_unit_test(other_memory_of_a_gpu_is_refused),
        cmocka_unit_test(freed_memory_is_not_written_to),
        cmocka_unit_test(faults_stay_the_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
