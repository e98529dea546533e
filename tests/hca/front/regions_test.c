/* Memory regions and windows through libmlx5: which memory is registered, by
 * address and by descriptor, what changes, and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/cuda/hooks.h"
#include "tests/hca/front/verbs_pair.h"

/* A region that is registered again, under the same key. */
static void regions_change(void **state)
{
    const int reading = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
    struct verbs_pair pair;
    uint32_t rkey;

    (void)state;
    verbs_pair_open(&pair);
    rkey = pair.b.mr->rkey;
    assert_int_equal(ibv_rereg_mr(pair.b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
                                  NULL, 0, reading),
                     0);
    assert_int_equal(pair.b.mr->rkey, rkey);
    verbs_write(&pair, 0, rkey, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_REM_ACCESS_ERR);
    verbs_pair_close(&pair);
}

/* No memory, none that may be written, none at all. */
static void wrong_regions_are_refused(void **state)
{
    struct ibv_context *context = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    uint8_t *page =
        mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr;

    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_int_equal(munmap(page + 4096, 4096), 0);
    assert_null(ibv_reg_mr(pd, page, 8192, 0));
    assert_int_equal(errno, EFAULT);
    assert_null(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_LOCAL_WRITE));
    assert_int_equal(errno, EFAULT);
    assert_null(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_REMOTE_WRITE));
    assert_null(ibv_reg_mr(pd, page, 0, 0));
    assert_int_equal(mprotect(page, 4096, PROT_NONE), 0);
    assert_null(ibv_reg_mr(pd, page, 4096, IBV_ACCESS_REMOTE_READ));
    assert_int_equal(errno, EFAULT);
    assert_int_equal(mprotect(page, 4096, PROT_READ), 0);
    mr = ibv_reg_mr(pd, page, 4096, IBV_ACCESS_REMOTE_READ);
    assert_non_null(mr);
    assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    munmap(page, 4096);
    ibv_close_device(context);
}

static sigjmp_buf behind_fault;

static void on_fault(int signo)
{
    (void)signo;
    siglongjmp(behind_fault, 1);
}

/* The CPU finds no memory at this place, and the program hears of it. */
static bool strikes(const volatile uint8_t *at)
{
    if (sigsetjmp(behind_fault, 1))
        return true;
    (void)*at;
    return false;
}

