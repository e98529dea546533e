/* The order of what is put on streams: among itself, with the program's own
 * work, and by tickets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <string.h>
#include <cmocka.h>

#include "device/abi.h"
#include "device/kernels.h"
#include "tests/soft/queue_place.h"

enum { BYTES = 1000, GATE = 0, REACH = 1, GO = 2, PASSED = 3, COUNT = 4 };

/* GPU memory, its bounce, and words. */
struct job {
    CUdeviceptr gpu;
    struct mgds_layout *layout;
    struct mgds_bounce *bounce;
    uint64_t *line;
    struct mgds_gstream *stream;
};

static void open_job(struct job *job, struct mgds_gstream *stream)
{
    struct mgds_buffer buffer;

    OK(cu.cuMemAlloc_v2(&job->gpu, BYTES));
    OK(cu.cuMemsetD8_v2(job->gpu, 0, BYTES));
    OK(cu.cuStreamSynchronize(NULL));
    job->layout = stage_bytes_of(BYTES);
    buffer = stage_buffer_at(job->gpu, job->layout, 1);
    assert_int_equal(mgds_gstream_bounce(&job->bounce, stream, &buffer), 0);
    job->line = queue_take(stream);
    job->stream = stream;
}

static void close_job(struct job *job)
{
    queue_give(job->stream, job->line);
    mgds_bounce_destroy(job->bounce);
    mgds_layout_put(job->layout);
    OK(cu.cuMemFree_v2(job->gpu));
}

static void assert_all(const void *bytes, unsigned char value)
{
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(((const unsigned char *)bytes)[i], value);
}

static void assert_gpu(CUdeviceptr gpu, unsigned char value)
{
    unsigned char got[BYTES];

    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)got, gpu, BYTES));
    assert_all(got, value);
}

static void put_send(struct job *job, uint64_t value)
{
    struct mgds_command steps[] = {queue_pack(job->bounce),
                                   queue_flag(&job->line[REACH], value)};

    queue_put(job->stream, steps, 2);
}

static void put_receive(struct job *job)
{
    struct mgds_command steps[] = {queue_wait(&job->line[GO], 1),
                                   queue_unpack(job->bounce, &job->line[COUNT]),
                                   queue_flag(&job->line[PASSED], 1)};

    queue_put(job->stream, steps, 3);
}

static void arrive(struct job *job, unsigned char value)
{
    memset(mgds_bounce_base(job->bounce), value, BYTES);
    queue_write(&job->line[COUNT], BYTES);
    queue_write(&job->line[GO], 1);
}

/* A kernel of the program's. */
static void launch_copy(CUstream native, CUdeviceptr to, CUdeviceptr from)
{
    struct mgds_copy_args args = {.dst = to, .src = from, .bytes = BYTES};
    void *params[] = {&args};
    static CUfunction function;
    CUmodule module;

    if (!function) {
        OK(cu.cuModuleLoadData(&module, mgds_kernel_image));
        OK(cu.cuModuleGetFunction(&function, module, "mgds_copy_kernel"));
    }
    OK(cu.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, native, params, NULL));
}

static void a_pack_sees_what_was_queued_before_and_not_after(void **state)
{
    struct queue_stream stream;
    struct job job;
    CUdeviceptr other;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    open_job(&job, stream.gstream);
    OK(cu.cuMemAlloc_v2(&other, BYTES));
    launch_copy(stream.native, other, job.gpu); /* loads, before a wait */
    queue_hold(stream.native, &job.line[GATE]);
    OK(cu.cuMemsetD8Async(other, 7, BYTES, stream.native));
    launch_copy(stream.native, job.gpu, other);
    put_send(&job, 1);
    OK(cu.cuMemsetD8Async(job.gpu, 8, BYTES, stream.native));
    put_send(&job, 2);
    assert_int_equal(queue_read(&job.line[REACH]), 0);
    queue_write(&job.line[GATE], 1);
    queue_await(&job.line[REACH], 2);
    assert_all(mgds_bounce_base(job.bounce), 8);
    OK(cu.cuStreamSynchronize(stream.native));
    /* now one at a time: the first value, too */
    OK(cu.cuMemsetD8Async(job.gpu, 9, BYTES, stream.native));
    put_send(&job, 3);
    queue_await(&job.line[REACH], 3);
    assert_all(mgds_bounce_base(job.bounce), 9);
    OK(cu.cuMemsetD8Async(job.gpu, 10, BYTES, stream.native));
    OK(cu.cuStreamSynchronize(stream.native));
    assert_all(mgds_bounce_base(job.bounce), 9);
    OK(cu.cuMemFree_v2(other));
    close_job(&job);
    queue_close(&stream);
}

