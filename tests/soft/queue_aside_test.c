/* Memory of another GPU: by peer access where there is one, else aside; what
 * stands somewhere holds up nobody else. Passes with peers and without. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "shim/gds/stream/hwqueue.h"
#include "tests/lib/capture.h"
#include "tests/lib/fault_sweep.h"
#include "tests/soft/queue_place.h"

enum { GO = 0, PASSED = 1, BYTES = 4096 };

static bool peers; /* the GPUs reach each other's memory */

/* GPU memory, a bounce for it, and a line, for one stream. */
struct job {
    struct queue_stream *stream;
    CUdeviceptr gpu;
    struct mgds_layout *layout;
    struct mgds_bounce *bounce;
    uint64_t *line;
};

static void open_at(struct job *job, struct queue_stream *stream,
                    CUdeviceptr gpu)
{
    struct mgds_buffer buffer;

    job->stream = stream;
    job->gpu = gpu;
    job->layout = stage_bytes_of(BYTES);
    buffer = stage_buffer_at(gpu, job->layout, 1);
    assert_int_equal(
        mgds_gstream_bounce(&job->bounce, stream->gstream, &buffer), 0);
    job->line = queue_take(stream->gstream);
}

static CUdeviceptr memory_of(CUcontext ctx, unsigned char value)
{
    CUdeviceptr gpu;

    OK(cu.cuCtxSetCurrent(ctx));
    OK(cu.cuMemAlloc_v2(&gpu, BYTES));
    OK(cu.cuMemsetD8_v2(gpu, value, BYTES));
    OK(cu.cuStreamSynchronize(NULL));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    return gpu;
}

static void close_job(struct job *job)
{
    queue_give(job->stream->gstream, job->line);
    mgds_bounce_destroy(job->bounce);
    mgds_layout_put(job->layout);
}

static void free_memory(CUdeviceptr gpu)
{
    OK(cu.cuCtxSetCurrent(stage_primary[1]));
    OK(cu.cuMemFree_v2(gpu));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
}

static void start_pack(struct job *job)
{
    struct mgds_command steps[] = {queue_pack(job->bounce),
                                   queue_flag(&job->line[PASSED], 1)};

    memset(mgds_bounce_base(job->bounce), 0, BYTES);
    queue_write(&job->line[PASSED], 0);
    queue_put(job->stream->gstream, steps, 2);
}

static void end_pack(const struct job *job, unsigned char value)
{
    const unsigned char *got = mgds_bounce_base(job->bounce);

    queue_await(&job->line[PASSED], 1);
    for (int i = 0; i < BYTES; i++)
        assert_int_equal(got[i], value);
}

/* A stream that stands, by the program's own means. */
static void hold(struct queue_stream *stream, uint64_t *gate)
{
    queue_open(stream, CU_STREAM_NON_BLOCKING);
    queue_hold(stream->native, gate);
}

static uint64_t asides(void)
{
    return mgds_stats_value(MGDS_STAT_queue_aside);
}

static void the_way_is_the_peers_if_they_reach_the_memory(void **state)
{
    struct queue_stream stream;
    uint64_t before = asides();
    struct job job;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    open_at(&job, &stream, memory_of(stage_primary[1], 3));
    start_pack(&job);
    end_pack(&job, 3);
    assert_int_equal(asides() - before, !peers);
    free_memory(job.gpu);
    close_job(&job);
    queue_close(&stream);
}

/* What was enabled may be disabled again. */
static void a_program_may_disable_peer_access(void **state)
{
    struct queue_stream stream;
    uint64_t before = asides();
    struct job job;

    (void)state;
    if (!peers)
        skip();
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    OK(cu.cuCtxDisablePeerAccess(stage_primary[1]));
    open_at(&job, &stream, memory_of(stage_primary[1], 4));
    start_pack(&job);
    end_pack(&job, 4);
    assert_int_equal(asides() - before, 1);
    OK(cu.cuCtxEnablePeerAccess(stage_primary[1], 0));
    start_pack(&job);
    end_pack(&job, 4);
    assert_int_equal(asides() - before, 1);
    free_memory(job.gpu);
    close_job(&job);
    queue_close(&stream);
}

/* Nothing of the driver's that a call with such a buffer needs may wait for a
 * device: both have a stream that stands. */
static void a_device_that_stands_holds_up_no_call(void **state)
{
    struct queue_stream stream, here, there;
    struct job job;
    uint64_t *gate;
    CUdeviceptr gpu;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    gpu = memory_of(stage_primary[1], 5);
    gate = queue_take(stream.gstream);
    hold(&here, gate);
    OK(cu.cuCtxSetCurrent(stage_primary[1]));
    hold(&there, gate);
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    open_at(&job, &stream, gpu);
    start_pack(&job);
    end_pack(&job, 5);
    queue_write(gate, 1);
    queue_close(&there);
    queue_close(&here);
    free_memory(gpu);
    close_job(&job);
    queue_give(stream.gstream, gate);
    queue_close(&stream);
}