static enum ibv_wc_status reach(const struct verbs_pair *pair,
                                enum ibv_wr_opcode opcode, uint32_t rkey,
                                const uint8_t *at)
{
    struct ibv_sge sge = verbs_sge(&pair->a, 0, 64);
    struct ibv_send_wr wr = {.sg_list = &sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad;

    wr.wr.rdma.remote_addr = (uintptr_t)at;
    wr.wr.rdma.rkey = rkey;
    assert_int_equal(ibv_post_send(pair->a.qp, &wr, &bad), 0);
    return verbs_wait(pair->a.cq).status;
}

/* The kernel has pinned what a device reaches: a program may unmap it before
 * the region goes, as UCX does. */
static void regions_outlive_their_mapping(void **state)
{
    enum {
        PAGE = 4096,
        BYTES = 3 * PAGE,
        ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                 IBV_ACCESS_REMOTE_READ
    };
    struct verbs_pair pair;
    struct ibv_mr *mr;
    uint8_t *memory;

    (void)state;
    signal(SIGSEGV, on_fault);
    verbs_pair_open(&pair);
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    mr = ibv_reg_mr(pair.b.pd, memory, BYTES, ACCESS);
    assert_non_null(mr);
    munmap(memory, BYTES);
    assert_int_equal(
        reach(&pair, IBV_WR_RDMA_WRITE, mr->rkey, memory + PAGE - 32),
        IBV_WC_SUCCESS);
    assert_int_equal(reach(&pair, IBV_WR_RDMA_READ, mr->rkey, memory),
                     IBV_WC_SUCCESS);
    assert_true(strikes(memory + BYTES - PAGE));
    assert_int_equal(ibv_dereg_mr(mr), 0);
    verbs_pair_close(&pair);
}

static struct sigaction replaced;
static volatile int chained;

static void on_fault_chained(int signo, siginfo_t *info, void *context)
{
    chained++;
    replaced.sa_sigaction(signo, info, context);
}

/* Two regions, and between them a handler that calls what it replaced: a fault
 * goes through it to the one from before. */
static void handlers_may_call_what_they_replaced(void **state)
{
    struct sigaction action = {.sa_sigaction = on_fault_chained,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct ibv_context *context = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    uint8_t *hole =
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static uint8_t memory[64];

    (void)state;
    assert_ptr_not_equal(hole, MAP_FAILED);
    signal(SIGSEGV, on_fault);
    assert_non_null(ibv_reg_mr(pd, memory, sizeof(memory), 0));
    assert_int_equal(sigaction(SIGSEGV, &action, &replaced), 0);
    assert_non_null(ibv_reg_mr(pd, memory, sizeof(memory), 0));
    for (int i = 0; i < 3; i++) {
        assert_true(strikes(hole));
        assert_int_equal(chained, i + 1);
    }
    munmap(hole, 4096);
    ibv_close_device(context);
}

/* What is sent is ignored though a region has put a handler in place. */
static void ignored_signals_stay_ignored(void **state)
{
    struct verbs_pair pair;

    (void)state;
    signal(SIGSEGV, SIG_IGN);
    verbs_pair_open(&pair);
    assert_int_equal(raise(SIGSEGV), 0);
    verbs_pair_close(&pair);
}

/* A dma-buf of the software GPU has a name of that kind. */
static int open_buffer(bool is_gpu)
{
    char name[64];
    int fd;

    snprintf(name, sizeof(name), MGDS_SIM_MEMFD_NAME, 1ull, 0u, 100u);
    fd = memfd_create(is_gpu ? name : "other", 0);
    assert_int_equal(ftruncate(fd, 8192), 0);
    return fd;
}

static void expect_refused(const struct verbs_side *side, uint64_t offset,
                           size_t bytes, int fd, int error)
{
    assert_null(ibv_reg_dmabuf_mr(side->pd, offset, bytes, 0, fd, 0));
    assert_int_equal(errno, error);
}

/* A descriptor that stands for memory (a dma-buf) is registered by ioctl. */
static void descriptors_are_registered(void **state)
{
    int fd = open_buffer(true), wrong = open_buffer(false);
    struct verbs_pair pair;
    struct ibv_mr *mr;
    uint8_t *memory;

    (void)state;
    memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    verbs_pair_open(&pair);
    expect_refused(&pair.b, 4096, 8192, fd, EINVAL);
    expect_refused(&pair.b, 0, 0, fd, EINVAL);
    expect_refused(&pair.b, 8, 64, fd, EINVAL); /* another place of its page */
    expect_refused(&pair.b, 0, 4096, wrong, EINVAL);
    close(wrong);
    expect_refused(&pair.b, 0, 4096, wrong, EBADF);
    mr = ibv_reg_dmabuf_mr(pair.b.pd, 4096, 4096, (uintptr_t)pair.b.memory, fd,
                           IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    assert_non_null(mr);
    close(fd);
    verbs_write(&pair, 100, mr->rkey, 0);
    assert_int_equal(verbs_wait(pair.a.cq).status, IBV_WC_SUCCESS);
    assert_memory_equal(memory + 4096 + 100, pair.a.memory, 64);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    verbs_pair_close(&pair);
    munmap(memory, 8192);
}

static void windows_are_objects(void **state)
{
    struct ibv_context *context = verbs_open();
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);

    (void)state;
    assert_non_null(mw);
    assert_null(ibv_alloc_mw(pd, (enum ibv_mw_type)3));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_non_null(ibv_alloc_mw(pd, IBV_MW_TYPE_1));
    ibv_close_device(context); /* with all that is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_change),
        cmocka_unit_test(wrong_regions_are_refused),
        cmocka_unit_test(regions_outlive_their_mapping),
        cmocka_unit_test(handlers_may_call_what_they_replaced),
        cmocka_unit_test(ignored_signals_stay_ignored),
        cmocka_unit_test(descriptors_are_registered),
        cmocka_unit_test(windows_are_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
