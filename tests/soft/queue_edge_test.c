/* Streams at their edges: contexts, captures, destroyed streams, buffers
 * in several allocations, waits that are given up, words. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/ctx.h"
#include "tests/lib/capture.h"
#include "tests/soft/queue_place.h"

enum { GO = 0, PASSED = 1, BYTES = 256 };

static void a_stream_may_be_destroyed_with_work_pending(void **state)
{
    struct mgds_command steps[2];
    struct queue_stream stream;
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    line = queue_take(stream.gstream);
    steps[0] = queue_wait(&line[GO], 1);
    steps[1] = queue_flag(&line[PASSED], 1);
    queue_put(stream.gstream, steps, 2);
    OK(cu.cuStreamDestroy_v2(stream.native));
    assert_int_equal(queue_read(&line[PASSED]), 0);
    queue_write(&line[GO], 1);
    queue_await(&line[PASSED], 1);
    mgds_gstream_passed(stream.gstream, 1);
    queue_give(stream.gstream, line);
    mgds_gstream_release(stream.gstream);
}

static void waits_compare_in_a_circle(void **state)
{
    struct mgds_command steps[3];
    struct queue_stream stream;
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    line = queue_take(stream.gstream);
    queue_write(&line[GO], 5 + 0x40000000);
    steps[0] = queue_wait(&line[GO], 5);
    steps[1] = queue_wait(&line[GO], 0x40000000);
    steps[2] = queue_flag(&line[PASSED], 1);
    queue_put(stream.gstream, steps, 3);
    queue_await(&line[PASSED], 1);
    mgds_gstream_passed(stream.gstream, 2);
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

static void the_current_context_stays(void **state)
{
    CUcontext all[] = {stage_primary[1], NULL};
    struct queue_stream stream;
    uint64_t *line;

    (void)state;
    OK(cu.cuStreamCreate(&stream.native, CU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2; i++) {
        struct mgds_command step;
        CUcontext now = stage_primary[0];

        OK(cu.cuCtxSetCurrent(all[i]));
        stream.gstream = queue_gstream_of(stream.native);
        line = queue_take(stream.gstream);
        step = queue_flag(&line[PASSED], 1);
        queue_put(stream.gstream, &step, 1);
        assert_int_equal(mgds_gstream_capturing(stream.gstream), 0);
        queue_await(&line[PASSED], 1);
        queue_give(stream.gstream, line);
        mgds_gstream_release(stream.gstream);
        OK(cu.cuCtxGetCurrent(&now));
        assert_ptr_equal(now, all[i]);
    }
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    OK(cu.cuStreamDestroy_v2(stream.native));
}

static void a_capture_is_seen(void **state)
{
    struct queue_stream stream;
    struct mgds_gstream *legacy;
    CUgraph graph;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    legacy = queue_gstream_of(NULL);
    assert_int_equal(mgds_gstream_capturing(stream.gstream), 0);
    OK(cu.cuStreamBeginCapture_v2(stream.native,
                                  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    assert_int_equal(mgds_gstream_capturing(stream.gstream), 1);
    OK(cu.cuStreamEndCapture(stream.native, &graph));
    OK(cu.cuGraphDestroy(graph));
    assert_int_equal(mgds_gstream_capturing(stream.gstream), 0);
    assert_int_equal(mgds_gstream_capturing(legacy), 0);
    mgds_gstream_release(legacy);
    queue_close(&stream);
}

static void
the_legacy_stream_is_busy_while_a_blocking_one_is_captured(void **state)
{
    struct queue_stream stream;
    struct mgds_gstream *legacy;
    CUgraph graph = NULL;

    (void)state;
    queue_open(&stream, CU_STREAM_DEFAULT);
    legacy = queue_gstream_of(NULL);
    OK(cu.cuStreamBeginCapture_v2(stream.native,
                                  CU_STREAM_CAPTURE_MODE_GLOBAL));
    assert_int_equal(mgds_gstream_capturing(legacy), -EBUSY);
    cu.cuStreamEndCapture(stream.native, &graph);
    if (graph)
        OK(cu.cuGraphDestroy(graph));
    mgds_gstream_release(legacy);
    queue_close(&stream);
}

static void what_is_no_stream_is_refused(void **state)
{
    struct mgds_gstream *stream = NULL;

    (void)state;
    assert_int_equal(mgds_gstream_create(&stream, &stream), -EINVAL);
    assert_null(stream);
}

static struct mgds_layout *far_apart(CUdeviceptr first, CUdeviceptr second)
{
    const size_t blocklength[] = {1, 1};
    const ptrdiff_t displacement[] = {(ptrdiff_t)first, (ptrdiff_t)second};
    struct mgds_layout *child = stage_bytes_of(BYTES), *layout;

    assert_int_equal(
        mgds_layout_hindexed(&layout, child, 2, blocklength, displacement), 0);
    mgds_layout_put(child);
    return layout;
}

static struct mgds_buffer far_buffer(CUdeviceptr look,
                                     struct mgds_layout *layout)
{
    struct mgds_buffer buffer = stage_buffer_at(look, layout, 1);

    buffer.addr = NULL;
    return buffer;
}

static void a_buffer_may_lie_in_several_allocations(void **state)
{
    struct mgds_layout *layout;
    struct mgds_command steps[2];
    struct queue_stream stream;
    struct mgds_buffer buffer;
    struct mgds_bounce *bounce;
    CUdeviceptr gpu[2];
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 2; i++) {
        OK(cu.cuMemAlloc_v2(&gpu[i], BYTES));
        OK(cu.cuMemsetD8Async(gpu[i], (unsigned char)(i + 1), BYTES,
                              stream.native));
    }
    layout = far_apart(gpu[0], gpu[1]);
    buffer = far_buffer(gpu[0], layout);
    assert_int_equal(mgds_gstream_bounce(&bounce, stream.gstream, &buffer), 0);
    line = queue_take(stream.gstream);
    steps[0] = queue_pack(bounce);
    steps[1] = queue_flag(&line[PASSED], 1);
    queue_put(stream.gstream, steps, 2);
    queue_await(&line[PASSED], 1);
    for (int i = 0; i < 2 * BYTES; i++)
        assert_int_equal(((unsigned char *)mgds_bounce_base(bounce))[i],
                         i < BYTES ? 1 : 2);
    mgds_bounce_destroy(bounce);
    mgds_layout_put(layout);
    /* one of them is no memory of a GPU */
    layout = far_apart(gpu[0], (CUdeviceptr)(uintptr_t)line);
    buffer = far_buffer(gpu[0], layout);
    assert_int_equal(mgds_gstream_bounce(&bounce, stream.gstream, &buffer),
                     -EFAULT);
    mgds_layout_put(layout);
    for (int i = 0; i < 2; i++)
        OK(cu.cuMemFree_v2(gpu[i]));
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

