/* Streams: objects, order, and the executor. */
#include "sim/cuda/stream.h"

#include <stdlib.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/ctx.h"
#include "sim/cuda/event.h"
#include "sim/cuda/pool.h"
#include "sim/cuda/queue.h"

/* Not the id: contexts and buffers count there too, and what they do must not
 * change the delays of a stream. */
static uint64_t next_serial(void)
{
    static uint64_t serial;

    return ++serial;
}

struct mgds_gpu_stream *mgds_stream_new(struct mgds_gpu_ctx *ctx,
                                        unsigned flags, int priority)
{
    struct mgds_gpu_stream *stream = mgds_gpu_calloc(1, sizeof(*stream));

    stream->ctx = ctx;
    stream->refs = 1;
    stream->flags = flags;
    stream->priority = priority;
    stream->id = mgds_gpu_next_id();
    stream->serial = next_serial();
    stream->random = mgds_gpu_random(stream->serial);
    stream->tail = &stream->head;
    pthread_cond_init(&stream->moved, NULL);
    stream->next = ctx->device->streams;
    ctx->device->streams = stream;
    return stream;
}

void mgds_stream_get(struct mgds_gpu_stream *stream)
{
    stream->refs++;
}

void mgds_stream_put(struct mgds_gpu_stream *stream)
{
    struct mgds_gpu_stream **link = &stream->ctx->device->streams;

    if (--stream->refs)
        return;
    while (*link && *link != stream)
        link = &(*link)->next;
    if (*link)
        *link = stream->next;
    pthread_cond_destroy(&stream->moved);
    free(stream->front);
    free(stream);
}

/* Handles end here; streams with references live on, empty. */
void mgds_stream_drop_all(struct mgds_gpu_ctx *ctx)
{
    struct mgds_gpu_stream *stream = ctx->device->streams;

    while (stream) {
        struct mgds_gpu_stream *next = stream->next;

        if (stream->ctx == ctx && !stream->dropped) {
            stream->dropped = true;
            mgds_handle_drop(stream);
            mgds_stream_put(stream);
        }
        stream = next;
    }
}

uint64_t mgds_thread_id(void)
{
    static uint64_t last;

    if (!mgds_gpu_thread.id)
        mgds_gpu_thread.id = ++last;
    return mgds_gpu_thread.id;
}

/* Made when first meant, for the life of the context: a thread's end is not
 * noticed. */
static struct mgds_gpu_stream *per_thread(struct mgds_gpu_ctx *ctx)
{
    uint64_t id = mgds_thread_id();
    struct mgds_gpu_stream *stream;

    for (stream = ctx->device->streams; stream; stream = stream->next) {
        if (stream->ctx == ctx && stream->thread == id && !stream->dropped)
            return stream;
    }
    stream = mgds_stream_new(ctx, 0, 0);
    stream->thread = id;
    return stream;
}

/* While it waits at the gate another thread may destroy the stream. */
static CUresult find_made(CUstream handle, struct mgds_gpu_stream **out)
{
    struct mgds_gpu_stream *stream = (struct mgds_gpu_stream *)(void *)handle;

    if (mgds_handle_is(MGDS_HANDLE_STREAM, handle))
        mgds_gpu_gate_pass(stream->ctx->device);
    if (!mgds_handle_is(MGDS_HANDLE_STREAM, handle))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = stream;
    return mgds_gpu_lost();
}

CUresult mgds_stream_find(CUstream handle, struct mgds_gpu_stream **out)
{
    struct mgds_gpu_ctx *ctx;
    CUresult rc;

    if ((uintptr_t)handle > (uintptr_t)CU_STREAM_PER_THREAD)
        return find_made(handle, out);
    rc = mgds_ctx_current(&ctx);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (handle == CU_STREAM_PER_THREAD ||
        (!handle && mgds_gpu_thread.per_thread))
        *out = per_thread(ctx);
    else
        *out = ctx->legacy;
    return CUDA_SUCCESS;
}

void mgds_stream_wait(struct mgds_gpu_stream *stream, uint64_t number)
{
    mgds_stream_get(stream);
    while (stream->done < number)
        pthread_cond_wait(&stream->moved, &mgds_gpu.lock);
    mgds_stream_put(stream);
}

/* Waits for what is on each stream of the device for which test(stream, arg) is
 * true now. */
static void stream_wait_if(struct mgds_gpu_device *device,
                           bool (*test)(const struct mgds_gpu_stream *stream,
                                        const void *arg),
                           const void *arg)
{
    struct mgds_op_dep *ends;
    struct mgds_gpu_stream *stream;
    size_t count = 0;

    for (stream = device->streams; stream; stream = stream->next)
        count++;
    ends = mgds_gpu_calloc(count + 1, sizeof(*ends));
    count = 0;
    for (stream = device->streams; stream; stream = stream->next) {
        if (!test(stream, arg))
            continue;
        mgds_stream_get(stream);
        ends[count++] = (struct mgds_op_dep){stream, stream->last};
    }
    while (count-- > 0) {
        mgds_stream_wait(ends[count].stream, ends[count].number);
        mgds_stream_put(ends[count].stream);
    }
    free(ends);
}

