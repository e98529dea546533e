/* Streams: a list of operations and, while it is not empty, one executor
 * thread. Called locked unless said otherwise. */
#ifndef MGDS_SIM_STREAM_H
#define MGDS_SIM_STREAM_H

#include "sim/cuda/ctx.h"
#include "sim/cuda/op.h"

struct mgds_gpu_capture;
struct mgds_gpu_node;

/* Locked, if nothing else is said. */
struct mgds_gpu_stream {
    struct mgds_gpu_ctx *ctx;
    struct mgds_gpu_stream *next; /* of the device */
    unsigned refs; /* the handle, dependencies, the executor, waiters */
    unsigned flags;
    int priority;
    uint64_t id, serial; /* serial: how many of this process came before */
    uint64_t thread;     /* whose per-thread default stream it is, or 0 */
    bool dropped;        /* the handle is gone */
    bool active; /* an executor serves it; submit sets, the executor clears */
    /* Operations: submit appends them at tail and raises last; the executor
     * moves head to running and raises done when that has ended. */
    struct mgds_gpu_op *head, **tail, *running;
    uint64_t last, done;
    uint64_t unwaited;    /* of the legacy stream: the last one of a synchronous
                             call, which may have returned ahead of it */
    pthread_cond_t moved; /* done went up */
    uint64_t random;      /* of the delays; only its executor uses it */
    /* Capture: which (NULL: none) and the nodes that the next one depends on;
     * capture.c writes them. */
    struct mgds_gpu_capture *capture;
    struct mgds_gpu_stream *next_captured;
    struct mgds_gpu_node **front;
    size_t front_count, front_capacity;
};

/* A new idle stream, on its device's list, with one reference, the handle's. It
 * is no handle yet: default streams never are. */
struct mgds_gpu_stream *mgds_stream_new(struct mgds_gpu_ctx *ctx,
                                        unsigned flags, int priority);

/* Takes a reference; gives one back, which frees the stream if it was the
 * last. */
void mgds_stream_get(struct mgds_gpu_stream *stream);
void mgds_stream_put(struct mgds_gpu_stream *stream);

/* Takes all streams of a context away; their work has ended. */
void mgds_stream_drop_all(struct mgds_gpu_ctx *ctx);

/* The stream that a handle means for this thread: 0, legacy, per-thread, or a
 * stream of any context. Also INVALID_HANDLE, INVALID_CONTEXT, or what the
 * process was lost to. Waits while the gate of its device is shut. */
CUresult mgds_stream_find(CUstream handle, struct mgds_gpu_stream **out);

/* Puts op on the stream, or into the graph if it is being captured. Owns op
 * from then on, also when it fails, with an error of the capture rules. Waits
 * while the stream's launch queue is full; lets the lock go then. */
CUresult mgds_stream_submit(struct mgds_gpu_stream *stream,
                            struct mgds_gpu_op *op);

/* Waits for all work of a device, or of one context if that is not NULL, that
 * is there now; lets the lock go. */
void mgds_stream_wait_all(struct mgds_gpu_device *device,
                          const struct mgds_gpu_ctx *ctx);

/* True if nothing is left on it; of the legacy stream: nor on any stream that
 * it waits for. */
bool mgds_stream_is_idle(const struct mgds_gpu_stream *stream);

/* Waits until operation `number` has ended; lets the lock go. The stream may be
 * dropped meanwhile. */
void mgds_stream_wait(struct mgds_gpu_stream *stream, uint64_t number);

/* Waits for all that is on the stream, and, of the legacy stream, for what it
 * comes after; then mgds_gpu_lost(): what a synchronous call returns. */
CUresult mgds_stream_finish(struct mgds_gpu_stream *stream);

/* True if the stream is ordered with the legacy stream of its context. */
static inline bool mgds_stream_blocks(const struct mgds_gpu_stream *stream)
{
    return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

/* True of stream 0 of a context. */
static inline bool mgds_stream_is_legacy(const struct mgds_gpu_stream *stream)
{
    return stream->ctx->legacy == stream;
}

#endif
