/* Pulls of a batch: who copies them, and that nobody who waits for one has to
 * wait for the thread whose batch it is in. The software GPU takes memory of
 * this process for that of another one, and the test plays the registration
 * cache. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <pthread.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/direct/pull.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/mem/import.h"
#include "tests/soft/launch_gate.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_place.h"

enum { BYTES = 4096, MANY = 5, MOST = 20 };

static struct stage_place from, to;
static struct mgds_context *ctx;
static struct mgds_copyqueue *queue;

/* The cache: everything is mapped where it is, unless it is to be mapped first:
 * that takes until somebody says so. */
static bool is_mapped;
static void (*while_mapping)(void);
static int mapping_error;

int mgds_import_find(struct mgds_import **out, const struct mgds_context *of,
                     const struct mgds_export_handle *handle)
{
    (void)of;
    if (!is_mapped)
        return -ENOENT;
    *out = (struct mgds_import *)(uintptr_t)handle->base;
    return 0;
}

int mgds_import_create(struct mgds_import **out, struct mgds_context *of,
                       const struct mgds_export_handle *handle)
{
    (void)of;
    if (while_mapping)
        while_mapping();
    if (mapping_error == 0)
        *out = (struct mgds_import *)(uintptr_t)handle->base;
    return mapping_error;
}

char *mgds_import_addr(const struct mgds_import *import)
{
    return (char *)(uintptr_t)import;
}

void mgds_import_put(struct mgds_import *import)
{
    (void)import;
}

static int before(void **state)
{
    struct mgds_ptr ptr;

    (void)state;
    stage_open_filled(&from, 1);
    stage_open_filled(&to, 90);
    assert_int_equal(mgds_ptr_find(&ptr, (void *)(uintptr_t)to.gpu, 1), 0);
    assert_int_equal(mgds_context_of_ptr(&ctx, &ptr), 0);
    mgds_reads_want();
    assert_int_equal(mgds_copyqueue_of_context(&queue, ctx), 0);
    assert_non_null(queue->reads);
    launch_gate_make();
    is_mapped = true;
    while_mapping = NULL;
    mapping_error = 0;
    return 0;
}

static int after(void **state)
{
    (void)state;
    launch_gate_settle();
    mgds_copyqueue_put(queue);
    mgds_copyqueues_fini();
    mgds_context_put(ctx);
    mgds_defer_drain();
    launch_gate_remove();
    stage_close_place(&to);
    stage_close_place(&from);
    return 0;
}

/* Message i lies where it lands. */
static int begin_of(struct mgds_pull **pull, size_t i, size_t bytes)
{
    const size_t at = i * BYTES;
    const struct mgds_header header = {
        .bytes = bytes,
        .address = from.gpu + at,
        .memory = {.id = 1, .base = from.gpu, .size = ROOM}};
    const struct mgds_pull_to where = {
        .dst = (void *)(uintptr_t)(to.gpu + at), .bytes = bytes, .near = true};

    memcpy(to.want + at, from.want + at, bytes);
    return mgds_pull_create(pull, ctx, &header, &where);
}

static void begin(struct mgds_pull **pull, size_t i)
{
    assert_int_equal(begin_of(pull, i, BYTES), 0);
}

static void end(struct mgds_pull **pull, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int rc;

        while ((rc = mgds_pull_poll(pull[i])) == 0)
            sched_yield();
        assert_int_equal(rc, 1);
        mgds_pull_destroy(pull[i]);
    }
}

static void few_and_lone_ones_go_to_the_engine(void **state)
{
    struct mgds_pull *pull[3];

    (void)state;
    begin(&pull[0], 0);
    mgds_pull_batch_begin();
    begin(&pull[1], 1);
    begin(&pull[2], 2);
    mgds_pull_batch_end();
    assert_int_equal(launches, 0);
    end(pull, 3);
    stage_assert_place(&to);
}

