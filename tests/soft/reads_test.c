/* Short copies by kernel: of any size and alignment, many in one launch, and
 * what becomes of one whose kernel does not come. The software GPU takes memory
 * of this process for that of another one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/mem/reads.h"
#include "tests/lib/sanitized.h"
#include "tests/soft/launch_gate.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_place.h"

enum { MOST = MGDS_READS_MOST, ROWS = 64, ROUNDS = 60 };

static struct stage_place from, to;
static struct mgds_context *ctx;
static struct mgds_reads *reads;

static struct mgds_context *context_of(CUdeviceptr at)
{
    struct mgds_context *found;
    struct mgds_ptr ptr;

    assert_int_equal(mgds_ptr_find(&ptr, (void *)(uintptr_t)at, 1), 0);
    assert_int_equal(mgds_context_of_ptr(&found, &ptr), 0);
    return found;
}

static struct mgds_context *context_of_own(void)
{
    CUdeviceptr at;

    OK(cu.cuMemAlloc_v2(&at, 1));
    return context_of(at);
}

static int before(void **state)
{
    (void)state;
    stage_open_filled(&from, 1);
    stage_open_filled(&to, 90);
    ctx = context_of(to.gpu);
    mgds_reads_want();
    reads = mgds_reads_create(ctx);
    assert_non_null(reads);
    launch_gate_make();
    return 0;
}

static int after(void **state)
{
    (void)state;
    launch_gate_settle();
    mgds_reads_destroy(reads);
    mgds_context_put(ctx);
    mgds_defer_drain();
    launch_gate_remove();
    stage_close_place(&to);
    stage_close_place(&from);
    return 0;
}

static void *gpu_at(CUdeviceptr at)
{
    return (void *)(uintptr_t)at;
}

static void fill_item(struct mgds_read_args *args, size_t dst, size_t src,
                      size_t bytes)
{
    args->item[args->count++] =
        (struct mgds_read_item){.dst = (uintptr_t)gpu_at(to.gpu + dst),
                                .src = (uintptr_t)gpu_at(from.gpu + src),
                                .bytes = bytes};
}

static bool take(struct mgds_read *read, struct mgds_read_args *args,
                 size_t dst, size_t src, size_t bytes)
{
    args->count = 0;
    fill_item(args, dst, src, bytes);
    return mgds_reads_may_begin(reads) && mgds_reads_take(reads, args, &read);
}

static bool begin(struct mgds_read *read, size_t dst, size_t src, size_t bytes)
{
    struct mgds_read_args args;

    if (!take(read, &args, dst, src, bytes))
        return false;
    mgds_reads_launch(reads, &args);
    return true;
}

static int end_of(struct mgds_read *read)
{
    int rc;

    while ((rc = mgds_read_poll(read)) == 0)
        sched_yield();
    return rc;
}

static void want(size_t dst, size_t src, size_t bytes)
{
    memcpy(to.want + dst, from.want + src, bytes);
}

/* A machine that is busy may be later than 20 us: then it is copied here. */
static void finish(struct mgds_read *read, size_t dst, size_t src, size_t bytes)
{
    int rc = end_of(read);

    assert_true(rc == 1 || rc == -EAGAIN);
    if (rc == -EAGAIN) {
        OK(cu.cuMemcpy(to.gpu + dst, from.gpu + src, bytes));
        OK(cu.cuStreamSynchronize(NULL));
    }
    want(dst, src, bytes);
}

/* Those that are late make none begin for a second: new ones do not know. */
static void forget_late(void)
{
    launch_gate_settle();
    if (mgds_reads_may_begin(reads))
        return;
    mgds_reads_destroy(reads);
    reads = mgds_reads_create(ctx);
    assert_non_null(reads);
}

/* No row is lost any more. */
static void begin_again(struct mgds_read *read, size_t dst, size_t src,
                        size_t bytes)
{
    forget_late();
    assert_true(begin(read, dst, src, bytes));
}

static void any_size_at_any_alignment(void **state)
{
    static const size_t sizes[] = {1, 3, 15, 16, 17, 160, 1000, 8192, 32768};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
        for (size_t shift = 0; shift < 20; shift += 3) {
            struct mgds_read read;
            size_t dst = 64 + shift, src = ORIGIN + 5 * shift;

            begin_again(&read, dst, src, sizes[i]);
            finish(&read, dst, src, sizes[i]);
        }
    stage_assert_place(&to);
}

static void many_are_one_launch(void **state)
{
    struct mgds_read read[MOST], *all[MOST];
    struct mgds_read_args args = {.count = 0};

    (void)state;
    for (size_t i = 0; i < MOST; i++) {
        all[i] = &read[i];
        fill_item(&args, i * 300, i * 1000, 200);
    }
    assert_true(mgds_reads_take(reads, &args, all));
    assert_int_equal(launches, 0);
    mgds_reads_launch(reads, &args);
    assert_int_equal(launches, 1);
    for (size_t i = 0; i < MOST; i++)
        finish(&read[i], i * 300, i * 1000, 200);
    stage_assert_place(&to);
}