static void streams_do_not_wait_for_each_other_aside(void **state)
{
    struct queue_stream first, second;
    struct job held, goes;
    uint64_t *gate;

    (void)state;
    queue_open(&first, CU_STREAM_NON_BLOCKING);
    queue_open(&second, CU_STREAM_NON_BLOCKING);
    open_at(&held, &first, memory_of(stage_primary[1], 6));
    open_at(&goes, &second, memory_of(stage_primary[1], 7));
    gate = queue_take(first.gstream);
    queue_hold(first.native, gate);
    start_pack(&held);
    start_pack(&goes);
    end_pack(&goes, 7);
    assert_int_equal(queue_read(&held.line[PASSED]), 0);
    queue_write(gate, 1);
    end_pack(&held, 6);
    free_memory(held.gpu);
    free_memory(goes.gpu);
    queue_give(first.gstream, gate);
    close_job(&held);
    close_job(&goes);
    queue_close(&second);
    queue_close(&first);
}

/* The side of a stream that stands may stand as well. */
static void a_stream_that_waits_counts_where_its_side_is(void **state)
{
    struct queue_stream stream;
    struct mgds_command steps[2];
    struct job job;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    open_at(&job, &stream, memory_of(stage_primary[1], 0));
    steps[0] = queue_wait(&job.line[GO], 1);
    steps[1] = queue_unpack(job.bounce, NULL);
    memset(mgds_bounce_base(job.bounce), 8, BYTES);
    queue_put(stream.gstream, steps, 2);
    assert_int_equal(mgds_hwqueue_count(0), 1);
    assert_int_equal(mgds_hwqueue_count(1), !peers);
    queue_write(&job.line[GO], 1);
    OK(cu.cuStreamSynchronize(stream.native));
    mgds_gstream_passed(stream.gstream, 1);
    assert_int_equal(mgds_hwqueue_count(0), 0);
    assert_int_equal(mgds_hwqueue_count(1), 0);
    start_pack(&job);
    end_pack(&job, 8);
    free_memory(job.gpu);
    close_job(&job);
    queue_close(&stream);
}

/* Belongs to no context. */
static void memory_of_another_gpus_pool_goes_aside(void **state)
{
    uint64_t before = asides();
    struct queue_stream stream, there;
    struct job job;
    CUdeviceptr gpu;

    (void)state;
    OK(cu.cuCtxSetCurrent(stage_primary[1]));
    OK(cu.cuStreamCreate(&there.native, CU_STREAM_NON_BLOCKING));
    OK(cu.cuMemAllocAsync(&gpu, BYTES, there.native));
    OK(cu.cuMemsetD8Async(gpu, 9, BYTES, there.native));
    OK(cu.cuStreamSynchronize(there.native));
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    open_at(&job, &stream, gpu);
    start_pack(&job);
    end_pack(&job, 9);
    assert_int_equal(asides() - before, 1);
    close_job(&job);
    queue_close(&stream);
    OK(cu.cuMemFreeAsync(gpu, there.native));
    OK(cu.cuStreamSynchronize(there.native));
    OK(cu.cuStreamDestroy_v2(there.native));
}

struct racer {
    struct queue_stream *stream;
    pthread_barrier_t *start;
    struct job job;
    CUdeviceptr gpu;
};

static void *race(void *arg)
{
    struct racer *racer = arg;

    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    pthread_barrier_wait(racer->start);
    open_at(&racer->job, racer->stream, racer->gpu);
    return NULL;
}

