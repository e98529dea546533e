/* Batches of copies in which something goes wrong: whom the error reaches, and
 * that the thread stands as before. Then batches of several threads at once. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/mem/bounce_state.h"
#include "shim/gds/mem/copyqueue.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_place.h"

enum { BYTES = 1000, COPIES = 6 };

static struct mgds_driver *table(void)
{
    return (struct mgds_driver *)(void *)mgds_driver();
}

static CUstreamCaptureMode mode_now(void)
{
    CUstreamCaptureMode now = CU_STREAM_CAPTURE_MODE_RELAXED, back;

    OK(mgds_driver()->cuThreadExchangeStreamCaptureMode(&now));
    back = now;
    OK(mgds_driver()->cuThreadExchangeStreamCaptureMode(&back));
    return now;
}

/* One context is current, as stage_start left it, and none below it. */
static void assert_thread_as_before(void)
{
    CUcontext top = NULL, below = NULL;

    assert_int_equal(mode_now(), CU_STREAM_CAPTURE_MODE_GLOBAL);
    OK(mgds_driver()->cuCtxPopCurrent(&top));
    assert_ptr_equal(top, stage_primary[0]);
    OK(cu.cuCtxGetCurrent(&below));
    assert_null(below);
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
}

static int after(void **state)
{
    (void)state;
    mgds_copyqueues_fini();
    mgds_defer_drain();
    return 0;
}

static struct mgds_bounce *bounce_at(CUdeviceptr at, size_t bytes)
{
    struct mgds_layout *layout = stage_bytes_of(1);
    struct mgds_buffer buffer = stage_buffer_at(at, layout, bytes);
    struct mgds_bounce *bounce = stage_bounce_of(&buffer, MGDS_BOUNCE_PACKED);

    mgds_layout_put(layout);
    return bounce;
}

static void open_copies(struct mgds_bounce **bounce,
                        const struct stage_place *place)
{
    for (int i = 0; i < COPIES; i++) {
        bounce[i] = bounce_at(place->gpu + (size_t)i * BYTES, BYTES);
        memset(mgds_bounce_base(bounce[i]), i, BYTES);
    }
}

static void expect_copied(struct mgds_bounce *bounce, unsigned char *want,
                          int value)
{
    assert_int_equal(mgds_bounce_wait(bounce, NULL), 0);
    memset(want, value, BYTES);
}

/* All of them up in one batch; that one must say so. */
static void copy_up(struct mgds_bounce **bounce, int bad, int error)
{
    mgds_copyqueue_batch_begin();
    for (int i = 0; i < COPIES; i++)
        assert_int_equal(mgds_bounce_up(bounce[i], 0, SIZE_MAX),
                         i == bad ? error : 0);
    mgds_copyqueue_batch_end();
    assert_thread_as_before();
}

static void settle_all(struct mgds_bounce **bounce, struct stage_place *place,
                       int bad)
{
    for (int i = 0; i < COPIES; i++) {
        if (i == bad)
            assert_int_equal(mgds_bounce_poll(bounce[i]), 1);
        else
            expect_copied(bounce[i], place->want + (size_t)i * BYTES, i);
        mgds_bounce_destroy(bounce[i]);
    }
    assert_thread_as_before();
    stage_assert_place(place);
    stage_close_place(place);
}

static void freed_memory_fails_its_own_copy_only(void **state)
{
    struct mgds_bounce *bounce[COPIES];
    struct stage_place place;
    CUdeviceptr gone;

    (void)state;
    for (int bad = 0; bad < COPIES; bad++) {
        stage_open_place(&place);
        open_copies(bounce, &place);
        mgds_bounce_destroy(bounce[bad]);
        OK(cu.cuMemAlloc_v2(&gone, BYTES));
        bounce[bad] = bounce_at(gone, BYTES);
        OK(cu.cuMemFree_v2(gone));
        copy_up(bounce, bad, -EFAULT);
        settle_all(bounce, &place, bad);
    }
}

static struct mgds_driver whole;
static int until_refused;