static void one_whose_kernel_does_not_come_is_given_up(void **state)
{
    uint64_t begun;
    struct mgds_read read, other;

    (void)state;
    launches_held = true;
    launch_gate_open(false);
    begun = mgds_clock_ns();
    assert_true(begin(&read, 0, 0, 1000));
    assert_true(begin(&other, 2000, 0, 1000));
    assert_int_equal(end_of(&read), -EAGAIN);
    assert_true(mgds_clock_ns() - begun >= MGDS_READS_COME_NS);
    assert_int_equal(end_of(&other), -EAGAIN);
    assert_false(begin(&read, 0, 0, 1000));
    launch_gate_settle();
    /* what comes late copies nothing, and others may be begun behind it */
    begin_again(&read, 5000, 0, 1000);
    finish(&read, 5000, 0, 1000);
    stage_assert_place(&to);
}

/* Two launches in a row were late: none begins for a second, though all blocks
 * have come by then. */
static void after_two_late_ones_there_are_none_for_a_second(void **state)
{
    uint64_t late;
    struct mgds_read read;

    (void)state;
    for (int i = 0; i < 2; i++) {
        launches_held = true;
        launch_gate_open(false);
        assert_true(begin(&read, 0, 0, 1000));
        late = mgds_clock_ns();
        assert_int_equal(end_of(&read), -EAGAIN);
        launch_gate_settle();
    }
    while (!begin(&read, 5000, 0, 1000))
        sched_yield();
    assert_true(mgds_clock_ns() - late >= 1000000000);
    finish(&read, 5000, 0, 1000);
    stage_assert_place(&to);
}

/* There is a row for each of as many as there are rows. */
static void all_rows_can_be_taken(void **state)
{
    struct mgds_read read[ROWS], more;

    (void)state;
    launches_held = true;
    launch_gate_open(false);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(begin(&read[i], i * 300, i * 1000, 200));
    assert_false(begin(&more, 0, 0, 1000));
    launch_gate_settle();
    for (size_t i = 0; i < ROWS; i++)
        finish(&read[i], i * 300, i * 1000, 200);
    begin_again(&more, 50000, 0, 1000);
    finish(&more, 50000, 0, 1000);
    stage_assert_place(&to);
}

static void *poll_to_end(void *arg)
{
    return (void *)(intptr_t)end_of((struct mgds_read *)arg);
}

/* The thread that is to launch sits somewhere until the other, which waits for
 * the read, has given it up. */
static void whoever_polls_need_not_wait_for_the_launch(void **state)
{
    struct mgds_read_args args;
    struct mgds_read read;
    pthread_t thread;
    void *rc;

    (void)state;
    assert_true(take(&read, &args, 0, 0, 1000));
    assert_int_equal(pthread_create(&thread, NULL, poll_to_end, &read), 0);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal((intptr_t)rc, -EAGAIN);
    mgds_reads_launch(reads, &args);
    begin_again(&read, 5000, 0, 1000);
    finish(&read, 5000, 0, 1000);
    stage_assert_place(&to);
}

static void another_thread_may_poll(void **state)
{
    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(ROUNDS); i++) {
        struct mgds_read_args args;
        struct mgds_read read;
        pthread_t thread;
        void *rc;

        forget_late();
        assert_true(take(&read, &args, 100, i, 5000));
        assert_int_equal(pthread_create(&thread, NULL, poll_to_end, &read), 0);
        mgds_reads_launch(reads, &args);
        assert_int_equal(pthread_join(thread, &rc), 0);
        if ((intptr_t)rc == 1)
            want(100, i, 5000);
        else
            assert_int_equal((intptr_t)rc, -EAGAIN);
    }
    launch_gate_settle();
    stage_assert_place(&to);
}

/* The test plays blocks. */
static void say(const struct mgds_read_args *args, unsigned i, uint64_t word)
{
    struct mgds_read_claim *claim =
        (struct mgds_read_claim *)(uintptr_t)args->item[i].claim;

    __atomic_store_n(&claim->state, word, __ATOMIC_RELEASE);
}

static int poll_for(struct mgds_read *read, uint64_t ns)
{
    uint64_t until = mgds_clock_ns() + ns;
    int rc = 0;

    while (rc == 0 && mgds_clock_ns() < until)
        rc = mgds_read_poll(read);
    return rc;
}

static void take_two(struct mgds_read *first, struct mgds_read *second,
                     struct mgds_read_args *args)
{
    struct mgds_read *read[] = {first, second};

    args->count = 0;
    fill_item(args, 0, 0, 1000);
    fill_item(args, 2000, 0, 1000);
    assert_true(mgds_reads_take(reads, args, read));
}