static void the_programs_work_behind_a_wait_sees_the_message(void **state)
{
    struct queue_stream stream, aside;
    CUdeviceptr copy, kernel;
    struct job job;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    OK(cu.cuStreamCreate(&aside.native, CU_STREAM_NON_BLOCKING));
    open_job(&job, stream.gstream);
    OK(cu.cuMemAlloc_v2(&copy, BYTES));
    OK(cu.cuMemAlloc_v2(&kernel, BYTES));
    launch_copy(stream.native, kernel, job.gpu);
    OK(cu.cuStreamSynchronize(stream.native));
    put_receive(&job);
    OK(cu.cuMemcpyAsync(copy, job.gpu, BYTES, stream.native));
    launch_copy(stream.native, kernel, job.gpu);
    OK(cu.cuMemsetD8Async(job.gpu, 1, BYTES, stream.native));
    /* another stream goes on meanwhile */
    launch_copy(aside.native, kernel, copy);
    OK(cu.cuStreamSynchronize(aside.native));
    assert_int_equal(cu.cuStreamQuery(stream.native), CUDA_ERROR_NOT_READY);
    assert_int_equal(queue_read(&job.line[PASSED]), 0);
    arrive(&job, 42);
    OK(cu.cuStreamSynchronize(stream.native));
    assert_int_equal(queue_read(&job.line[PASSED]), 1);
    mgds_gstream_passed(stream.gstream, 1);
    assert_gpu(copy, 42);
    assert_gpu(kernel, 42);
    assert_gpu(job.gpu, 1);
    OK(cu.cuMemFree_v2(copy));
    OK(cu.cuMemFree_v2(kernel));
    OK(cu.cuStreamDestroy_v2(aside.native));
    close_job(&job);
    queue_close(&stream);
}

/* A chain of steps that only passes in the order of the tickets: each waits for
 * what the one before it stores. */
enum { CHAIN = 40, THREADS = 4 };

struct chain {
    struct mgds_gstream *stream;
    uint64_t *word;
    uint64_t ticket, place;
};

static void *put_link(void *arg)
{
    struct chain *link = (struct chain *)arg;
    struct mgds_command steps[] = {queue_wait(link->word, link->place),
                                   queue_flag(link->word, link->place + 1)};

    assert_int_equal(mgds_gstream_put(link->stream, link->ticket, steps, 2), 0);
    mgds_gstream_passed(link->stream, 1);
    return NULL;
}

static void puts_wait_for_earlier_tickets(void **state)
{
    struct chain link[CHAIN];
    pthread_t thread[CHAIN];
    struct queue_stream stream;
    uint64_t *line;

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    line = queue_take(stream.gstream);
    for (uint64_t i = 0; i < CHAIN; i++)
        link[i] = (struct chain){stream.gstream, line,
                                 mgds_gstream_ticket(stream.gstream), i};
    /* the last ticket's put begins first */
    for (int i = CHAIN - 1; i >= 0; i--)
        assert_int_equal(pthread_create(&thread[i], NULL, put_link, &link[i]),
                         0);
    for (int i = 0; i < CHAIN; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    queue_await(line, CHAIN);
    queue_give(stream.gstream, line);
    queue_close(&stream);
}

/* Threads as those of a program are: a ticket and a place in the order under
 * one lock, the put without it. */
struct order {
    pthread_mutex_t lock;
    uint64_t next; /* under lock */
    struct mgds_gstream *stream;
    uint64_t *word;
};

static void *put_in_order(void *arg)
{
    struct order *order = (struct order *)arg;

    for (int i = 0; i < CHAIN; i++) {
        struct chain link = {.stream = order->stream, .word = order->word};

        pthread_mutex_lock(&order->lock);
        link.place = order->next++;
        link.ticket = mgds_gstream_ticket(order->stream);
        pthread_mutex_unlock(&order->lock);
        put_link(&link);
    }
    return NULL;
}

static void threads_on_one_stream_keep_their_common_order(void **state)
{
    struct order order = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct queue_stream stream;
    pthread_t thread[THREADS];

    (void)state;
    queue_open(&stream, CU_STREAM_NON_BLOCKING);
    order.stream = stream.gstream;
    order.word = queue_take(stream.gstream);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, put_in_order, &order),
                         0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    queue_await(order.word, (uint64_t)CHAIN * THREADS);
    queue_give(stream.gstream, order.word);
    queue_close(&stream);
}