static CUresult refuse_one_copy(CUdeviceptr dst, CUdeviceptr src, size_t bytes,
                                CUstream stream)
{
    if (until_refused-- == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return whole.cuMemcpyAsync(dst, src, bytes, stream);
}

static void refused_copy_fails_its_own_only(void **state)
{
    struct mgds_bounce *bounce[COPIES];
    struct stage_place place;

    (void)state;
    whole = *table();
    for (int bad = 0; bad < COPIES; bad++) {
        stage_open_place(&place);
        open_copies(bounce, &place);
        until_refused = bad;
        table()->cuMemcpyAsync = refuse_one_copy;
        copy_up(bounce, bad, -ENOMEM);
        *table() = whole;
        settle_all(bounce, &place, bad);
    }
}

static CUresult refuse_record(CUevent event, CUstream stream)
{
    (void)event;
    (void)stream;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Who asks for copies without an event records one. */
static void event_that_was_refused_is_recorded_later(void **state)
{
    struct mgds_bounce *bounce[COPIES];
    struct stage_place place;

    (void)state;
    whole = *table();
    stage_open_place(&place);
    open_copies(bounce, &place);
    table()->cuEventRecord = refuse_record;
    copy_up(bounce, -1, 0);
    *table() = whole;
    settle_all(bounce, &place, -1);
}

/* Every other copy is in another context, which goes in the middle. */
static void context_that_goes_fails_its_own_copies_only(void **state)
{
    struct mgds_bounce *mine, *its[2];
    struct stage_place place;
    CUcontext passing;
    CUdeviceptr gpu;

    (void)state;
    stage_open_place(&place);
    mine = bounce_at(place.gpu, BYTES);
    memset(mgds_bounce_base(mine), 3, BYTES);
    OK(cu.cuCtxCreate_v2(&passing, 0, 1));
    OK(cu.cuMemAlloc_v2(&gpu, BYTES));
    its[0] = bounce_at(gpu, BYTES);
    its[1] = bounce_at(gpu, BYTES);
    OK(mgds_driver()->cuCtxPopCurrent(&passing));
    mgds_copyqueue_batch_begin();
    assert_int_equal(mgds_bounce_up(mine, 0, BYTES / 2), 0);
    assert_int_equal(mgds_bounce_up(its[0], 0, SIZE_MAX), 0);
    assert_int_equal(mgds_bounce_up(mine, BYTES / 2, SIZE_MAX), 0);
    OK(cu.cuCtxDestroy_v2(passing));
    assert_int_equal(mgds_bounce_up(its[1], 0, SIZE_MAX), -ESHUTDOWN);
    mgds_copyqueue_batch_end();
    assert_thread_as_before();
    assert_int_equal(mgds_bounce_poll(its[0]), -ESHUTDOWN);
    assert_int_equal(mgds_bounce_poll(its[1]), 1);
    expect_copied(mine, place.want, 3);
    mgds_bounce_destroy(its[0]);
    mgds_bounce_destroy(its[1]);
    mgds_bounce_destroy(mine);
    assert_thread_as_before();
    stage_assert_place(&place);
    stage_close_place(&place);
}

static CUresult refuse_mode(CUstreamCaptureMode *mode)
{
    (void)mode;
    *table() = whole;
    return CUDA_ERROR_UNKNOWN;
}

/* The driver may tell of an older error instead of doing it. */
static void mode_that_was_not_changed_is_not_given_back(void **state)
{
    struct stage_place place;
    struct mgds_bounce *bounce;

    (void)state;
    whole = *table();
    stage_open_place(&place);
    bounce = bounce_at(place.gpu, BYTES);
    memset(mgds_bounce_base(bounce), 9, BYTES);
    table()->cuThreadExchangeStreamCaptureMode = refuse_mode;
    assert_int_equal(mgds_bounce_up(bounce, 0, SIZE_MAX), 0);
    assert_thread_as_before();
    expect_copied(bounce, place.want, 9);
    mgds_bounce_destroy(bounce);
    stage_assert_place(&place);
    stage_close_place(&place);
}

/* Threads. */

enum { THREADS = 4, LAPS = 150, WINDOW = 12, PART = 4096 };

struct worker {
    pthread_t thread;
    CUdeviceptr gpu; /* PART bytes for each of the window, known */
    unsigned char *known;
    unsigned seed;
    int wrong; /* copies that were said to be done and were not, errors */
};

static unsigned random_below(struct worker *worker, unsigned limit)
{
    worker->seed = worker->seed * 1103515245u + 12345u;
    return (worker->seed >> 16) % limit;
}

static struct mgds_bounce *bounce_of(const struct worker *worker, int i)
{
    struct mgds_layout *layout;
    struct mgds_buffer buffer = {
        .addr = (void *)(uintptr_t)(worker->gpu + (size_t)i * PART),
        .count = PART};
    struct mgds_bounce *bounce = NULL;

    if (mgds_layout_bytes(&layout, 1, 1) < 0)
        return NULL;
    buffer.layout = layout;
    if (mgds_ptr_find(&buffer.ptr, buffer.addr, 1) < 0 ||
        mgds_bounce_create(&bounce, &buffer, MGDS_BOUNCE_PACKED) < 0)
        bounce = NULL;
    mgds_layout_put(layout);
    return bounce;
}

/* By polling, asleep, or not at all: then the memory must not serve another
 * before the copy is over. */
static void end_copy(struct worker *worker, struct mgds_bounce *bounce, int i)
{
    unsigned how = random_below(worker, 4);
    int rc = 0;

    if (how == 0)
        rc = mgds_bounce_wait(bounce, NULL) == 0 ? 1 : -1;
    while (how == 1 && (rc = mgds_bounce_poll(bounce)) == 0)
        sched_yield();
    if (how == 2)
        rc = mgds_bounce_poll(bounce);
    worker->wrong += rc < 0;
    if (rc == 1)
        worker->wrong += memcmp(mgds_bounce_base(bounce),
                                worker->known + (size_t)i * PART, PART) != 0;
    mgds_bounce_destroy(bounce);
}

static void lap(struct worker *worker)
{
    struct mgds_bounce *bounce[WINDOW];
    unsigned many = 1 + random_below(worker, WINDOW);
    bool together = random_below(worker, 3) > 0;

    for (unsigned i = 0; i < many; i++) {
        bounce[i] = bounce_of(worker, (int)i);
        if (bounce[i])
            memset(mgds_bounce_base(bounce[i]), 0, PART);
        worker->wrong += !bounce[i];
    }
    if (together)
        mgds_copyqueue_batch_begin();
    for (unsigned i = 0; i < many; i++)
        if (bounce[i] && mgds_bounce_down(bounce[i], 0, SIZE_MAX) < 0)
            worker->wrong++;
    if (together)
        mgds_copyqueue_batch_end();
    for (unsigned i = many; i > 0; i--)
        if (bounce[i - 1])
            end_copy(worker, bounce[i - 1], (int)i - 1);
}

static void *work(void *arg)
{
    struct worker *worker = arg;

    worker->wrong += cu.cuCtxSetCurrent(stage_primary[0]) != CUDA_SUCCESS;
    for (int i = 0; i < LAPS; i++)
        lap(worker);
    return NULL;
}

static void start(struct worker *worker, unsigned number)
{
    size_t bytes = (size_t)WINDOW * PART;

    *worker = (struct worker){.seed = 77 * (number + 1)};
    worker->known = malloc(bytes);
    assert_non_null(worker->known);
    for (size_t i = 0; i < bytes; i++)
        worker->known[i] = (unsigned char)(number * 50 + 1 + i / PART + i % 7);
    OK(cu.cuMemAlloc_v2(&worker->gpu, bytes));
    OK(cu.cuMemcpy(worker->gpu, (CUdeviceptr)(uintptr_t)worker->known, bytes));
    OK(cu.cuStreamSynchronize(NULL));
}

/* What is said to be done is, whoever asked; no piece is used too early. */
static void threads_share_a_queue(void **state)
{
    struct worker worker[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++)
        start(&worker[i], i);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&worker[i].thread, NULL, work, &worker[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
        assert_int_equal(worker[i].wrong, 0);
        OK(cu.cuMemFree_v2(worker[i].gpu));
        free(worker[i].known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, after)
        TEST(freed_memory_fails_its_own_copy_only),
        TEST(refused_copy_fails_its_own_only),
        TEST(event_that_was_refused_is_recorded_later),
        TEST(context_that_goes_fails_its_own_copies_only),
        TEST(mode_that_was_not_changed_is_not_given_back),
        TEST(threads_share_a_queue),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, NULL);
}
