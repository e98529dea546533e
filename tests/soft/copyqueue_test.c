/* A copy queue: how few questions tell of many copies, what a capture of the
 * program's has to do with it, and what becomes of memory that copies use. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <cmocka.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/driver.h"
#include "shim/gds/mem/bounce_state.h"
#include "shim/gds/mem/copyqueue.h"
#include "tests/soft/soft_cuda.h"
#include "tests/soft/stage_place.h"

enum { WINDOW = 64, BYTES = 1000 };

static uint64_t (*calls)(void);

/* A word that the queue's stream waits for. */
static uint32_t *gate;

static struct mgds_driver *table(void)
{
    return (struct mgds_driver *)(void *)mgds_driver();
}

/* The driver as it is. */
static struct mgds_driver whole;

static int start(void **state)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "mgds_sim_calls") : NULL;

    memcpy(&calls, &found, sizeof(calls));
    if (stage_start(state) || !calls)
        return 1;
    OK(cu.cuMemHostAlloc((void **)&gate, sizeof(*gate), 0));
    whole = *table();
    return 0;
}

/* A test that failed may have left the stream held, and calls refused. */
static int forget_all(void **state)
{
    (void)state;
    *table() = whole;
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    mgds_copyqueues_fini();
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

/* What is queued from here on stays. */
static void hold(const struct mgds_copyqueue *queue)
{
    __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
    OK(cu.cuStreamWaitValue32_v2((CUstream)queue->stream,
                                 (CUdeviceptr)(uintptr_t)gate, 1,
                                 CU_STREAM_WAIT_VALUE_EQ));
}

static void let_go(const struct mgds_copyqueue *queue)
{
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    OK(cu.cuStreamSynchronize((CUstream)queue->stream));
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
 * Then the event; mode, pop. A question: alive, mode, event, mode. */
static void window_of_copies_takes_few_calls(void **state)
{
    struct mgds_bounce *bounce[WINDOW];
    struct stage_place place;
    uint64_t before;

    (void)state;
    stage_open_place(&place);
    open_window(bounce, &place);
    hold(bounce[0]->queue);
    before = calls();
    mgds_copyqueue_batch_begin();
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(mgds_bounce_up(bounce[i], 0, SIZE_MAX), 0);
    mgds_copyqueue_batch_end();
    assert_int_equal(calls() - before, 3 + 2 * WINDOW + 1 + 2);
    expect_all(bounce, 0, 4);
    expect_all(bounce, 0, 4);
    let_go(bounce[0]->queue);
    expect_all(bounce, 1, 4);
    expect_all(bounce, 1, 0);
    for (int i = 0; i < WINDOW; i++)
        mgds_bounce_destroy(bounce[i]);
    stage_assert_place(&place);
    stage_close_place(&place);
}

/* Two copies, so that they want an event. */
static void copy_halves_up(struct mgds_bounce *bounce)
{
    mgds_copyqueue_batch_begin();
    assert_int_equal(mgds_bounce_up(bounce, 0, BYTES / 2), 0);
    assert_int_equal(mgds_bounce_up(bounce, BYTES / 2, SIZE_MAX), 0);
    mgds_copyqueue_batch_end();
}

/* More than there are events, and each wants one of its own. */
static void copies_beyond_the_events_are_told_of_too(void **state)
{
    struct mgds_bounce *bounce[WINDOW];
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    open_window(bounce, &place);
    hold(bounce[0]->queue);
    for (int i = 0; i < WINDOW; i++)
        copy_halves_up(bounce[i]);
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(mgds_bounce_poll(bounce[WINDOW - 1 - i]), 0);
    let_go(bounce[0]->queue);
    assert_int_equal(mgds_bounce_wait(bounce[WINDOW - 1], NULL), 0);
    expect_all(bounce, 1, 0);
    for (int i = 0; i < WINDOW; i++)
        mgds_bounce_destroy(bounce[i]);
    stage_assert_place(&place);
    stage_close_place(&place);
}

static CUresult refuse_record(CUevent event, CUstream stream)
{
    (void)event;
    (void)stream;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void poll_until_over(struct mgds_bounce *bounce)
{
    int rc;

    while ((rc = mgds_bounce_poll(bounce)) == 0)
        sched_yield();
    assert_int_equal(rc, 1);
}

/* As many batches as there are events; some of these are refused, by bits. What
 * has none is not taken for over. */
static void copy_with_refusals(struct mgds_bounce **bounce, unsigned refused)
{
    hold(bounce[0]->queue);
    for (int i = 0; i < MGDS_COPYQUEUE_EVENTS; i++) {
        if (refused & 1u << i)
            table()->cuEventRecord = refuse_record;
        copy_halves_up(bounce[i]);
        *table() = whole;
    }
    for (int i = 0; i < MGDS_COPYQUEUE_EVENTS; i++)
        assert_int_equal(mgds_bounce_poll(bounce[i]), 0);
    let_go(bounce[0]->queue);
    for (int i = 0; i < MGDS_COPYQUEUE_EVENTS; i++)
        poll_until_over(bounce[i]);
}

/* Alive, push, mode; each copy: is its memory alive, copy; the event; mode,
 * pop. */
static void expect_free_events(struct mgds_bounce **bounce)
{
    hold(bounce[0]->queue);
    for (int i = 0; i < WINDOW; i++) {
        uint64_t before = calls();

        copy_halves_up(bounce[i]);
        assert_int_equal(calls() - before,
                         3 + 2 * 2 + (i < MGDS_COPYQUEUE_EVENTS) + 2);
    }
    let_go(bounce[0]->queue);
}

static void refused_event_leaves_no_gap_in_the_ring(void **state)
{
    struct mgds_bounce *bounce[WINDOW];
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    open_window(bounce, &place);
    for (unsigned refused = 0; refused < 1u << MGDS_COPYQUEUE_EVENTS; refused++)
        copy_with_refusals(bounce, refused);
    expect_free_events(bounce);
    for (int i = 0; i < WINDOW; i++) {
        assert_int_equal(mgds_bounce_wait(bounce[i], NULL), 0);
        mgds_bounce_destroy(bounce[i]);
    }
    stage_assert_place(&place);
    stage_close_place(&place);
}

/* A question: alive, mode, event, mode. */
static void memory_given_back_early_costs_one_question(void **state)
{
    struct mgds_bounce *bounce[WINDOW];
    struct mgds_copyqueue *queue;
    struct mgds_piece *piece[2];
    struct stage_place place;
    uint64_t before;

    (void)state;
    stage_open_place(&place);
    open_window(bounce, &place);
    queue = mgds_copyqueue_get(bounce[0]->queue);
    hold(queue);
    for (int i = 0; i < WINDOW; i++)
        assert_int_equal(mgds_bounce_up(bounce[i], 0, SIZE_MAX), 0);
    for (int i = 0; i < WINDOW; i++)
        mgds_bounce_destroy(bounce[i]);
    for (int i = 0; i < 2; i++) {
        assert_non_null(queue->late);
        before = calls();
        assert_int_equal(
            mgds_copyqueue_take(&piece[i], queue, BYTES, MGDS_POOL_ANY), 0);
        assert_int_equal(calls() - before, 4);
        if (i == 0)
            let_go(queue);
    }
    assert_null(queue->late);
    for (int i = 0; i < 2; i++)
        mgds_pool_give(queue->pool, piece[i]);
    mgds_copyqueue_put(queue);
    stage_assert_place(&place);
    stage_close_place(&place);
}

static unsigned slept;

static CUresult let_go_and_synchronize(CUevent event)
{
    slept++;
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    return whole.cuEventSynchronize(event);
}

/* Nobody looks after its memory later. */
static void memory_of_a_forgotten_queue_is_waited_for(void **state)
{
    struct mgds_copyqueue *queue;
    struct mgds_bounce *bounce;
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    bounce = bounce_at(&place, ORIGIN, BYTES);
    memset(mgds_bounce_base(bounce), 0x5a, BYTES);
    memset(place.want + ORIGIN, 0x5a, BYTES);
    queue = mgds_copyqueue_get(bounce->queue);
    mgds_copyqueues_fini();
    hold(queue);
    assert_int_equal(mgds_bounce_up(bounce, 0, SIZE_MAX), 0);
    slept = 0;
    table()->cuEventSynchronize = let_go_and_synchronize;
    mgds_bounce_destroy(bounce);
    *table() = whole;
    assert_int_equal(slept, 1);
    mgds_copyqueue_put(queue);
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
    hold(bounce->queue);
    assert_int_equal(mgds_bounce_up(bounce, 0, BYTES / 2), 0);
    assert_int_equal(mgds_bounce_up(bounce, BYTES / 2, SIZE_MAX), 0);
    assert_int_equal(mgds_bounce_poll(bounce), 0);
    slept = 0;
    table()->cuEventSynchronize = let_go_and_synchronize;
    assert_int_equal(mgds_bounce_wait(bounce, NULL), 0);
    *table() = whole;
    assert_int_equal(slept, 1);
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
static void copy_unasked(const struct stage_place *place, bool polls)
{
    struct mgds_bounce *bounce = bounce_at(place, ORIGIN, BYTES), *next;
    struct mgds_copyqueue *queue = mgds_copyqueue_get(bounce->queue);
    struct mgds_piece *piece = bounce->piece;

    memset(mgds_bounce_base(bounce), 0x5a, BYTES);
    hold(queue);
    assert_int_equal(mgds_bounce_up(bounce, 0, SIZE_MAX), 0);
    table()->cuEventQuery = refuse_event;
    table()->cuStreamQuery = refuse_stream;
    if (polls)
        assert_int_equal(mgds_bounce_poll(bounce), -ENOTSUP);
    mgds_bounce_destroy(bounce);
    *table() = whole;
    next = bounce_at(place, 0, BYTES);
    assert_ptr_not_equal(mgds_bounce_base(next), piece->addr);
    memset(mgds_bounce_base(next), 0, BYTES);
    let_go(queue);
    mgds_bounce_destroy(next);
    mgds_pool_give(queue->pool, piece);
    mgds_copyqueue_put(queue);
    memset(place->want + ORIGIN, 0x5a, BYTES);
    stage_assert_place(place);
}

static void piece_that_cannot_be_asked_for_is_not_used_again(void **state)
{
    struct stage_place place;

    (void)state;
    stage_open_place(&place);
    copy_unasked(&place, true);
    copy_unasked(&place, false);
    stage_close_place(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, forget_all)
        TEST(window_of_copies_takes_few_calls),
        TEST(copies_beyond_the_events_are_told_of_too),
        TEST(refused_event_leaves_no_gap_in_the_ring),
        TEST(memory_given_back_early_costs_one_question),
        TEST(memory_of_a_forgotten_queue_is_waited_for),
        TEST(global_capture_is_neither_spoilt_nor_in_the_way),
        TEST(piece_that_cannot_be_asked_for_is_not_used_again),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, NULL);
}
