/*
 * Contexts: where a piece of work runs. It follows from the memory or the
 * stream, never from what happens to be current; the caller's current context
 * is as it was after every call. No context is ever made here.
 *
 * Concurrency. Objects are in one list under context_lock (REGISTRY), which
 * is never held across a driver call. handle, id and device are constant. The
 * reference count is atomic; the list holds one reference, until another
 * context is seen under the same handle: then the old one is known to be gone.
 */
#ifndef MGDS_CUDA_CONTEXT_H
#define MGDS_CUDA_CONTEXT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/cuda/driver_abi.h"
#include "shim/gds/cuda/ptr.h"

struct mgds_context {
    CUcontext handle;
    uint64_t id; /* the driver's, never used again; handles are */
    int device;  /* ordinal */
    unsigned refs;
    CUstream stream; /* own, for stream.c: atomic, NULL until first needed */
    struct mgds_context *next;
};

/* A reference to the context that work on this memory runs in: its own; for
 * POOL and VMM memory, which have none, the primary context of its device if
 * that is active, else the caller's current one if it is on that device.
 * -ENODEV if neither is, -EINVAL for HOST, -ENOMEM, -ESHUTDOWN. */
int mgds_context_of_ptr(struct mgds_context **out, const struct mgds_ptr *ptr);

/* Whether memory that says whose it is belongs to ctx. */
static inline bool mgds_context_is_of_ptr(const struct mgds_context *ctx,
                                          const struct mgds_ptr *ptr)
{
    return ctx->handle == ptr->ctx && ctx->id == ptr->ctx_id;
}

/* mgds_context_of_ptr for the primary context of a device: -ENODEV if that is
 * not active, -EINVAL if there is no such device. */
int mgds_context_of_device(struct mgds_context **out, int device);

/* The same for a stream. The three special streams (0, CU_STREAM_LEGACY,
 * CU_STREAM_PER_THREAD) are those of the caller's current context: -ESHUTDOWN
 * without one. -EINVAL if it is no stream. */
int mgds_context_of_stream(struct mgds_context **out, void *stream);

/* Whether one is known here already, the calling thread has one, or a device of
 * the process an active primary one. */
bool mgds_context_is_any(void);

struct mgds_context *mgds_context_get(struct mgds_context *ctx);
void mgds_context_put(struct mgds_context *ctx);

/* Whether the driver still has this very context. */
bool mgds_context_lives(const struct mgds_context *ctx);

/* Whether this error of its work says that a context has broken, or is gone:
 * nothing runs in it any more. */
static inline bool mgds_context_broke(int rc)
{
    return rc == -EIO || rc == -ESHUTDOWN;
}

/* Makes ctx current for this thread, on top of what was, and lets it do what a
 * capture of the program's would forbid. 0: then leave must follow in the same
 * thread; pairs may nest. -ESHUTDOWN: it is gone. Who kept
 * ctx from an earlier call asks mgds_context_lives first, for another context
 * may have got its handle. */
int mgds_context_enter(const struct mgds_context *ctx);
void mgds_context_leave(void);

/* In between, captures of the program's, also of other threads, neither forbid
 * this thread what may wait for the device, nor are spoilt by it: what we do is
 * no part of them. Pairs may nest, also with enter and leave. No call of the
 * program's may come in between. */
void mgds_capture_ignore(void);
void mgds_capture_heed(void);

/* Forgets all contexts: tests only, when nobody holds one. */
void mgds_context_fini(void);

#endif
