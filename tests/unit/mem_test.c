/* Tests of shim/gds/cuda/mem.c, defer.c and event.c: what shape of copy the
 * driver is given, what happens when memory is short or its context is gone,
 * and that nothing is freed before a safe point. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/event.h"
#include "shim/gds/cuda/mem.h"
#include "tests/lib/capture.h"
#include "tests/lib/fault_sweep.h"
#include "tests/unit/fake_cuda.h"

static struct fake_cuda *fake;
static struct mgds_context *ctx;

static CUcontext handle = (CUcontext)(uintptr_t)0xc0de;

static int load(void **state)
{
    (void)state;
    fake = fake_cuda_load();
    return 0;
}

static int reset(void **state)
{
    struct mgds_ptr ptr = {.kind = MGDS_PTR_DEVICE, .ctx = handle, .ctx_id = 7};

    (void)state;
    fake_cuda_reset(fake);
    fake->contexts[0] = (struct fake_context){handle, 7, 0};
    return mgds_context_of_ptr(&ctx, &ptr);
}

static int check_left(void **state)
{
    (void)state;
    assert_int_equal(fake_cuda_depth(), 0);
    assert_false(mgds_defer_pending());
    mgds_context_put(ctx);
    mgds_context_fini();
    return 0;
}

static void pinned_memory_goes_back_at_a_safe_point_only(void **state)
{
    struct mgds_pinned *pinned;

    (void)state;
    assert_int_equal(mgds_pinned_create(&pinned, ctx, 100), 0);
    memset(pinned->addr, 1, 100);
    assert_true(pinned->bytes >= 100);
    mgds_pinned_destroy(pinned);
    assert_int_equal(fake->hosts_freed, 0);
    assert_true(mgds_defer_pending());
    assert_int_equal(mgds_defer_drain(), 1);
    assert_int_equal(fake->hosts_freed, 1);
    assert_int_equal(mgds_defer_drain(), 0);
}

/* The MPI below may still write to it: the memory is our own. */
static void memory_outlives_its_context(void **state)
{
    struct mgds_pinned *pinned;

    (void)state;
    assert_int_equal(mgds_pinned_create(&pinned, ctx, 100), 0);
    fake->contexts[0].id = 70;
    memset(pinned->addr, 1, 100);
    mgds_pinned_destroy(pinned);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_int_equal(fake->hosts_freed, 0);
}

static void registration_that_is_somebody_elses_now_stays(void **state)
{
    struct mgds_pinned *pinned;

    (void)state;
    assert_int_equal(mgds_pinned_create(&pinned, ctx, 100), 0);
    fake->blocks[0] = (struct fake_block){
        .base = (uintptr_t)pinned->addr, .size = 100, .ctx = handle, .id = 99};
    mgds_pinned_destroy(pinned);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_int_equal(fake->hosts_freed, 0);
}

static void shortage_of_pinned_memory_is_one_line(void **state)
{
    struct mgds_pinned *pinned = NULL;
    char *text;

    (void)state;
    fake->alloc_result = CUDA_ERROR_OUT_OF_MEMORY;
    mgds_capture_start(MGDS_LOG_WARN);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mgds_pinned_create(&pinned, ctx, 1 << 20), -ENOMEM);
    text = mgds_capture_stop();
    assert_null(pinned);
    assert_int_equal(mgds_count_lines(text), 1);
    assert_non_null(strstr(text, "1048576 bytes"));
    assert_non_null(strstr(text, "CUDA_ERROR_OUT_OF_MEMORY"));
    assert_non_null(strstr(text, "free host memory"));
    free(text);
}

static int pin_and_unpin(void *arg)
{
    struct mgds_pinned *pinned;
    int rc = mgds_pinned_create(&pinned, ctx, 100);

    (void)arg;
    if (rc == 0)
        mgds_pinned_destroy(pinned);
    mgds_defer_drain();
    return rc;
}

static void shortage_of_memory_is_an_error_and_no_leak(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, pin_and_unpin, NULL) > 0);
}

/* A shape, and what must come of it: which call, and the error if none. */
struct shape_row {
    struct mgds_copy copy;
    size_t lines, planes, cubes; /* calls of each kind */
    size_t line;                 /* bytes of the first kind */
    int64_t rc;
};

/* Sizes are width, rows, planes; dst and src pitch; dst and src slice. */
#define SHAPE(...)                                                             \
    {                                                                          \
        NULL, NULL, __VA_ARGS__                                                \
    }

