/* The door on the software GPU: work in the right context, with the caller's
 * left as it was; copies of every shape; what ends, and what is put off. Two
 * devices. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/event.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/cuda/stream.h"
#include "tests/soft/soft_cuda.h"

enum { BYTES = 64 << 10, GUARD = 256 };

static CUcontext primary[2];

static int start(void **state)
{
    (void)state;
    OK(cu.cuInit(0));
    for (int i = 0; i < 2; i++)
        OK(cu.cuDevicePrimaryCtxRetain(&primary[i], i));
    return 0;
}

static int current_is_first(void **state)
{
    (void)state;
    OK(cu.cuCtxSetCurrent(primary[0]));
    return 0;
}

/* What a staged message takes: where, with what, how far. */
struct work {
    struct mgds_context *ctx;
    void *stream;
    struct mgds_event event;
    struct mgds_pinned *pinned;
};

static void open_work(struct work *work, CUdeviceptr buffer)
{
    struct mgds_ptr ptr;

    assert_int_equal(mgds_ptr_find(&ptr, (void *)(uintptr_t)buffer, 8), 0);
    assert_int_equal(mgds_context_of_ptr(&work->ctx, &ptr), 0);
    assert_int_equal(mgds_stream_own(&work->stream, work->ctx), 0);
    assert_int_equal(mgds_event_init(&work->event, work->ctx), 0);
    assert_int_equal(
        mgds_pinned_create(&work->pinned, work->ctx, BYTES + 2 * GUARD), 0);
    memset(work->pinned->addr, 0x5a, BYTES + 2 * GUARD);
}

static void close_work(struct work *work)
{
    mgds_pinned_destroy(work->pinned);
    mgds_defer_drain();
    mgds_event_fini(&work->event);
    mgds_context_put(work->ctx);
}

static void run_copy(struct work *work, const struct mgds_copy *copy)
{
    assert_int_equal(mgds_context_enter(work->ctx), 0);
    assert_int_equal(mgds_copy_async(copy, work->stream), 0);
    assert_int_equal(mgds_event_record(&work->event, work->stream), 0);
    mgds_context_leave();
    assert_int_equal(mgds_event_synchronize(&work->event), 0);
    assert_int_equal(mgds_event_query(&work->event), 1);
}

static unsigned char *staging(const struct work *work)
{
    return (unsigned char *)work->pinned->addr + GUARD;
}

static CUcontext current(void)
{
    CUcontext ctx = NULL;

    OK(cu.cuCtxGetCurrent(&ctx));
    return ctx;
}

static CUdeviceptr alloc_on(int device, size_t bytes)
{
    CUdeviceptr at;

    OK(cu.cuCtxSetCurrent(primary[device]));
    OK(cu.cuMemAlloc_v2(&at, bytes));
    OK(cu.cuMemsetD8_v2(at, (unsigned char)(0x10 + device), bytes));
    OK(cu.cuStreamSynchronize(NULL));
    return at;
}

static void stage_one_message(CUdeviceptr buffer, unsigned char expected)
{
    struct work work;
    const unsigned char *bytes;

    open_work(&work, buffer);
    bytes = staging(&work);
    run_copy(&work, &(struct mgds_copy){.dst = staging(&work),
                                        .src = (void *)(uintptr_t)buffer,
                                        .width = BYTES,
                                        .rows = 1,
                                        .planes = 1});
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(bytes[i], expected);
    assert_int_equal(bytes[-1], 0x5a);
    assert_int_equal(bytes[BYTES], 0x5a);
    close_work(&work);
}

static void callers_context_is_as_it_was_whatever_it_was(void **state)
{
    CUdeviceptr buffer[2] = {alloc_on(0, BYTES), alloc_on(1, BYTES)};
    const CUcontext before[] = {NULL, primary[0], primary[1]};

    (void)state;
    for (int i = 0; i < 6; i++) {
        OK(cu.cuCtxSetCurrent(before[i / 2]));
        stage_one_message(buffer[i % 2], (unsigned char)(0x10 + i % 2));
        assert_ptr_equal(current(), before[i / 2]);
    }
    OK(cu.cuCtxSetCurrent(primary[0]));
    OK(cu.cuMemFree_v2(buffer[0]));
    OK(cu.cuMemFree_v2(buffer[1]));
}

static void pool_memory_is_staged_without_a_current_context(void **state)
{
    CUdeviceptr at;

    (void)state;
    OK(cu.cuMemAllocAsync(&at, BYTES, NULL));
    OK(cu.cuMemsetD8_v2(at, 0x77, BYTES));
    OK(cu.cuStreamSynchronize(NULL));
    OK(cu.cuCtxSetCurrent(NULL));
    stage_one_message(at, 0x77);
    OK(cu.cuCtxSetCurrent(primary[0]));
    OK(cu.cuMemFreeAsync(at, NULL));
    OK(cu.cuStreamSynchronize(NULL));
}

