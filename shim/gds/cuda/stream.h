/* The stream of our own that a context has: staged copies run there, beside
 * whatever the program has queued. Streams pass this folder's border as
 * void *: outside it nobody names CUDA's types. */
#ifndef MGDS_CUDA_STREAM_H
#define MGDS_CUDA_STREAM_H

#include <stdbool.h>

#include "shim/gds/cuda/context.h"

/* The own stream of a context, non-blocking (the legacy stream does not wait
 * for it, nor it for that one), made on first need: not to be first needed
 * where a wait stands. It lives as long as the context. Any thread; -ESHUTDOWN,
 * -ENOMEM or what else the driver says. */
int mgds_stream_own(void **out, struct mgds_context *ctx);

/* Another one like it, which its maker destroys. Neither waits for the device
 * (measured on an H200). destroy: its context may be gone. */
int mgds_stream_create(void **out, const struct mgds_context *ctx);
void mgds_stream_destroy(void *stream, const struct mgds_context *ctx);

/* 1 if all that was queued on the stream is done, 0 if not yet, or the error
 * of the work. Its context lives. Any thread. */
int mgds_stream_query(void *stream);

/* The stream of whatever thread names it; and any that is of the context that
 * is current, rather than of one of its own. */
bool mgds_stream_is_per_thread(const void *stream);
bool mgds_stream_is_current(const void *stream);

/* 1 if the program captures the stream into a graph now, also if that capture
 * has failed already; 0 if not. -EBUSY: it is the legacy stream, which another
 * stream's capture forbids to touch. Its context lives, and is current if the
 * stream is of that (is_current). */
int mgds_stream_capturing(void *stream);

#endif
