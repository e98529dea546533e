/* Streams: a list of operations and, while it is not empty, one executor
 * thread. Called locked unless said otherwise. */
#ifndef MGDS_SIM_STREAM_H
#define MGDS_SIM_STREAM_H

#include "sim/cuda/ctx.h"
#include "sim/cuda/op.h"

struct mgds_gpu_capture;
struct mgds_gpu_node;

struct mgds_gpu_stream {
    struct mgds_gpu_ctx *ctx;
    struct mgds_gpu_stream *next; /* of the device */
    unsigned refs;
    unsigned flags;
    int priority;
    uint64_t id, serial; /* serial: how many of this process came before */
    uint64_t thread;     /* whose per-thread default stream it is, or 0 */
    bool dropped;        /* the handle is gone */
    bool active;         /* an executor serves it */
    /* Operations: queued ones hang off head, then `running`; numbers go up to
     * last, done is the last that ended. */
    struct mgds_gpu_op *head, **tail, *running;
    uint64_t last, done;
    pthread_cond_t moved; /* done went up */
    uint64_t random;      /* only its executor uses it */
    /* Capture: the nodes that the next one depends on. */
    struct mgds_gpu_capture *capture;
    struct mgds_gpu_stream *next_captured;
    struct mgds_gpu_node **front;
    size_t front_count, front_capacity;
};

struct mgds_gpu_stream *mgds_stream_new(struct mgds_gpu_ctx *ctx,
                                        unsigned flags, int priority);
void mgds_stream_get(struct mgds_gpu_stream *stream);
void mgds_stream_put(struct mgds_gpu_stream *stream);

/* Takes all streams of a context away; their work has ended. */
void mgds_stream_drop_all(struct mgds_gpu_ctx *ctx);

/* The stream that a handle means for this thread: 0, legacy, per-thread, or a
 * stream of any context. Also INVALID_HANDLE, INVALID_CONTEXT, or what the
 * process was lost to. Waits while the gate of its device is shut. */
CUresult mgds_stream_find(CUstream handle, struct mgds_gpu_stream **out);

/* Puts op on the stream, or into the graph if it is being captured. Owns op
 * from then on, also when it fails. Waits while the stream's launch queue is
 * full. */
CUresult mgds_stream_submit(struct mgds_gpu_stream *stream,
                            struct mgds_gpu_op *op);

/* Waits for all work of a device, or of one context if that is not NULL. */
void mgds_stream_wait_all(struct mgds_gpu_device *device,
                          const struct mgds_gpu_ctx *ctx);

/* True if nothing is left on it; of the legacy stream: nor on any stream that
 * it waits for. */
bool mgds_stream_is_idle(const struct mgds_gpu_stream *stream);

/* Waits until operation `number` has ended. */
void mgds_stream_wait(struct mgds_gpu_stream *stream, uint64_t number);

/* Waits for all that is on the stream, and, of the legacy stream, for what it
 * comes after; then mgds_gpu_lost(): what a synchronous call returns. */
CUresult mgds_stream_finish(struct mgds_gpu_stream *stream);

/* True if the stream is ordered with the legacy stream of its context. */
static inline bool mgds_stream_blocks(const struct mgds_gpu_stream *stream)
{
    return !(stream->flags & CU_STREAM_NON_BLOCKING);
}

static inline bool mgds_stream_is_legacy(const struct mgds_gpu_stream *stream)
{
    return stream->ctx->legacy == stream;
}

#endif
