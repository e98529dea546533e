/* Events: how far a stream has come, asked by the CPU. Without times. */
#ifndef MGDS_CUDA_EVENT_H
#define MGDS_CUDA_EVENT_H

#include "shim/gds/cuda/context.h"

struct mgds_event {
    CUevent handle;
    struct mgds_context *ctx;
};

/* An event of that context, for streams of it. Makes one in the driver: ahead
 * of need, never where a wait stands. Takes a reference to ctx. -ENOMEM,
 * -ESHUTDOWN or what else the driver says. */
int mgds_event_init(struct mgds_event *event, struct mgds_context *ctx);
/* An event that no thread waits for, so the GPU need not interrupt the CPU. */
int mgds_event_init_asked(struct mgds_event *event, struct mgds_context *ctx);

/* Allowed at any time, also after the context is gone; does not block. */
void mgds_event_fini(struct mgds_event *event);

/* Behind everything queued on the stream, which must be of the same context.
 * Any thread, no context needed. */
int mgds_event_record(struct mgds_event *event, void *stream);

/* What is queued on the stream from now on, of any context, waits for what was
 * recorded last. Any thread; the stream's context is current if it is one of
 * mgds_stream_is_current. */
int mgds_event_hold(const struct mgds_event *event, void *stream);

/* 1 if what was recorded last has come, or nothing ever was; 0 if not yet. */
int mgds_event_query(struct mgds_event *event);

/* Sleeps until it has, if it is not one for asking. The error of the work if
 * that failed. */
int mgds_event_synchronize(struct mgds_event *event);

#endif
