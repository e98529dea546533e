/* Looking at all allocations that a buffer lies in; see reach.h. */
#include "shim/gds/stream/reach.h"

#include <errno.h>

#include "shim/gds/mem/bounce_state.h"
#include "shim/gds/mem/transfer.h"

/* Rows side by side mostly lie in the allocation that was found last. */
struct search {
    const struct mgds_bounce *bounce;
    const struct mgds_gpu *gpu;
    struct mgds_ptr last;
};

/* Imported memory belongs to the context that imported it, whatever GPU it is
 * on. */
static bool is_own(const struct mgds_ptr *ptr, const struct mgds_context *ctx)
{
    return ptr->ctx ? ptr->ctx_id == ctx->id : ptr->device == ctx->device;
}

int mgds_reach_ptr(const struct mgds_ptr *ptr, const struct mgds_gpu *gpu)
{
    if (!mgds_ptr_is_gpu(ptr))
        return -EFAULT;
    return is_own(ptr, gpu->ctx) || mgds_gpu_sees(gpu, ptr) ? 0 : -EXDEV;
}

static size_t left_in(const struct mgds_ptr *ptr, uintptr_t at)
{
    return at >= ptr->base && at - ptr->base < ptr->size
               ? ptr->size - (at - ptr->base)
               : 0;
}

static int check_row(struct search *search, uintptr_t at, size_t bytes)
{
    while (bytes > 0) {
        size_t left = left_in(&search->last, at);
        int rc;

        if (left == 0) {
            rc = mgds_ptr_find(&search->last, (const void *)at, 1);
            if (rc == 0)
                rc = mgds_reach_ptr(&search->last, search->gpu);
            if (rc < 0)
                return rc;
            left = left_in(&search->last, at);
        }
        if (left == 0)
            return -EFAULT;
        if (left > bytes)
            left = bytes;
        at += left;
        bytes -= left;
    }
    return 0;
}

static int check_span(void *arg, const struct mgds_span *span, size_t packed)
{
    struct search *search = (struct search *)arg;
    uintptr_t from = (uintptr_t)search->bounce->user + (size_t)span->offset;

    (void)packed;
    for (size_t plane = 0; plane < span->planes; plane++) {
        uintptr_t at = from + (size_t)span->slice * plane;

        for (size_t row = 0; row < span->rows; row++) {
            int rc =
                check_row(search, at + (size_t)span->pitch * row, span->width);

            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

int mgds_reach_check(const struct mgds_bounce *bounce,
                     const struct mgds_gpu *gpu)
{
    struct search search = {bounce, gpu, bounce->ptr};
    int rc;

    if (bounce->layout->size == 0)
        return 0;
    rc = mgds_reach_ptr(&bounce->ptr, gpu);
    if (rc < 0 || mgds_transfer_inside(bounce))
        return rc;
    return mgds_layout_walk(bounce->layout, 0, SIZE_MAX, check_span, &search);
}