/* The steps before the freed buffer are put, those behind it never. */
static void a_buffer_that_was_freed_ends_the_put(void **state)
{
    struct queue_stream stream;
    struct queue_freed freed;
    struct mgds_command steps[4];
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    line = queue_take(stream.gstream);
    queue_freed_open(&freed, stream.gstream, BYTES);
    steps[0] = queue_flag(&line[PASSED], 1);
    steps[1] = queue_pack(freed.bounce);
    steps[2] = queue_wait(&line[GO], 1);
    steps[3] = queue_flag(&line[PASSED], 2);
    assert_int_equal(mgds_gstream_put(stream.gstream,
                                      mgds_gstream_ticket(stream.gstream),
                                      steps, 4),
                     -EFAULT);
    assert_true(steps[0].put);
    for (int i = 1; i < 4; i++)
        assert_false(steps[i].put);
    assert_int_equal(mgds_gstream_error(stream.gstream), -EFAULT);
    OK(cu.cuStreamSynchronize(stream.native));
    assert_int_equal(queue_read(&line[PASSED]), 1);
    /* the turn was given on */
    queue_put(stream.gstream, steps + 3, 1);
    queue_await(&line[PASSED], 2);
    queue_freed_close(&freed);
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

static void a_ticket_without_steps_gives_its_turn_on(void **state)
{
    struct queue_stream stream;
    struct mgds_command step;
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    line = queue_take(stream.gstream);
    assert_int_equal(mgds_gstream_put(stream.gstream,
                                      mgds_gstream_ticket(stream.gstream), NULL,
                                      0),
                     0);
    step = queue_flag(&line[PASSED], 1);
    queue_put(stream.gstream, &step, 1);
    queue_await(&line[PASSED], 1);
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

static void waits_that_are_kernels_can_be_given_up(void **state)
{
    struct queue_stream stream;
    struct mgds_command steps[2];
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    assert_int_equal(mgds_gstream_by_memop(stream.gstream),
                     mgds_ctx()->config.trigger != MGDS_TRIGGER_KERNEL);
    line = queue_take(stream.gstream);
    steps[0] = queue_wait(&line[GO], 1);
    steps[1] = queue_flag(&line[PASSED], 1);
    queue_put(stream.gstream, steps, 2);
    mgds_gstream_abort(stream.gstream);
    if (mgds_gstream_by_memop(stream.gstream))
        queue_write(&line[GO], 1);
    queue_await(&line[PASSED], 1);
    mgds_gstream_passed(stream.gstream, 1);
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

/* More than one slab of them. */
static void words_are_lines_of_their_own(void **state)
{
    enum { LINES = 3000 };
    static uint64_t *line[LINES];
    struct queue_stream stream;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    for (int round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < LINES; i++) {
            line[i] = queue_take(stream.gstream);
            assert_int_equal((uintptr_t)line[i] % 64, 0);
            for (int word = 0; word < MGDS_WORDS_LINE; word++) {
                assert_int_equal(line[i][word], 0);
                line[i][word] = i + 1;
            }
        }
        for (uint64_t i = 0; i < LINES; i++) {
            assert_int_equal(line[i][0], i + 1);
            assert_int_equal(line[i][MGDS_WORDS_LINE - 1], i + 1);
        }
        for (int i = 0; i < LINES; i++)
            queue_give(stream.gstream, line[i]);
    }
    queue_close(&stream);
}

/* Longer than one batch of memory operations. */
static void lists_may_be_long(void **state)
{
    enum { STEPS = 200 };
    struct mgds_command steps[STEPS];
    struct queue_stream stream;
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    line = queue_take(stream.gstream);
    for (unsigned i = 0; i < STEPS; i++)
        steps[i] = i % 2 ? queue_flag(&line[PASSED], i)
                         : queue_wait(&line[PASSED], i ? i - 1 : 0);
    queue_put(stream.gstream, steps, STEPS);
    queue_await(&line[PASSED], STEPS - 1);
    mgds_gstream_passed(stream.gstream, STEPS / 2);
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_may_be_destroyed_with_work_pending),
        cmocka_unit_test(waits_compare_in_a_circle),
        cmocka_unit_test(the_current_context_stays),
        cmocka_unit_test(a_capture_is_seen),
        cmocka_unit_test(
            the_legacy_stream_is_busy_while_a_blocking_one_is_captured),
        cmocka_unit_test(what_is_no_stream_is_refused),
        cmocka_unit_test(a_buffer_may_lie_in_several_allocations),
        cmocka_unit_test(a_buffer_that_was_freed_ends_the_put),
        cmocka_unit_test(a_ticket_without_steps_gives_its_turn_on),
        cmocka_unit_test(waits_that_are_kernels_can_be_given_up),
        cmocka_unit_test(words_are_lines_of_their_own),
        cmocka_unit_test(lists_may_be_long),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