static bool is_of(const struct mgds_gpu_stream *stream, const void *ctx)
{
    return !ctx || stream->ctx == ctx;
}

void mgds_stream_wait_all(struct mgds_gpu_device *device,
                          const struct mgds_gpu_ctx *ctx)
{
    stream_wait_if(device, is_of, ctx);
}

/* True if the legacy stream would wait for it. */
static bool is_before_legacy(const struct mgds_gpu_stream *stream,
                             const void *arg)
{
    const struct mgds_gpu_stream *legacy = arg;

    return stream != legacy && stream->ctx == legacy->ctx &&
           mgds_stream_blocks(stream);
}

CUresult mgds_stream_finish(struct mgds_gpu_stream *stream)
{
    if (mgds_stream_is_legacy(stream))
        stream_wait_if(stream->ctx->device, is_before_legacy, stream);
    mgds_stream_wait(stream, stream->last);
    return mgds_gpu_lost();
}

bool mgds_stream_is_idle(const struct mgds_gpu_stream *stream)
{
    const struct mgds_gpu_stream *other = stream->ctx->device->streams;

    if (stream->done != stream->last)
        return false;
    if (!mgds_stream_is_legacy(stream))
        return true;
    for (; other; other = other->next) {
        if (is_before_legacy(other, stream) && other->done != other->last)
            return false;
    }
    return true;
}

static void await_deps(const struct mgds_gpu_op *op)
{
    for (size_t i = 0; i < op->dep_count; i++)
        mgds_stream_wait(op->deps[i].stream, op->deps[i].number);
}

static void run(struct mgds_gpu_stream *stream, struct mgds_gpu_op *op)
{
    CUresult rc = CUDA_SUCCESS;

    if (mgds_gpu_lost()) {
        mgds_op_skip(op);
        return;
    }
    pthread_mutex_unlock(&mgds_gpu.lock);
    mgds_gpu_delay(&stream->random);
    if (op->kind != MGDS_OP_RECORD)
        rc = mgds_op_run(op);
    pthread_mutex_lock(&mgds_gpu.lock);
    /* in one step with the operation's own end: who has seen the event finds
     * the stream idle */
    if (op->kind == MGDS_OP_RECORD)
        mgds_record_reach(op);
    if (rc != CUDA_SUCCESS)
        mgds_gpu_lose(rc);
}

/* One stream's executor, a pool thread: from the first operation until none
 * is left. It looks at its head afresh each time, as waiting lets the lock
 * go. */
static void execute(void *arg)
{
    struct mgds_gpu_stream *stream = arg;

    while (stream->head) {
        struct mgds_gpu_op *op = stream->head;

        await_deps(op);
        mgds_queue_enter(stream);
        stream->head = op->next;
        if (!stream->head)
            stream->tail = &stream->head;
        stream->running = op;
        run(stream, op);
        stream->running = NULL;
        stream->done = op->number;
        pthread_cond_broadcast(&stream->moved);
        mgds_queue_leave(stream);
        mgds_op_free(op);
    }
    stream->active = false;
    mgds_stream_put(stream);
}

/* The legacy stream comes after everything in the blocking streams of its
 * context, and they come after it. */
static void order_with_legacy(struct mgds_gpu_stream *stream,
                              struct mgds_gpu_op *op)
{
    struct mgds_gpu_stream *legacy = stream->ctx->legacy;
    struct mgds_gpu_stream *other;

    if (!mgds_stream_blocks(stream))
        return;
    if (stream != legacy) {
        mgds_op_after(op, legacy, legacy->last);
        return;
    }
    for (other = stream->ctx->device->streams; other; other = other->next) {
        if (other != stream && other->ctx == stream->ctx &&
            mgds_stream_blocks(other))
            mgds_op_after(op, other, other->last);
    }
}

/* The launch queue is finite: the enqueuing thread waits. */
static void await_room(struct mgds_gpu_stream *stream)
{
    while (stream->last - stream->done >= mgds_gpu.cfg.launch_queue)
        pthread_cond_wait(&stream->moved, &mgds_gpu.lock);
}

CUresult mgds_stream_submit(struct mgds_gpu_stream *stream,
                            struct mgds_gpu_op *op)
{
    CUresult rc;

    if (stream->capture)
        return mgds_capture_add(stream, op);
    rc = mgds_capture_bars_legacy(stream);
    if (rc != CUDA_SUCCESS) {
        mgds_op_free(op);
        return rc;
    }
    mgds_stream_get(stream);
    await_room(stream);
    order_with_legacy(stream, op);
    op->number = ++stream->last;
    *stream->tail = op;
    stream->tail = &op->next;
    if (!stream->active) {
        stream->active = true;
        mgds_stream_get(stream);
        mgds_pool_run(execute, stream);
    }
    mgds_stream_put(stream);
    return CUDA_SUCCESS;
}