static bool is_active(int device)
{
    unsigned flags;
    int active;

    OK(cu.cuDevicePrimaryCtxGetState(device, &flags, &active));
    return active;
}

/* Device 1 without its primary: a context of the program's own will do, and
 * without one nothing is made. */
static void no_context_is_made_for_memory_without_one(void **state)
{
    struct mgds_context *found = NULL;
    struct mgds_ptr ptr;
    CUcontext own;
    CUdeviceptr at;

    (void)state;
    OK(cu.cuDevicePrimaryCtxRelease_v2(1));
    assert_false(is_active(1));
    OK(cu.cuCtxSetCurrent(NULL));
    OK(cu.cuCtxCreate_v2(&own, 0, 1));
    OK(cu.cuMemAllocAsync(&at, BYTES, NULL));
    OK(cu.cuStreamSynchronize(NULL));
    assert_int_equal(mgds_ptr_find(&ptr, (void *)(uintptr_t)at, BYTES), 0);
    assert_int_equal(mgds_context_of_ptr(&found, &ptr), 0);
    assert_ptr_equal(found->handle, own);
    mgds_context_put(found);
    found = NULL;
    OK(cu.cuCtxSetCurrent(primary[0]));
    assert_int_equal(mgds_context_of_ptr(&found, &ptr), -ENODEV);
    assert_null(found);
    assert_false(is_active(1));
    OK(cu.cuCtxSetCurrent(own));
    OK(cu.cuMemFreeAsync(at, NULL));
    OK(cu.cuStreamSynchronize(NULL));
    OK(cu.cuCtxDestroy_v2(own));
    OK(cu.cuDevicePrimaryCtxRetain(&primary[1], 1));
}

static void stream_of_the_program_names_its_context(void **state)
{
    struct mgds_context *found = NULL;
    CUstream stream;

    (void)state;
    OK(cu.cuCtxSetCurrent(primary[1]));
    OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cu.cuCtxSetCurrent(primary[0]));
    assert_int_equal(mgds_context_of_stream(&found, stream), 0);
    assert_ptr_equal(found->handle, primary[1]);
    assert_int_equal(found->device, 1);
    mgds_context_put(found);
    assert_int_equal(mgds_context_of_stream(&found, NULL), 0);
    assert_ptr_equal(found->handle, primary[0]);
    mgds_context_put(found);
    OK(cu.cuStreamDestroy_v2(stream));
}

/* After the end: errors, no crash; and the next context is another one. */
static void context_that_ends_takes_all_with_it_quietly(void **state)
{
    CUcontext own, next;
    CUdeviceptr at;
    struct work work;
    struct mgds_ptr ptr;
    uint64_t id;

    (void)state;
    OK(cu.cuCtxCreate_v2(&own, 0, 0));
    OK(cu.cuMemAlloc_v2(&at, BYTES));
    open_work(&work, at);
    id = work.ctx->id;
    OK(cu.cuCtxDestroy_v2(own));
    assert_false(mgds_context_lives(work.ctx));
    assert_int_equal(mgds_context_enter(work.ctx), -ESHUTDOWN);
    assert_int_equal(mgds_ptr_find(&ptr, (void *)(uintptr_t)at, 8), -EFAULT);
    close_work(&work);
    OK(cu.cuCtxCreate_v2(&next, 0, 0));
    OK(cu.cuMemAlloc_v2(&at, BYTES));
    open_work(&work, at);
    assert_true(work.ctx->id != id);
    close_work(&work);
    OK(cu.cuMemFree_v2(at));
    OK(cu.cuCtxDestroy_v2(next));
    OK(cu.cuCtxSetCurrent(primary[0]));
}

/* Rows and planes of a 3-D block, wherever it starts, into staging memory
 * without gaps; every byte names its place. */
static void strided_blocks_arrive_whole_and_alone(void **state)
{
    enum { WIDTH = 24, ROWS = 5, PLANES = 3, PITCH = 64, SLICE = 512 };
    enum { TIGHT = WIDTH * ROWS, BLOCK = SLICE * PLANES };
    CUdeviceptr at = alloc_on(0, BLOCK);
    unsigned char block[BLOCK];
    struct work work;

    (void)state;
    for (size_t i = 0; i < sizeof(block); i++)
        block[i] = (unsigned char)(i * 7 + i / 256);
    OK(cu.cuMemcpy(at, (uintptr_t)block, sizeof(block)));
    open_work(&work, at);
    for (size_t planes = 1; planes <= PLANES; planes += 2) {
        const struct mgds_copy copy = {.dst = staging(&work),
                                       .src = (void *)(uintptr_t)(at + 4),
                                       .width = WIDTH,
                                       .rows = ROWS,
                                       .planes = planes,
                                       .dst_pitch = WIDTH,
                                       .src_pitch = PITCH,
                                       .dst_slice = TIGHT,
                                       .src_slice = SLICE};

        memset(staging(&work), 0x5a, TIGHT * planes + 1);
        run_copy(&work, &copy);
        for (size_t i = 0; i < TIGHT * planes; i++) {
            size_t plane = i / TIGHT, row = i / WIDTH % ROWS;

            assert_int_equal(
                staging(&work)[i],
                block[4 + plane * SLICE + row * PITCH + i % WIDTH]);
        }
        assert_int_equal(staging(&work)[TIGHT * planes], 0x5a);
    }
    close_work(&work);
    OK(cu.cuMemFree_v2(at));
}

