/* Operations: making, copying, freeing; which function runs which. */
#include "sim/cuda/op.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/event.h"
#include "sim/cuda/graph.h"
#include "sim/cuda/mem.h"
#include "sim/cuda/module.h"
#include "sim/cuda/stream.h"

static void *duplicate(const void *payload, size_t size)
{
    void *copy;

    if (size == 0)
        return NULL;
    copy = mgds_gpu_calloc(1, size);
    memcpy(copy, payload, size);
    return copy;
}

struct mgds_gpu_op *mgds_op_new(enum mgds_op_kind kind,
                                struct mgds_gpu_ctx *ctx, const void *payload,
                                size_t size)
{
    struct mgds_gpu_op *op = mgds_gpu_calloc(1, sizeof(*op));

    op->kind = kind;
    op->ctx = ctx;
    op->payload = duplicate(payload, size);
    op->payload_size = size;
    return op;
}

struct mgds_gpu_op *mgds_op_clone(const struct mgds_gpu_op *op)
{
    struct mgds_gpu_op *copy =
        mgds_op_new(op->kind, op->ctx, op->payload, op->payload_size);

    copy->u = op->u;
    switch (op->kind) {
    case MGDS_OP_KERNEL:
        mgds_function_get(copy->u.kernel.function);
        break;
    case MGDS_OP_RECORD:
    case MGDS_OP_WAIT:
        mgds_event_get(copy->u.event.event);
        break;
    case MGDS_OP_COPY:
        if (op->u.copy.staged)
            copy->u.copy.src = (uintptr_t)copy->payload;
        break;
    default:
        break;
    }
    return copy;
}

static void put_event(struct mgds_op_event *event)
{
    if (event->mark)
        mgds_fence_put(event->mark);
    if (event->event)
        mgds_event_put(event->event);
}

void mgds_op_free(struct mgds_gpu_op *op)
{
    switch (op->kind) {
    case MGDS_OP_KERNEL:
        mgds_function_put(op->u.kernel.function);
        break;
    case MGDS_OP_RECORD:
    case MGDS_OP_WAIT:
        put_event(&op->u.event);
        break;
    case MGDS_OP_GRAPH:
        mgds_body_put(op->u.graph.body);
        mgds_exec_put(op->u.graph.exec);
        break;
    default:
        break;
    }
    for (size_t i = 0; i < op->dep_count; i++)
        mgds_stream_put(op->deps[i].stream);
    free(op->deps);
    free(op->payload);
    free(op);
}

void mgds_op_after(struct mgds_gpu_op *op, struct mgds_gpu_stream *stream,
                   uint64_t number)
{
    if (stream->done >= number)
        return;
    op->deps = mgds_gpu_grow(op->deps, op->dep_count + 1, &op->dep_capacity,
                             sizeof(*op->deps));
    mgds_stream_get(stream);
    op->deps[op->dep_count++] = (struct mgds_op_dep){stream, number};
}

bool mgds_op_waits(const struct mgds_gpu_op *op)
{
    const union mgds_cu_memop *ops = op->payload;

    if (op->kind != MGDS_OP_MEMOP)
        return false;
    for (unsigned i = 0; i < op->u.memops; i++) {
        if (ops[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
            ops[i].operation == CU_STREAM_MEM_OP_WAIT_VALUE_64)
            return true;
    }
    return false;
}

static CUresult run_host(const struct mgds_op_host *host, CUresult status)
{
    mgds_gpu_thread.host_function = true;
    if (host->fn)
        host->fn(host->arg);
    else
        host->callback(host->stream, status, host->arg);
    mgds_gpu_thread.host_function = false;
    return CUDA_SUCCESS;
}

/* Freed where it stands in its stream; the block is NULL if an allocation on
 * the same stream took it over meanwhile. */
static CUresult run_free(const struct mgds_gpu_op *op)
{
    pthread_mutex_lock(&mgds_gpu.lock);
    if (op->u.block)
        mgds_mem_drop(op->u.block);
    pthread_mutex_unlock(&mgds_gpu.lock);
    return CUDA_SUCCESS;
}

static CUresult dispatch(struct mgds_gpu_op *op)
{
    switch (op->kind) {
    case MGDS_OP_COPY:
        return mgds_copy_run(op);
    case MGDS_OP_SET:
        return mgds_set_run(op);
    case MGDS_OP_MEMOP:
        return mgds_memop_run(op);
    case MGDS_OP_HOST:
        return run_host(&op->u.host, CUDA_SUCCESS);
    case MGDS_OP_KERNEL:
        return mgds_kernel_run(op);
    case MGDS_OP_RECORD:
        return mgds_record_run(op);
    case MGDS_OP_WAIT:
        return mgds_await_run(op);
    case MGDS_OP_GRAPH:
        return mgds_exec_run(op);
    case MGDS_OP_FREE:
        return run_free(op);
    case MGDS_OP_EMPTY:
        break;
    }
    return CUDA_SUCCESS;
}

/* The modelled latency covers the operation: only what is left of it is
 * slept. */
CUresult mgds_op_run(struct mgds_gpu_op *op)
{
    uint64_t latency = mgds_gpu.cfg.latency;
    uint64_t end = latency ? mgds_gpu_now() + latency : 0;
    CUresult rc = dispatch(op);
    uint64_t now = latency ? mgds_gpu_now() : 0;

    if (now < end)
        mgds_gpu_nap(end - now);
    return rc;
}

/* A callback hears of the error; a host function is not called. */
static void skip_host(const struct mgds_gpu_op *op)
{
    if (!op->u.host.callback)
        return;
    pthread_mutex_unlock(&mgds_gpu.lock);
    run_host(&op->u.host, mgds_gpu_lost());
    pthread_mutex_lock(&mgds_gpu.lock);
}

void mgds_op_skip(struct mgds_gpu_op *op)
{
    if (op->kind == MGDS_OP_RECORD)
        mgds_record_reach(op);
    else if (op->kind == MGDS_OP_FREE && op->u.block)
        mgds_mem_drop(op->u.block);
    else if (op->kind == MGDS_OP_HOST)
        skip_host(op);
    else if (op->kind == MGDS_OP_GRAPH)
        mgds_exec_skip(op);
}