/* It waits for the end of that one, and is late only some time after it. */
static void who_waits_behind_a_block_of_ours_is_not_late(void **state)
{
    struct mgds_read first, second;
    struct mgds_read_args args;

    (void)state;
    take_two(&first, &second, &args);
    say(&args, 0, MGDS_READ_HERE);
    assert_int_equal(poll_for(&second, 10 * MGDS_READS_COME_NS), 0);
    assert_int_equal(poll_for(&first, 10 * MGDS_READS_COME_NS), 0);
    say(&args, 0, MGDS_READ_DONE);
    /* nobody has seen that end for a while */
    for (uint64_t now = mgds_clock_ns();
         mgds_clock_ns() < now + 2 * MGDS_READS_COME_NS;)
        sched_yield();
    assert_int_equal(mgds_read_poll(&second), 0);
    assert_int_equal(end_of(&second), -EAGAIN);
    assert_int_equal(mgds_read_poll(&first), 1);
    say(&args, 1, MGDS_READ_LEFT);
    stage_assert_place(&to);
}

/* The context goes while one block copies and another has not come. */
static void all_ends_with_the_context(void **state)
{
    struct mgds_read first, second;
    struct mgds_read_args args;
    CUcontext own;

    (void)state;
    mgds_reads_destroy(reads);
    mgds_context_put(ctx);
    OK(cu.cuCtxCreate_v2(&own, 0, 0));
    ctx = context_of_own();
    reads = mgds_reads_create(ctx);
    assert_non_null(reads);
    take_two(&first, &second, &args);
    assert_int_equal(end_of(&second), -EAGAIN);
    say(&args, 0, MGDS_READ_HERE);
    OK(cu.cuCtxDestroy_v2(own));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    assert_int_equal(end_of(&first), -ESHUTDOWN);
    assert_false(mgds_reads_may_begin(reads));
}

/* Rows are LOST, and no block comes any more, when all goes. */
static void lost_ones_that_have_left_are_freed(void **state)
{
    struct mgds_read read;

    (void)state;
    launches_held = true;
    launch_gate_open(false);
    assert_true(begin(&read, 0, 0, 1000));
    assert_int_equal(end_of(&read), -EAGAIN);
    stage_assert_place(&to);
}

static CUresult refuse_launch(const CUlaunchConfig *config, CUfunction function,
                              void **params, void **extra)
{
    (void)config;
    (void)function;
    (void)params;
    (void)extra;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void a_launch_that_is_refused_is_given_up(void **state)
{
    struct mgds_driver *table = (struct mgds_driver *)(void *)mgds_driver();
    CUresult (*launch)(const CUlaunchConfig *config, CUfunction function,
                       void **params, void **extra) = table->cuLaunchKernelEx;
    struct mgds_read read;

    (void)state;
    table->cuLaunchKernelEx = refuse_launch;
    assert_true(begin(&read, 0, 0, 1000));
    assert_int_equal(mgds_read_poll(&read), -EAGAIN);
    table->cuLaunchKernelEx = launch;
    begin_again(&read, 0, 0, 1000);
    finish(&read, 0, 0, 1000);
    stage_assert_place(&to);
}

/* The gate opens before or about when the read is given up: either its bytes
 * are there, or nothing comes to where they would have been. */
static void both_ends_agree(void **state)
{
    unsigned copied = 0;

    (void)state;
    for (unsigned i = 0; i < mgds_test_laps(ROUNDS) * 4; i++) {
        uint64_t opens;
        struct mgds_read read;
        int rc = 0;

        forget_late();
        launches_held = true;
        launch_gate_open(false);
        assert_true(begin(&read, 100, i, 5000));
        opens = mgds_clock_ns() + UINT64_C(750) * (i % 32);
        while (rc == 0) {
            if (mgds_clock_ns() >= opens)
                launch_gate_open(true);
            rc = mgds_read_poll(&read);
        }
        launch_gate_open(true);
        assert_true(rc == 1 || rc == -EAGAIN);
        copied += rc == 1;
        if (rc == 1)
            want(100, i, 5000);
    }
    launches_held = false;
    for (int i = 0; i < 2; i++) {
        struct mgds_read read;

        begin_again(&read, 9000, 0, 16);
        finish(&read, 9000, 0, 16);
    }
    stage_assert_place(&to);
    print_message("%u copied\n", copied);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
        TEST(any_size_at_any_alignment),
        TEST(many_are_one_launch),
        TEST(one_whose_kernel_does_not_come_is_given_up),
        TEST(after_two_late_ones_there_are_none_for_a_second),
        TEST(all_rows_can_be_taken),
        TEST(whoever_polls_need_not_wait_for_the_launch),
        TEST(another_thread_may_poll),
        TEST(who_waits_behind_a_block_of_ours_is_not_late),
        TEST(all_ends_with_the_context),
        TEST(lost_ones_that_have_left_are_freed),
        TEST(a_launch_that_is_refused_is_given_up),
        TEST(both_ends_agree),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, NULL);
}