/* A thread's stream: it sends there and answers itself. Freeing is left to the
 * end, since it waits for the device: for the other thread's wait, whose end
 * that thread could not reach, its own CUDA calls being held up meanwhile. */
struct worker {
    pthread_t thread;
    struct queue_stream stream;
    struct job job;
};

static void send_and_receive(struct job *job, CUstream native, unsigned round)
{
    unsigned char byte = (unsigned char)round;

    OK(cu.cuMemsetD8Async(job->gpu, byte, BYTES, native));
    put_send(job, round);
    queue_await(&job->line[REACH], round);
    assert_all(mgds_bounce_base(job->bounce), byte);
    queue_write(&job->line[GO], 0);
    queue_write(&job->line[PASSED], 0);
    put_receive(job);
    arrive(job, (unsigned char)(100 + byte));
    queue_await(&job->line[PASSED], 1);
    mgds_gstream_passed(job->stream, 1);
}

static void *work_on_own_stream(void *arg)
{
    struct worker *worker = (struct worker *)arg;

    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    queue_open(&worker->stream, CU_STREAM_NON_BLOCKING);
    open_job(&worker->job, worker->stream.gstream);
    for (unsigned round = 1; round <= CHAIN; round++)
        send_and_receive(&worker->job, worker->stream.native, round);
    assert_gpu(worker->job.gpu, 100 + CHAIN);
    return NULL;
}

static void threads_on_streams_of_their_own_do_not_meet(void **state)
{
    struct worker worker[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&worker[i].thread, NULL,
                                        work_on_own_stream, &worker[i]),
                         0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_join(worker[i].thread, NULL), 0);
    for (int i = 0; i < 2; i++) {
        close_job(&worker[i].job);
        queue_close(&worker[i].stream);
    }
}

/* The legacy stream waits for blocking streams, and they for it. */
static void check_legacy(CUstream native)
{
    CUstream blocking;
    struct job job;

    OK(cu.cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
    open_job(&job, queue_gstream_of(native));
    queue_hold(blocking, &job.line[GATE]);
    OK(cu.cuMemsetD8Async(job.gpu, 3, BYTES, blocking));
    put_send(&job, 1);
    OK(cu.cuMemsetD8Async(job.gpu, 4, BYTES, blocking));
    assert_int_equal(queue_read(&job.line[REACH]), 0);
    queue_write(&job.line[GATE], 1);
    queue_await(&job.line[REACH], 1);
    OK(cu.cuStreamSynchronize(blocking));
    assert_all(mgds_bounce_base(job.bounce), 3);
    put_receive(&job);
    OK(cu.cuMemsetD8Async(job.gpu, 5, BYTES / 2, blocking));
    assert_int_equal(cu.cuStreamQuery(blocking), CUDA_ERROR_NOT_READY);
    arrive(&job, 6);
    OK(cu.cuStreamSynchronize(blocking));
    mgds_gstream_passed(job.stream, 1);
    assert_int_equal(queue_read(&job.line[PASSED]), 1);
    OK(cu.cuStreamDestroy_v2(blocking));
    close_job(&job);
    mgds_gstream_release(job.stream);
}

static void the_legacy_stream_is_ordered_with_blocking_streams(void **state)
{
    (void)state;
    check_legacy(NULL);
    check_legacy(CU_STREAM_LEGACY);
}

static void the_per_thread_stream_is_a_stream_too(void **state)
{
    struct job job;

    (void)state;
    open_job(&job, queue_gstream_of(CU_STREAM_PER_THREAD));
    OK(cu.cuMemsetD8Async(job.gpu, 3, BYTES, CU_STREAM_PER_THREAD));
    put_send(&job, 1);
    queue_await(&job.line[REACH], 1);
    assert_all(mgds_bounce_base(job.bounce), 3);
    put_receive(&job);
    arrive(&job, 6);
    OK(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD));
    mgds_gstream_passed(job.stream, 1);
    assert_gpu(job.gpu, 6);
    close_job(&job);
    mgds_gstream_release(job.stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pack_sees_what_was_queued_before_and_not_after),
        cmocka_unit_test(the_programs_work_behind_a_wait_sees_the_message),
        cmocka_unit_test(puts_wait_for_earlier_tickets),
        cmocka_unit_test(threads_on_one_stream_keep_their_common_order),
        cmocka_unit_test(threads_on_streams_of_their_own_do_not_meet),
        cmocka_unit_test(the_legacy_stream_is_ordered_with_blocking_streams),
        cmocka_unit_test(the_per_thread_stream_is_a_stream_too),
    };

    if (soft_cuda_load())
        return 1;
    return cmocka_run_group_tests(tests, stage_start, queue_finish);
}