static void several_are_one_launch(void **state)
{
    struct mgds_pull *pull[MOST + 1];

    (void)state;
    mgds_pull_batch_begin();
    for (size_t i = 0; i < MOST; i++)
        begin(&pull[i], i);
    assert_int_equal(launches, 1); /* of the first sixteen */
    mgds_pull_batch_end();
    assert_int_equal(launches, 2);
    end(pull, MOST);
    stage_assert_place(&to);
}

static void long_ones_go_to_the_engine(void **state)
{
    struct mgds_pull *pull[3];

    (void)state;
    mgds_pull_batch_begin();
    begin(&pull[0], 0);
    assert_int_equal(begin_of(&pull[1], 1, 262145), 0);
    begin(&pull[2], 70);
    mgds_pull_batch_end();
    assert_int_equal(launches, 0);
    end(pull, 3);
    stage_assert_place(&to);
}

static void the_engine_copies_what_no_kernel_comes_to(void **state)
{
    uint64_t late = mgds_stats_value(MGDS_STAT_direct_kernels_late);
    struct mgds_pull *pull[MANY];

    (void)state;
    launches_held = true;
    launch_gate_open(false);
    mgds_pull_batch_begin();
    for (size_t i = 0; i < MANY; i++)
        begin(&pull[i], i);
    mgds_pull_batch_end();
    assert_int_equal(launches, 1);
    end(pull, MANY);
    assert_int_equal(mgds_stats_value(MGDS_STAT_direct_kernels_late),
                     late + MANY);
    launch_gate_settle();
    stage_assert_place(&to);
}

/* Mapping the next one takes until these are over, as far as anybody knows. */
static struct mgds_pull *batched[MANY];

static void end_batched(void)
{
    end(batched, MANY);
}

static void map_behind_a_batch(int error)
{
    struct mgds_pull *last;

    mgds_pull_batch_begin();
    for (size_t i = 0; i < MANY; i++)
        begin(&batched[i], i);
    is_mapped = false;
    while_mapping = end_batched;
    mapping_error = error;
    assert_int_equal(begin_of(&last, MANY, error == 0 ? BYTES : 0), error);
    assert_int_equal(launches, 1);
    mgds_pull_batch_end();
    if (error == 0)
        end(&last, 1);
    stage_assert_place(&to);
}

static void a_batch_is_queued_before_memory_is_mapped(void **state)
{
    (void)state;
    map_behind_a_batch(0);
}

static void also_if_it_cannot_be_mapped(void **state)
{
    (void)state;
    map_behind_a_batch(-EBUSY);
}

static void *end_in_thread(void *arg)
{
    (void)arg;
    end_batched();
    return NULL;
}

/* Whose batch it is sits somewhere until the other thread is done. */
static void who_waits_takes_it_out_of_a_batch(void **state)
{
    pthread_t thread;

    (void)state;
    mgds_pull_batch_begin();
    for (size_t i = 0; i < MANY; i++)
        begin(&batched[i], i);
    assert_int_equal(pthread_create(&thread, NULL, end_in_thread, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    mgds_pull_batch_end();
    assert_int_equal(launches, 0);
    stage_assert_place(&to);
}

/* Both at the same time. */
static void each_is_queued_once(void **state)
{
    (void)state;
    for (int lap = 0; lap < 50; lap++) {
        pthread_t thread;

        mgds_pull_batch_begin();
        for (size_t i = 0; i < MANY; i++)
            begin(&batched[i], i);
        assert_int_equal(pthread_create(&thread, NULL, end_in_thread, NULL), 0);
        mgds_pull_batch_end();
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    launch_gate_settle();
    stage_assert_place(&to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)
        TEST(few_and_lone_ones_go_to_the_engine),
        TEST(several_are_one_launch),
        TEST(long_ones_go_to_the_engine),
        TEST(the_engine_copies_what_no_kernel_comes_to),
        TEST(a_batch_is_queued_before_memory_is_mapped),
        TEST(also_if_it_cannot_be_mapped),
        TEST(who_waits_takes_it_out_of_a_batch),
        TEST(each_is_queued_once),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, NULL);
}