static void race_once(const CUdeviceptr gpu[2])
{
    struct queue_stream stream;
    pthread_barrier_t start;
    struct racer racer[2];
    pthread_t thread[2];

    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    assert_int_equal(pthread_barrier_init(&start, NULL, 2), 0);
    for (int i = 0; i < 2; i++) {
        racer[i] =
            (struct racer){.stream = &stream, .start = &start, .gpu = gpu[i]};
        assert_int_equal(pthread_create(&thread[i], NULL, race, &racer[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        start_pack(&racer[i].job);
        end_pack(&racer[i].job, (unsigned char)(i + 1));
        close_job(&racer[i].job);
    }
    pthread_barrier_destroy(&start);
    queue_close(&stream);
}

static void threads_may_be_the_first_to_go_aside(void **state)
{
    CUdeviceptr gpu[] = {memory_of(stage_primary[1], 1),
                         memory_of(stage_primary[1], 2)};

    (void)state;
    for (int i = 0; i < 30; i++)
        race_once(gpu);
    free_memory(gpu[0]);
    free_memory(gpu[1]);
}

static struct mgds_layout *on_both(CUdeviceptr first, CUdeviceptr second)
{
    const size_t blocklength[] = {1, 1};
    const ptrdiff_t displacement[] = {(ptrdiff_t)first, (ptrdiff_t)second};
    struct mgds_layout *child = stage_bytes_of(BYTES), *layout;

    assert_int_equal(
        mgds_layout_hindexed(&layout, child, 2, blocklength, displacement), 0);
    mgds_layout_put(child);
    return layout;
}

static void expect_refusal(struct queue_stream *stream,
                           const struct mgds_buffer *buffer)
{
    struct mgds_bounce *bounce = NULL;
    char *text;

    mgds_capture_start(MGDS_LOG_WARN);
    assert_int_equal(mgds_gstream_bounce(&bounce, stream->gstream, buffer),
                     -EXDEV);
    text = mgds_capture_stop();
    assert_int_equal(mgds_count_lines(text), 1);
    assert_non_null(strstr(text, "several GPUs"));
    assert_null(bounce);
    free(text);
}

static void expect_both(struct queue_stream *stream,
                        const struct mgds_buffer *buffer)
{
    uint64_t *line = queue_take(stream->gstream);
    struct mgds_bounce *bounce;
    struct mgds_command steps[2];
    const unsigned char *got;

    assert_int_equal(mgds_gstream_bounce(&bounce, stream->gstream, buffer), 0);
    steps[0] = queue_pack(bounce);
    steps[1] = queue_flag(&line[PASSED], 1);
    queue_put(stream->gstream, steps, 2);
    queue_await(&line[PASSED], 1);
    got = mgds_bounce_base(bounce);
    for (int i = 0; i < 2 * BYTES; i++)
        assert_int_equal(got[i], i < BYTES ? 1 : 2);
    mgds_bounce_destroy(bounce);
    queue_give(stream->gstream, line);
}

/* Kernels of one context copy all of a buffer. */
static void a_buffer_on_both_gpus_needs_peers(void **state)
{
    CUdeviceptr gpu[] = {memory_of(stage_primary[0], 1),
                         memory_of(stage_primary[1], 2)};
    struct mgds_layout *layout = on_both(gpu[0], gpu[1]);
    struct queue_stream stream;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    for (int look = 0; look < 2; look++) {
        struct mgds_buffer buffer = stage_buffer_at(gpu[look], layout, 1);

        buffer.addr = NULL;
        if (peers)
            expect_both(&stream, &buffer);
        else
            expect_refusal(&stream, &buffer);
    }
    OK(cu.cuMemFree_v2(gpu[0]));
    free_memory(gpu[1]);
    mgds_layout_put(layout);
    queue_close(&stream);
}

struct sweep {
    CUstream native;
    CUdeviceptr gpu;
    struct mgds_layout *layout;
};

static int pack_by(struct mgds_gstream *stream, const struct sweep *sweep)
{
    struct mgds_buffer buffer = stage_buffer_at(sweep->gpu, sweep->layout, 1);
    struct mgds_bounce *bounce;
    struct mgds_command step;
    int rc = mgds_gstream_bounce(&bounce, stream, &buffer);

    if (rc < 0)
        return rc;
    step = queue_pack(bounce);
    queue_put(stream, &step, 1);
    OK(cu.cuStreamSynchronize(sweep->native));
    assert_int_equal(*(unsigned char *)mgds_bounce_base(bounce), 4);
    mgds_bounce_destroy(bounce);
    return 0;
}

static int stream_and_forget(void *arg)
{
    const struct sweep *sweep = arg;
    struct mgds_gstream *stream;
    int rc = mgds_gstream_create(&stream, sweep->native);

    if (rc == 0) {
        rc = pack_by(stream, sweep);
        mgds_gstream_release(stream);
    }
    queue_finish(NULL);
    mgds_context_fini();
    return rc;
}

static void without_memory_nothing_leaks(void **state)
{
    struct sweep sweep = {.gpu = memory_of(stage_primary[1], 4),
                          .layout = stage_bytes_of(BYTES)};

    queue_finish(state);
    mgds_context_fini();
    OK(cu.cuStreamCreate(&sweep.native, CU_STREAM_NON_BLOCKING));
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, stream_and_forget, &sweep) >
                20);
    OK(cu.cuStreamDestroy_v2(sweep.native));
    free_memory(sweep.gpu);
    mgds_layout_put(sweep.layout);
}

static int start(void **state)
{
    int can = 0;

    stage_start(state);
    OK(cu.cuDeviceCanAccessPeer(&can, 0, 1));
    peers = can;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_is_the_peers_if_they_reach_the_memory),
        cmocka_unit_test(a_program_may_disable_peer_access),
        cmocka_unit_test(a_device_that_stands_holds_up_no_call),
        cmocka_unit_test(streams_do_not_wait_for_each_other_aside),
        cmocka_unit_test(a_stream_that_waits_counts_where_its_side_is),
        cmocka_unit_test(memory_of_another_gpus_pool_goes_aside),
        cmocka_unit_test(threads_may_be_the_first_to_go_aside),
        cmocka_unit_test(a_buffer_on_both_gpus_needs_peers),
        cmocka_unit_test(without_memory_nothing_leaks),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, start, queue_finish);
}
