/* The clock of a stage: how few questions tell of many copies, and what a
 * capture of the program's has to do with it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/stage/round.h"
#include "shim/gds/stage/shell.h"
#include "shim/gds/stage/stage.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_place.h"

enum { WINDOW = 64, BYTES = 1000 };

static uint64_t (*calls)(void);

/* A word that the stage's stream waits for. */
static uint32_t *gate;

static int start(void **state)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "mgds_sim_calls") : NULL;

    memcpy(&calls, &found, sizeof(calls));
    if (stage_start(state) || !calls)
        return 1;
    OK(cu.cuMemHostAlloc((void **)&gate, sizeof(*gate), 0));
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    mgds_stage_fini();
    mgds_defer_drain();
    return 0;
}

static struct mgds_bounce *bounce_at(const struct stage_place *place, size_t at,
                                     size_t bytes)
{
    struct mgds_layout *layout = stage_bytes_of(1);
    struct mgds_buffer buffer = stage_buffer_at(place->gpu + at, layout, bytes);
    struct mgds_bounce *bounce = stage_bounce_of(&buffer, MGDS_BOUNCE_PACKED);

    mgds_layout_put(layout);
    return bounce;
}

/* What is queued on the stage's stream from here on stays. */
static void hold(const struct mgds_stage *stage)
{
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    OK(cu.cuStreamWaitValue32_v2((CUstream)stage->stream,
                                 (CUdeviceptr)(uintptr_t)gate, 1,
                                 CU_STREAM_WAIT_VALUE_EQ));
}

static void let_go(const struct mgds_stage *stage)
{
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    OK(cu.cuStreamSynchronize((CUstream)stage->stream));
}

static void open_window(struct mgds_bounce **bounce,
                        const struct stage_place *place)
{
    for (size_t i = 0; i < WINDOW; i++) {
        bounce[i] = bounce_at(place, i * BYTES, BYTES);
        memset(mgds_bounce_base(bounce[i]), (int)i, BYTES);
        memset(place->want + i * BYTES, (int)i, BYTES);
    }
}

static void expect_all(struct mgds_bounce **bounce, int answer,
                       uint64_t expected)
{
    uint64_t before = calls();

    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(mgds_bounce_poll(bounce[i]), answer);
    assert_int_equal(calls() - before, expected);
}

/* Entered: is the context alive, push, mode. Each: is the memory alive, copy.
 * Then the mark; mode, pop. A question: alive, mode, event, mode. */
static void window_of_copies_takes_few_calls(void **state)
{
    struct mgds_bounce *bounce[WINDOW];
    struct stage_place place;
    uint64_t before;

    (void)state;
    stage_open_place(&place);
    open_window(bounce, &place);
    hold(bounce[0]->stage);
    before = calls();
    mgds_round_begin();
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(mgds_bounce_up(bounce[i], 0, SIZE_MAX), 0);
    mgds_round_end();
    assert_int_equal(calls() - before, 3 + 2 * WINDOW + 1 + 2);
    expect_all(bounce, 0, 4);
    expect_all(bounce, 0, 4);
    let_go(bounce[0]->stage);
    expect_all(bounce, 1, 4);
    expect_all(bounce, 1, 0);
    for (int i = 0; i < WINDOW; i++)
        mgds_bounce_destroy(bounce[i]);
    stage_assert_place(&place);
    stage_close_place(&place);
}

/* More than there are marks, each behind a mark of its own. */
static void copies_beyond_the_marks_are_told_of_too(void **state)
{
    struct mgds_bounce *bounce[WINDOW];
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    open_window(bounce, &place);
    hold(bounce[0]->stage);
    for (int i = 0; i < WINDOW; i++) {
        mgds_round_begin();
        assert_int_equal(mgds_bounce_up(bounce[i], 0, BYTES / 2), 0);
        assert_int_equal(mgds_bounce_up(bounce[i], BYTES / 2, SIZE_MAX), 0);
        mgds_round_end();
    }
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(mgds_bounce_poll(bounce[WINDOW - 1 - i]), 0);
    let_go(bounce[0]->stage);
    assert_int_equal(mgds_bounce_wait(bounce[WINDOW - 1], NULL), 0);
    expect_all(bounce, 1, 0);
    for (int i = 0; i < WINDOW; i++)
        mgds_bounce_destroy(bounce[i]);
    stage_assert_place(&place);
    stage_close_place(&place);
}

