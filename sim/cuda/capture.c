/* Stream capture: which calls end up in which graph, and which are refused
 * while that goes on. */
#include "sim/cuda/capture.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cuda/ctx.h"
#include "sim/cuda/graph.h"

/* Those that go on, of all threads. */
static struct mgds_gpu_capture *captures;

/* NULL if that capture is over: ids are never used again. */
static struct mgds_gpu_capture *by_id(uint64_t id)
{
    struct mgds_gpu_capture *capture;

    for (capture = captures; capture; capture = capture->next) {
        if (capture->id == id)
            return capture;
    }
    return NULL;
}

CUresult mgds_capture_bars_event(const struct mgds_gpu_event *event)
{
    struct mgds_gpu_capture *capture = by_id(event->capture_id);

    if (!event->capture_id)
        return CUDA_SUCCESS;
    if (!capture)
        return CUDA_ERROR_INVALID_VALUE;
    capture->invalid = true;
    return CUDA_ERROR_CAPTURED_EVENT;
}

/* True if this capture forbids the calling thread its unsafe calls: its own
 * unless relaxed, another thread's if both are global. A thread that exchanged
 * its mode for relaxed may do anything. */
static bool forbids(const struct mgds_gpu_capture *capture)
{
    CUstreamCaptureMode mine = mgds_gpu_thread.capture_mode;
    bool own = capture->thread == mgds_thread_id();

    if (mine == CU_STREAM_CAPTURE_MODE_RELAXED)
        return false;
    if (own && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return true;
    return mine == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/* The call may wait for what is being captured and never runs: all captures
 * that forbid it are spoilt, not only the caller's. */
CUresult mgds_capture_bars_unsafe(void)
{
    struct mgds_gpu_capture *capture;
    CUresult rc = CUDA_SUCCESS;

    for (capture = captures; capture; capture = capture->next) {
        if (!forbids(capture))
            continue;
        capture->invalid = true;
        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return rc;
}

CUresult mgds_capture_bars_wait(struct mgds_gpu_ctx *ctx)
{
    struct mgds_gpu_capture *capture;
    CUresult rc = CUDA_SUCCESS;

    for (capture = captures; capture; capture = capture->next) {
        if (capture->origin->ctx != ctx || capture->invalid)
            continue;
        capture->invalid = true;
        rc = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return rc;
}

/* Asking about the legacy stream is as bad as using it, but harms nothing. */
static CUresult bars_legacy(const struct mgds_gpu_stream *stream, bool spoil)
{
    struct mgds_gpu_stream *other;
    CUresult rc = CUDA_SUCCESS;

    if (!captures || !mgds_stream_is_legacy(stream))
        return CUDA_SUCCESS;
    for (other = stream->ctx->device->streams; other; other = other->next) {
        if (other->ctx != stream->ctx || !other->capture ||
            !mgds_stream_blocks(other))
            continue;
        other->capture->invalid = other->capture->invalid || spoil;
        rc = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return rc;
}

CUresult mgds_capture_bars_legacy(struct mgds_gpu_stream *stream)
{
    return bars_legacy(stream, true);
}

CUresult mgds_capture_bars_sync(struct mgds_gpu_stream *stream)
{
    if (!stream->capture)
        return mgds_capture_bars_legacy(stream);
    stream->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static void set_front(struct mgds_gpu_stream *stream,
                      struct mgds_gpu_node *const *nodes, size_t count)
{
    stream->front = mgds_gpu_grow(stream->front, count, &stream->front_capacity,
                                  sizeof(struct mgds_gpu_node *));
    if (count)
        memcpy(stream->front, nodes, count * sizeof(struct mgds_gpu_node *));
    stream->front_count = count;
}

static void add_front(struct mgds_gpu_stream *stream,
                      struct mgds_gpu_node *node)
{
    for (size_t i = 0; i < stream->front_count; i++) {
        if (stream->front[i] == node)
            return;
    }
    stream->front =
        mgds_gpu_grow(stream->front, stream->front_count + 1,
                      &stream->front_capacity, sizeof(struct mgds_gpu_node *));
    stream->front[stream->front_count++] = node;
}

CUresult mgds_capture_add(struct mgds_gpu_stream *stream,
                          struct mgds_gpu_op *op)
{
    struct mgds_gpu_node *node;

    if (stream->capture->invalid) {
        mgds_op_free(op);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    node = mgds_graph_add(stream->capture->graph, op, stream->front,
                          stream->front_count);
    set_front(stream, &node, 1);
    return CUDA_SUCCESS;
}

/* The event stands for the nodes so far; nothing runs. */
CUresult mgds_capture_record(struct mgds_gpu_stream *stream,
                             struct mgds_gpu_event *event, unsigned flags)
{
    size_t size = stream->front_count * sizeof(struct mgds_gpu_node *);

    if (stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags & CU_EVENT_RECORD_EXTERNAL)
        return mgds_capture_add(
            stream, mgds_event_node_op(MGDS_OP_RECORD, event, stream->ctx));
    free(event->front);
    event->front = mgds_gpu_calloc(1, size + 1);
    if (size)
        memcpy(event->front, stream->front, size);
    event->front_count = stream->front_count;
    event->capture_id = stream->capture->id;
    return CUDA_SUCCESS;
}

/* The stream belongs to the capture from now on, with nothing before its
 * first node but what the caller adds. */
static void join(struct mgds_gpu_stream *stream,
                 struct mgds_gpu_capture *capture)
{
    stream->capture = capture;
    stream->next_captured = capture->streams;
    capture->streams = stream;
    stream->front_count = 0;
    mgds_stream_get(stream);
}

static CUresult wait_captured(struct mgds_gpu_stream *stream,
                              struct mgds_gpu_event *event)
{
    struct mgds_gpu_capture *capture = by_id(event->capture_id);

    if (!capture && !stream->capture)
        return CUDA_ERROR_INVALID_VALUE;
    if (!capture) {
        stream->capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
    }
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (mgds_stream_is_legacy(stream)) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (stream->capture && stream->capture != capture) {
        stream->capture->invalid = capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    if (!stream->capture)
        join(stream, capture);
    for (size_t i = 0; i < event->front_count; i++)
        add_front(stream, event->front[i]);
    return CUDA_SUCCESS;
}

CUresult mgds_capture_wait(struct mgds_gpu_stream *stream,
                           struct mgds_gpu_event *event, unsigned flags)
{
    if (stream->capture && stream->capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream->capture && flags & CU_EVENT_WAIT_EXTERNAL)
        return mgds_capture_add(
            stream, mgds_event_node_op(MGDS_OP_WAIT, event, stream->ctx));
    if (event->capture_id || !stream->capture)
        return wait_captured(stream, event);
    /* work outside the capture cannot come first in every launch */
    stream->capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

/* The legacy stream cannot be captured: it is ordered with streams that are
 * not. */
static CUresult begin(CUstream handle, CUstreamCaptureMode mode)
{
    struct mgds_gpu_capture *capture;
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (mgds_stream_is_legacy(stream))
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    capture = mgds_gpu_calloc(1, sizeof(*capture));
    capture->id = mgds_gpu_next_id();
    capture->mode = mode;
    capture->graph = mgds_graph_new();
    capture->origin = stream;
    capture->thread = mgds_thread_id();
    capture->next = captures;
    captures = capture;
    join(stream, capture);
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    MGDS_API(call, MGDS_NEED_INIT, begin(stream, mode));
}

/* Ends it: its streams are ordinary ones again. The graph is the caller's. */
static struct mgds_gpu_graph *finish(struct mgds_gpu_capture *capture)
{
    struct mgds_gpu_graph *graph = capture->graph;
    struct mgds_gpu_capture **link = &captures;

    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    while (capture->streams) {
        struct mgds_gpu_stream *stream = capture->streams;

        capture->streams = stream->next_captured;
        stream->capture = NULL;
        stream->front_count = 0;
        mgds_stream_put(stream);
    }
    free(capture);
    return graph;
}

void mgds_capture_abandon(struct mgds_gpu_stream *stream)
{
    stream->capture->invalid = true;
    if (stream->capture->origin == stream)
        mgds_graph_free(finish(stream->capture));
}

/* The node and all that comes before it. */
static void mark_before(struct mgds_gpu_node *node)
{
    if (node->mark)
        return;
    node->mark = true;
    for (size_t i = 0; i < node->dep_count; i++)
        mark_before(node->deps[i]);
}

/* True if all that was captured comes before the origin's last nodes. */
static bool is_joined(const struct mgds_gpu_capture *capture)
{
    const struct mgds_gpu_stream *origin = capture->origin, *stream;
    struct mgds_gpu_graph *graph = capture->graph;
    bool joined = true;

    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->mark = false;
    for (size_t i = 0; i < origin->front_count; i++)
        mark_before(origin->front[i]);
    for (stream = capture->streams; stream; stream = stream->next_captured) {
        for (size_t i = 0; i < stream->front_count; i++)
            joined = joined && stream->front[i]->mark;
    }
    return joined;
}

/* What its end says. The capture is over even if the wrong thread ends it. */
static CUresult judge(const struct mgds_gpu_capture *capture)
{
    if (capture->thread != mgds_thread_id() &&
        capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (capture->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    return is_joined(capture) ? CUDA_SUCCESS
                              : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

static CUresult end(CUstream handle, CUgraph *out)
{
    struct mgds_gpu_capture *capture;
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_graph *graph;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    capture = stream->capture;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = NULL;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) {
        capture->invalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    }
    rc = judge(capture);
    graph = finish(capture);
    if (rc == CUDA_SUCCESS)
        *out = (CUgraph)(void *)graph;
    else
        mgds_graph_free(graph);
    return rc;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    MGDS_API(call, MGDS_NEED_INIT, end(stream, graph));
}

static CUstreamCaptureStatus status_of(const struct mgds_gpu_stream *stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult is_capturing(CUstream handle, CUstreamCaptureStatus *status)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc == CUDA_SUCCESS)
        rc = bars_legacy(stream, false);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!status)
        return CUDA_ERROR_INVALID_VALUE;
    *status = status_of(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    MGDS_API(call, MGDS_NEED_INIT, is_capturing(stream, status));
}

/* Where cuStreamGetCaptureInfo answers; all but status may be NULL. */
struct info {
    CUstreamCaptureStatus *status;
    cuuint64_t *id;
    CUgraph *graph;
    const CUgraphNode **deps;
    const CUgraphEdgeData **edges;
    size_t *count;
};

static void fill_info(const struct mgds_gpu_stream *stream, struct info info)
{
    if (info.id)
        *info.id = stream->capture->id;
    if (info.graph)
        *info.graph = (CUgraph)(void *)stream->capture->graph;
    if (info.deps)
        *info.deps = (const CUgraphNode *)(void *)stream->front;
    if (info.edges)
        *info.edges = NULL;
    if (info.count)
        *info.count = stream->front_count;
}

static CUresult get_info(CUstream handle, struct info info)
{
    struct mgds_gpu_stream *stream;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc == CUDA_SUCCESS)
        rc = bars_legacy(stream, false);
    if (rc != CUDA_SUCCESS)
        return rc;
    if (!info.status)
        return CUDA_ERROR_INVALID_VALUE;
    *info.status = status_of(stream);
    if (*info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        fill_info(stream, info);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status,
                                cuuint64_t *id)
{
    struct info info = {status, id, NULL, NULL, NULL, NULL};

    MGDS_API(call, MGDS_NEED_INIT, get_info(stream, info));
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream,
                                   CUstreamCaptureStatus *status,
                                   cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **deps, size_t *count)
{
    struct info info = {status, id, graph, deps, NULL, count};

    MGDS_API(call, MGDS_NEED_INIT, get_info(stream, info));
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream,
                                   CUstreamCaptureStatus *status,
                                   cuuint64_t *id, CUgraph *graph,
                                   const CUgraphNode **deps,
                                   const CUgraphEdgeData **edges, size_t *count)
{
    struct info info = {status, id, graph, deps, edges, count};

    MGDS_API(call, MGDS_NEED_INIT, get_info(stream, info));
}

/* Programs may set by hand what the next captured node comes after. */
static CUresult update_deps(CUstream handle, CUgraphNode *deps, size_t count,
                            unsigned flags)
{
    struct mgds_gpu_stream *stream;
    struct mgds_gpu_node *node;
    CUresult rc = mgds_stream_find(handle, &stream);

    if (rc != CUDA_SUCCESS)
        return rc;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !deps))
        return CUDA_ERROR_INVALID_VALUE;
    if (!stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    for (size_t i = 0; i < count; i++) {
        if (mgds_node_find(deps[i], &node) != CUDA_SUCCESS ||
            node->graph != stream->capture->graph)
            return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        stream->front_count = 0;
    for (size_t i = 0; i < count; i++)
        add_front(stream, (struct mgds_gpu_node *)(void *)deps[i]);
    return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps,
                                           size_t count, unsigned flags)
{
    MGDS_API(call, MGDS_NEED_INIT, update_deps(stream, deps, count, flags));
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream,
                                              CUgraphNode *deps,
                                              const CUgraphEdgeData *edges,
                                              size_t count, unsigned flags)
{
    (void)edges;
    return cuStreamUpdateCaptureDependencies(stream, deps, count, flags);
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
    CUstreamCaptureMode before = mgds_gpu_thread.capture_mode;

    if (!mode || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    mgds_gpu_thread.capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    MGDS_API(call, MGDS_NEED_INIT, exchange_mode(mode));
}
