/* Stream capture: calls on a captured stream become nodes of a graph. Called
 * locked. A call that a capture forbids invalidates it: cuStreamEndCapture
 * then says so. */
#ifndef MGDS_SIM_CAPTURE_H
#define MGDS_SIM_CAPTURE_H

#include "sim/cuda/event.h"
#include "sim/cuda/stream.h"

struct mgds_gpu_graph;

struct mgds_gpu_capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    struct mgds_gpu_graph *graph;
    struct mgds_gpu_stream *origin;
    uint64_t thread; /* that began it */
    bool invalid;
    struct mgds_gpu_stream *streams; /* by next_captured */
    struct mgds_gpu_capture *next;
};

/* Calls that a thread may not make while it, or (global mode) anybody,
 * captures: STREAM_CAPTURE_UNSUPPORTED. */
CUresult mgds_capture_bars_unsafe(void);

/* Waiting for a whole context while one of its streams is captured. */
CUresult mgds_capture_bars_wait(struct mgds_gpu_ctx *ctx);

/* Waiting for, or asking about, a stream that is captured, or launching a
 * graph on it: STREAM_CAPTURE_UNSUPPORTED; or the same of the legacy stream
 * while a blocking stream is: STREAM_CAPTURE_IMPLICIT. */
CUresult mgds_capture_bars_sync(struct mgds_gpu_stream *stream);

/* Work on the legacy stream while a blocking stream of its context is
 * captured: STREAM_CAPTURE_IMPLICIT. */
CUresult mgds_capture_bars_legacy(struct mgds_gpu_stream *stream);

/* The next node of the stream; takes op. */
CUresult mgds_capture_add(struct mgds_gpu_stream *stream,
                          struct mgds_gpu_op *op);

/* cuEventRecord and cuStreamWaitEvent where a capture is involved. */
CUresult mgds_capture_record(struct mgds_gpu_stream *stream,
                             struct mgds_gpu_event *event, unsigned flags);
CUresult mgds_capture_wait(struct mgds_gpu_stream *stream,
                           struct mgds_gpu_event *event, unsigned flags);

/* Asking about, or waiting for, an event that was last recorded in a capture:
 * CAPTURED_EVENT, and the capture is invalid; INVALID_VALUE if it is over. */
CUresult mgds_capture_bars_event(const struct mgds_gpu_event *event);

/* The stream is destroyed: its capture ends. */
void mgds_capture_abandon(struct mgds_gpu_stream *stream);

/* The calling thread's number, never 0. */
uint64_t mgds_thread_id(void);

#endif
