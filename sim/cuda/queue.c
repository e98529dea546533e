/* Hardware queues, counted when somebody wants one: holding depends on what was
 * enqueued meanwhile. */
#include "sim/cuda/queue.h"

#include "sim/cuda/ctx.h"
#include "sim/cuda/stream.h"

/* As measured: a wait blocks its queue at once, a kernel or a graph only
 * once something is queued behind it. */
static bool holds(const struct mgds_gpu_stream *stream)
{
    const struct mgds_gpu_op *op = stream->running;

    if (!op)
        return false;
    if (op->kind == MGDS_OP_KERNEL || op->kind == MGDS_OP_GRAPH)
        return stream->head != NULL;
    return mgds_op_waits(op);
}

/* A kernel needs room among those that run, too; copies have engines. */
static bool may_start(const struct mgds_gpu_device *device,
                      const struct mgds_gpu_op *op)
{
    const struct mgds_gpu_stream *stream;
    unsigned held = 0, kernels = 0;

    for (stream = device->streams; stream; stream = stream->next) {
        held += holds(stream);
        kernels += stream->running && stream->running->kind == MGDS_OP_KERNEL;
    }
    return held < mgds_gpu.cfg.connections &&
           (op->kind != MGDS_OP_KERNEL ||
            kernels < mgds_gpu.cfg.running_kernels);
}

/* Not in turn: whoever wakes first, as priorities are not modelled. */
void mgds_queue_enter(struct mgds_gpu_stream *stream)
{
    struct mgds_gpu_device *device = stream->ctx->device;

    if (!mgds_gpu.cfg.queue_limit)
        return;
    while (!may_start(device, stream->head))
        pthread_cond_wait(&device->queue_moved, &mgds_gpu.lock);
}

void mgds_queue_leave(struct mgds_gpu_stream *stream)
{
    if (mgds_gpu.cfg.queue_limit)
        pthread_cond_broadcast(&stream->ctx->device->queue_moved);
}
