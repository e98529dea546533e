/* Streams, words and steps as tests want them. */
#include "tests/soft/queue_place.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sched.h>
#include <time.h>
#include <cmocka.h>

#include "shim/gds/cuda/defer.h"
#include "shim/gds/stream/gpu.h"
#include "shim/gds/mem/copyqueue.h"

enum { PATIENCE_S = 60 };

int queue_finish(void **state)
{
    (void)state;
    mgds_gpu_fini();
    mgds_copyqueues_fini();
    mgds_defer_drain();
    return 0;
}

struct mgds_gstream *queue_gstream_of(CUstream native)
{
    struct mgds_gstream *stream = NULL;

    assert_int_equal(mgds_gstream_create(&stream, native), 0);
    assert_non_null(stream);
    return stream;
}

void queue_open(struct queue_stream *stream, unsigned flags)
{
    OK(cu.cuStreamCreate(&stream->native, flags));
    stream->gstream = queue_gstream_of(stream->native);
}

void queue_close(struct queue_stream *stream)
{
    OK(cu.cuStreamSynchronize(stream->native));
    OK(cu.cuStreamDestroy_v2(stream->native));
    mgds_gstream_release(stream->gstream);
}

void queue_start_pair(void **state, struct queue_stream *out,
                      struct queue_stream *in)
{
    stage_start(state);
    queue_open(in, CU_STREAM_NON_BLOCKING);
    queue_open(out, CU_STREAM_NON_BLOCKING);
}

void queue_quit_pair(const struct queue_stream *out,
                     const struct queue_stream *in)
{
    mgds_gstream_abort(out->gstream);
    mgds_gstream_abort(in->gstream);
    OK(cu.cuStreamSynchronize(out->native));
    OK(cu.cuStreamSynchronize(in->native));
}

int queue_finish_pair(void **state, struct queue_stream *out,
                      struct queue_stream *in)
{
    queue_close(out);
    queue_close(in);
    return queue_finish(state);
}

uint64_t *queue_take(struct mgds_gstream *stream)
{
    uint64_t *line = NULL;

    assert_int_equal(mgds_syncwords_take(&line, mgds_gstream_words(stream)), 0);
    assert_non_null(line);
    return line;
}

void queue_give(struct mgds_gstream *stream, uint64_t *line)
{
    mgds_syncwords_give(mgds_gstream_words(stream), line);
}

void queue_claim(struct mgds_gstream *stream, struct mgds_claim **claims,
                 unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        claims[i] = mgds_gstream_claim(stream);
        assert_non_null(claims[i]);
    }
}

void queue_unclaim(struct mgds_gstream *stream,
                   struct mgds_claim *const *claims, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        mgds_gstream_unclaim(stream, claims[i]);
}

uint64_t queue_read(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void queue_write(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static time_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

void queue_await(const uint64_t *word, uint64_t value)
{
    time_t end = seconds() + PATIENCE_S;

    while (queue_read(word) < value) {
        if (seconds() > end)
            fail_msg("the word is still %lu, not %lu",
                     (unsigned long)queue_read(word), (unsigned long)value);
        sched_yield();
    }
}

uint64_t queue_get(CUdeviceptr word)
{
    uint64_t value;

    OK(cu.cuMemcpy((CUdeviceptr)(uintptr_t)&value, word, sizeof(value)));
    OK(cu.cuStreamSynchronize(NULL));
    return value;
}

void queue_assert_claimed(const struct mgds_command *take)
{
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)take->claim;

    assert_int_equal(queue_get(at), take->gen);
    assert_int_equal(queue_get(at + 8), take->gen);
}

void queue_await_served(struct mgds_gstream *stream, uint64_t order)
{
    time_t end = seconds() + PATIENCE_S;

    while (!mgds_gstream_served(stream, order)) {
        assert_true(seconds() < end);
        sched_yield();
    }
}

struct mgds_command queue_pack(struct mgds_bounce *bounce)
{
    return (struct mgds_command){.kind = MGDS_COMMAND_PACK, .bounce = bounce};
}

struct mgds_command queue_unpack(struct mgds_bounce *bounce, uint64_t *limit)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_UNPACK, .bounce = bounce, .word = limit};
}

struct mgds_command queue_flag(uint64_t *word, uint64_t value)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_FLAG, .word = word, .value = value};
}

struct mgds_command queue_wait(uint64_t *word, uint64_t value)
{
    return (struct mgds_command){
        .kind = MGDS_COMMAND_WAIT, .word = word, .value = value};
}

void queue_put(struct mgds_gstream *stream, struct mgds_command *steps,
               unsigned count)
{
    uint64_t ticket = mgds_gstream_ticket(stream);

    assert_int_equal(mgds_gstream_put(stream, ticket, steps, count), 0);
    for (unsigned i = 0; i < count; i++)
        assert_true(steps[i].put);
}

void queue_freed_open(struct queue_freed *freed, struct mgds_gstream *stream,
                      size_t bytes)
{
    struct mgds_buffer buffer;

    freed->layout = stage_bytes_of(bytes);
    OK(cu.cuMemAlloc_v2(&freed->gpu, bytes));
    buffer = stage_buffer_at(freed->gpu, freed->layout, 1);
    assert_int_equal(mgds_gstream_bounce(&freed->bounce, stream, &buffer), 0);
    OK(cu.cuMemFree_v2(freed->gpu));
}

void queue_freed_close(struct queue_freed *freed)
{
    mgds_bounce_destroy(freed->bounce);
    mgds_layout_put(freed->layout);
}

void queue_freed_take(const struct queue_freed *freed,
                      struct mgds_command *take)
{
    take->user = (char *)(uintptr_t)freed->gpu;
    take->bounce = freed->bounce;
}

void queue_hold(CUstream native, uint64_t *gate)
{
    OK(cu.cuStreamWaitValue32_v2(native, (CUdeviceptr)(uintptr_t)gate, 1,
                                 CU_STREAM_WAIT_VALUE_GEQ));
}
