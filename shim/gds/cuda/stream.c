/* Own streams; see stream.h. A context's stream word goes from NULL to the
 * stream once, by compare-and-swap: of two threads that make one at the same
 * time, the second destroys its own, which is idle, and so does not block. */
#include "shim/gds/cuda/stream.h"

#include <errno.h>

#include "shim/gds/cuda/driver.h"
#include "shim/gds/cuda/result.h"

static int create_stream(CUstream *out, const struct mgds_context *ctx)
{
    int rc = mgds_context_enter(ctx);

    if (rc < 0)
        return rc;
    rc = mgds_cu(mgds_driver()->cuStreamCreate(out, CU_STREAM_NON_BLOCKING));
    mgds_context_leave();
    return rc;
}

int mgds_stream_create(void **out, const struct mgds_context *ctx)
{
    CUstream stream;
    int rc = create_stream(&stream, ctx);

    if (rc == 0)
        *out = stream;
    return rc;
}

void mgds_stream_destroy(void *stream, const struct mgds_context *ctx)
{
    if (mgds_context_lives(ctx))
        mgds_cu(mgds_driver()->cuStreamDestroy(stream));
}

int mgds_stream_own(void **out, struct mgds_context *ctx)
{
    CUstream stream = __atomic_load_n(&ctx->stream, __ATOMIC_ACQUIRE);
    CUstream first = NULL;
    int rc;

    if (!stream) {
        rc = create_stream(&stream, ctx);
        if (rc < 0)
            return rc;
        if (!__atomic_compare_exchange_n(&ctx->stream, &first, stream, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            mgds_cu(mgds_driver()->cuStreamDestroy(stream));
            stream = first;
        }
    }
    *out = stream;
    return 0;
}

int mgds_stream_query(void *stream)
{
    int rc = mgds_cu(mgds_driver()->cuStreamQuery(stream));

    if (rc == -EAGAIN)
        return 0;
    return rc < 0 ? rc : 1;
}

int mgds_stream_capturing(void *stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult result = mgds_driver()->cuStreamIsCapturing(stream, &status);
    int rc = mgds_cu(result);

    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return -EBUSY;
    return rc < 0 ? rc : status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool mgds_stream_is_per_thread(const void *stream)
{
    return stream == (const void *)CU_STREAM_PER_THREAD;
}

bool mgds_stream_is_current(const void *stream)
{
    return !stream || stream == (const void *)CU_STREAM_LEGACY ||
           mgds_stream_is_per_thread(stream);
}
