/* Stream capture: calls on a captured stream become nodes of a graph. Called
 * locked. A call that a capture forbids invalidates it: cuStreamEndCapture
 * then says so. */
#ifndef MGDS_SIM_CAPTURE_H
#define MGDS_SIM_CAPTURE_H

#include "sim/cuda/event.h"
#include "sim/cuda/stream.h"

struct mgds_gpu_graph;

/* From cuStreamBeginCapture to its end. Only `invalid` and `streams` change. */
struct mgds_gpu_capture {
    uint64_t id; /* never used again; events keep it */
    CUstreamCaptureMode mode;
    struct mgds_gpu_graph *graph;   /* owned, until the end gives it away */
    struct mgds_gpu_stream *origin; /* where it began and must end */
    uint64_t thread;                /* that began it */
    bool invalid; /* set by a forbidden call of any thread, never cleared */
    struct mgds_gpu_stream *streams; /* by next_captured */
    struct mgds_gpu_capture *next;
};

/* Calls that a thread may not make while it, or (global mode) anybody,
 * captures: STREAM_CAPTURE_UNSUPPORTED. */
CUresult mgds_capture_bars_unsafe(void);

/* Waiting for a whole context while one of its streams is captured:
 * STREAM_CAPTURE_UNSUPPORTED. */
CUresult mgds_capture_bars_wait(struct mgds_gpu_ctx *ctx);

/* Waiting for, or asking about, a stream that is captured, or launching a
 * graph on it: STREAM_CAPTURE_UNSUPPORTED; or the same of the legacy stream
 * while a blocking stream is: STREAM_CAPTURE_IMPLICIT. */
CUresult mgds_capture_bars_sync(struct mgds_gpu_stream *stream);

/* Work on the legacy stream while a blocking stream of its context is
 * captured: STREAM_CAPTURE_IMPLICIT. */
CUresult mgds_capture_bars_legacy(struct mgds_gpu_stream *stream);

/* The next node of the stream, behind its front, which it becomes. Takes op,
 * also when it fails: STREAM_CAPTURE_INVALIDATED. */
CUresult mgds_capture_add(struct mgds_gpu_stream *stream,
                          struct mgds_gpu_op *op);

/* cuEventRecord on a captured stream: the event stands for the nodes so far;
 * nothing runs. An external record is a node. */
CUresult mgds_capture_record(struct mgds_gpu_stream *stream,
                             struct mgds_gpu_event *event, unsigned flags);

/* cuStreamWaitEvent where the stream is captured or the event was: draws the
 * stream into the event's capture, or refuses what would mix captures with
 * each other or with work outside. */
CUresult mgds_capture_wait(struct mgds_gpu_stream *stream,
                           struct mgds_gpu_event *event, unsigned flags);

/* Asking about, or waiting for, an event that was last recorded in a capture:
 * CAPTURED_EVENT, and the capture is invalid; INVALID_VALUE if it is over. */
CUresult mgds_capture_bars_event(const struct mgds_gpu_event *event);

/* The captured stream is destroyed: its capture is invalid, and over if it
 * began there. */
void mgds_capture_abandon(struct mgds_gpu_stream *stream);

/* The calling thread's number, never 0. */
uint64_t mgds_thread_id(void);

#endif