/* Pools are cold, too: memory is pinned meanwhile. */
static void global_capture_is_neither_spoilt_nor_in_the_way(void **state)
{
    struct mgds_bounce *bounce;
    struct stage_place place;
    CUgraph graph = NULL;
    CUstream stream;

    (void)state;
    stage_open_place(&place);
    OK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    bounce = bounce_at(&place, ORIGIN, BYTES);
    assert_int_equal(mgds_bounce_down(bounce, 0, SIZE_MAX), 0);
    assert_int_equal(mgds_bounce_wait(bounce, NULL), 0);
    assert_memory_equal(mgds_bounce_base(bounce), place.want + ORIGIN, BYTES);
    assert_int_equal(mgds_bounce_up(bounce, 0, BYTES / 2), 0);
    assert_int_equal(mgds_bounce_up(bounce, BYTES / 2, SIZE_MAX), 0);
    assert_true(mgds_bounce_poll(bounce) >= 0);
    assert_int_equal(mgds_clock_sleep(&bounce->stage->clock, bounce->ticket),
                     0);
    assert_int_equal(mgds_bounce_poll(bounce), 1);
    mgds_bounce_destroy(bounce);
    OK(cu.cuStreamEndCapture(stream, &graph));
    OK(cu.cuGraphDestroy(graph));
    OK(cu.cuStreamDestroy_v2(stream));
    stage_assert_place(&place);
    stage_close_place(&place);
}

static CUresult refuse_event(CUevent event)
{
    (void)event;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult refuse_stream(CUstream stream)
{
    (void)stream;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* The copy up still reads it, though nobody may ask. */
static void piece_that_cannot_be_asked_for_is_not_used_again(void **state)
{
    struct mgds_driver *driver = (struct mgds_driver *)(void *)mgds_driver();
    const struct mgds_driver whole = *driver;
    struct mgds_bounce *bounce, *next;
    struct mgds_piece *piece;
    struct mgds_stage *stage;
    struct stage_place place;
    void *base;

    (void)state;
    stage_open_place(&place);
    bounce = bounce_at(&place, ORIGIN, BYTES);
    base = mgds_bounce_base(bounce);
    memset(base, 0x5a, BYTES);
    piece = bounce->piece;
    stage = mgds_stage_get(bounce->stage);
    hold(stage);
    assert_int_equal(mgds_bounce_up(bounce, 0, SIZE_MAX), 0);
    driver->cuEventQuery = refuse_event;
    driver->cuStreamQuery = refuse_stream;
    assert_int_equal(mgds_bounce_poll(bounce), -ENOTSUP);
    mgds_bounce_destroy(bounce);
    *driver = whole;
    next = bounce_at(&place, 0, BYTES);
    assert_ptr_not_equal(mgds_bounce_base(next), base);
    memset(mgds_bounce_base(next), 0, BYTES);
    let_go(stage);
    mgds_bounce_destroy(next);
    mgds_pool_give(stage->pool, piece);
    mgds_stage_put(stage);
    memset(place.want + ORIGIN, 0x5a, BYTES);
    stage_assert_place(&place);
    stage_close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, forget_all)
        TEST(window_of_copies_takes_few_calls),
        TEST(copies_beyond_the_marks_are_told_of_too),
        TEST(global_capture_is_neither_spoilt_nor_in_the_way),
        TEST(piece_that_cannot_be_asked_for_is_not_used_again),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, NULL);
}