static void blocks_go_back_to_where_they_came_from(void **state)
{
    enum { WIDTH = 16, ROWS = 4, PITCH = 40 };
    enum { TIGHT = WIDTH * ROWS, BLOCK = PITCH * ROWS };
    CUdeviceptr at = alloc_on(1, BLOCK);
    unsigned char after[BLOCK];
    struct work work;

    (void)state;
    open_work(&work, at);
    memset(staging(&work), 0xab, TIGHT);
    run_copy(&work, &(struct mgds_copy){.dst = (void *)(uintptr_t)at,
                                        .src = staging(&work),
                                        .width = WIDTH,
                                        .rows = ROWS,
                                        .planes = 1,
                                        .dst_pitch = PITCH,
                                        .src_pitch = WIDTH});
    OK(cu.cuMemcpy((uintptr_t)after, at, sizeof(after)));
    for (size_t i = 0; i < sizeof(after); i++)
        assert_int_equal(after[i], i % PITCH < WIDTH ? 0xab : 0x11);
    close_work(&work);
    OK(cu.cuMemFree_v2(at));
}

/* The program's streams stand in a wait: copies of ours pass beside them, and
 * a free that would stand behind them is put off. */
static void nothing_of_ours_waits_for_the_programs_streams(void **state)
{
    CUdeviceptr at = alloc_on(0, BYTES);
    struct mgds_pinned *spare;
    struct work work;
    CUstream stream;
    unsigned *flag;

    (void)state;
    OK(cu.cuMemHostAlloc((void **)&flag, 64, CU_MEMHOSTALLOC_PORTABLE));
    __atomic_store_n(flag, 0, __ATOMIC_SEQ_CST);
    open_work(&work, at);
    assert_int_equal(mgds_pinned_create(&spare, work.ctx, BYTES), 0);
    OK(cu.cuStreamCreate(&stream, CU_STREAM_DEFAULT));
    OK(cu.cuStreamWaitValue32_v2(stream, (uintptr_t)flag, 1,
                                 CU_STREAM_WAIT_VALUE_GEQ));
    OK(cu.cuStreamWaitValue32_v2(NULL, (uintptr_t)flag, 1,
                                 CU_STREAM_WAIT_VALUE_GEQ));
    run_copy(&work, &(struct mgds_copy){.dst = staging(&work),
                                        .src = (void *)(uintptr_t)at,
                                        .width = BYTES,
                                        .rows = 1,
                                        .planes = 1});
    mgds_pinned_destroy(spare);
    assert_true(mgds_defer_pending());
    __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
    OK(cu.cuStreamSynchronize(stream));
    assert_int_equal(mgds_defer_drain(), 1);
    close_work(&work);
    OK(cu.cuStreamDestroy_v2(stream));
    OK(cu.cuMemFreeHost(flag));
    OK(cu.cuMemFree_v2(at));
}

enum { THREADS = 4, LAPS = 20 };

static void *stage_many(void *arg)
{
    int device = (int)(uintptr_t)arg % 2;
    CUdeviceptr at = alloc_on(device, BYTES);

    OK(cu.cuCtxSetCurrent(NULL));
    for (int i = 0; i < LAPS; i++)
        stage_one_message(at, (unsigned char)(0x10 + device));
    assert_null(current());
    OK(cu.cuCtxSetCurrent(primary[device]));
    OK(cu.cuMemFree_v2(at));
    return NULL;
}

static void threads_stage_side_by_side(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, stage_many, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

#define CASE(name) cmocka_unit_test_setup(name, current_is_first)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(callers_context_is_as_it_was_whatever_it_was),
        CASE(pool_memory_is_staged_without_a_current_context),
        CASE(no_context_is_made_for_memory_without_one),
        CASE(stream_of_the_program_names_its_context),
        CASE(context_that_ends_takes_all_with_it_quietly),
        CASE(strided_blocks_arrive_whole_and_alone),
        CASE(blocks_go_back_to_where_they_came_from),
        CASE(nothing_of_ours_waits_for_the_programs_streams),
        CASE(threads_stage_side_by_side),
    };

    return soft_cuda_load() || cmocka_run_group_tests(tests, start, NULL);
}