static void copies_take_as_few_dimensions_as_they_can(void **state)
{
    const struct shape_row rows[] = {
        {SHAPE(8, 1, 1, 0, 0, 0, 0), 1, 0, 0, 8, 0},
        {SHAPE(8, 4, 1, 8, 8, 0, 0), 1, 0, 0, 32, 0},
        {SHAPE(8, 4, 3, 8, 8, 32, 32), 1, 0, 0, 96, 0},
        {SHAPE(8, 1, 3, 0, 0, 8, 8), 1, 0, 0, 24, 0},
        {SHAPE(8, 4, 1, 8, 16, 0, 0), 0, 1, 0, 0, 0},
        {SHAPE(8, 4, 3, 8, 8, 50, 32), 0, 1, 0, 0, 0},
        {SHAPE(8, 1, 3, 0, 0, 50, 9), 0, 1, 0, 0, 0},
        {SHAPE(8, 4, 3, 16, 8, 64, 32), 0, 0, 1, 0, 0},
        {SHAPE(8, 4, 3, 16, 8, 80, 40), 0, 0, 1, 0, 0},
        {SHAPE(0, 4, 3, 16, 8, 80, 40), 0, 0, 0, 0, 0},
        {SHAPE(8, 0, 3, 16, 8, 80, 40), 0, 0, 0, 0, 0},
        {SHAPE(8, 4, 0, 16, 8, 80, 40), 0, 0, 0, 0, 0},
        {SHAPE(8, 4, 1, 8, 7, 0, 0), 0, 0, 0, 0, -EINVAL},
        {SHAPE(8, 4, 3, 16, 8, 81, 40), 0, 0, 0, 0, -EINVAL},
        {SHAPE(8, 4, 3, 16, 8, 80, 24), 0, 0, 0, 0, -EINVAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake->lines = fake->planes = fake->cubes = 0;
        fake->line = 0;
        assert_int_equal(mgds_copy_async(&rows[i].copy, NULL), rows[i].rc);
        assert_int_equal(fake->lines, rows[i].lines);
        assert_int_equal(fake->planes, rows[i].planes);
        assert_int_equal(fake->cubes, rows[i].cubes);
        assert_int_equal(fake->line, rows[i].line);
    }
}

static void plane_is_described_as_the_driver_wants_it(void **state)
{
    const struct mgds_copy copy = {.dst = (void *)0x100,
                                   .src = (const void *)0x200,
                                   .width = 8,
                                   .rows = 4,
                                   .planes = 1,
                                   .dst_pitch = 16,
                                   .src_pitch = 32};
    const CUDA_MEMCPY2D *plane = &fake->plane;

    (void)state;
    assert_int_equal(mgds_copy_async(&copy, NULL), 0);
    assert_int_equal(plane->dstDevice, 0x100);
    assert_int_equal(plane->srcDevice, 0x200);
    assert_int_equal(plane->dstMemoryType, CU_MEMORYTYPE_UNIFIED);
    assert_int_equal(plane->srcMemoryType, CU_MEMORYTYPE_UNIFIED);
    assert_int_equal(plane->dstPitch, 16);
    assert_int_equal(plane->srcPitch, 32);
    assert_int_equal(plane->WidthInBytes, 8);
    assert_int_equal(plane->Height, 4);
}

static void event_tells_done_from_not_yet_from_failed(void **state)
{
    struct mgds_event event;

    (void)state;
    assert_int_equal(mgds_event_init(&event, ctx), 0);
    assert_int_equal(mgds_event_query(&event), 1);
    fake->event_result = CUDA_ERROR_NOT_READY;
    assert_int_equal(mgds_event_query(&event), 0);
    fake->event_result = CUDA_ERROR_LAUNCH_FAILED;
    assert_int_equal(mgds_event_query(&event), -EIO);
    assert_int_equal(mgds_event_synchronize(&event), -EIO);
    mgds_event_fini(&event);
    assert_int_equal(fake->events_destroyed, 1);
}

static void event_that_went_with_its_context_is_left_alone(void **state)
{
    struct mgds_event event;

    (void)state;
    assert_int_equal(mgds_event_init(&event, ctx), 0);
    fake->contexts[0].handle = NULL;
    mgds_event_fini(&event);
    assert_int_equal(fake->events_destroyed, 0);
    assert_int_equal(mgds_event_init(&event, ctx), -ESHUTDOWN);
}

enum { THREADS = 6, ITEMS = 2000 };

struct item {
    struct mgds_deferred deferred;
    unsigned runs;
    unsigned number; /* written by the thread that defers */
};

static struct item items[THREADS][ITEMS];
static unsigned drained; /* atomic */

static void run_item(struct mgds_deferred *deferred)
{
    struct item *item = (struct item *)(void *)deferred;

    item->runs++;
    assert_true(item->number < ITEMS);
}

static void *defer_all(void *arg)
{
    struct item *mine = arg;

    for (unsigned i = 0; i < ITEMS; i++) {
        mine[i].number = i;
        mine[i].deferred.run = run_item;
        mgds_defer(&mine[i].deferred);
        if (i % 64 == 0)
            __atomic_fetch_add(&drained, mgds_defer_drain(), __ATOMIC_RELAXED);
    }
    return NULL;
}

static void items_of_many_threads_run_once_each(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, defer_all, items[i]),
                         0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    drained += mgds_defer_drain();
    assert_int_equal(drained, THREADS * ITEMS);
    for (int i = 0; i < THREADS; i++) {
        for (int j = 0; j < ITEMS; j++)
            assert_int_equal(items[i][j].runs, 1);
    }
}

static unsigned order[ITEMS], ordered;

static void run_in_order(struct mgds_deferred *deferred)
{
    order[ordered++] = ((struct item *)(void *)deferred)->number;
}

/* Memory of others is unmapped before our own is freed, if that was put so. */
static void items_run_in_the_order_they_were_put(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ITEMS; i++) {
        items[0][i].number = i;
        items[0][i].deferred.run = run_in_order;
        mgds_defer(&items[0][i].deferred);
    }
    assert_int_equal(mgds_defer_drain(), ITEMS);
    for (unsigned i = 0; i < ITEMS; i++)
        assert_int_equal(order[i], i);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, reset, check_left)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(pinned_memory_goes_back_at_a_safe_point_only),
        CASE(memory_outlives_its_context),
        CASE(registration_that_is_somebody_elses_now_stays),
        CASE(shortage_of_pinned_memory_is_one_line),
        CASE(shortage_of_memory_is_an_error_and_no_leak),
        CASE(copies_take_as_few_dimensions_as_they_can),
        CASE(plane_is_described_as_the_driver_wants_it),
        CASE(event_tells_done_from_not_yet_from_failed),
        CASE(event_that_went_with_its_context_is_left_alone),
        CASE(items_of_many_threads_run_once_each),
        CASE(items_run_in_the_order_they_were_put),
    };

    return cmocka_run_group_tests(tests, load, NULL);
}
