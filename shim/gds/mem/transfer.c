/* Ways of copying; see transfer.h. */
#include "shim/gds/mem/transfer.h"

#include <errno.h>
#include <stdint.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/mem/pack.h"
#include "shim/gds/mem/uploads.h"

enum {
    MOST_COPIES = 4,
    /* Copy engines move a row at a time, a kernel all at once: many rows that
       are narrower than this are left to it. An estimate, to be measured. */
    NARROW = 256,
    FEW_ROWS = 32,
};

#define PITCH_LIMIT ((ptrdiff_t)INT32_MAX)

/* Whether one driver call can have it. */
static bool is_copyable(const struct mgds_span *span)
{
    if (span->rows == 1)
        return span->planes == 1;
    if (span->pitch < 0 || (size_t)span->pitch < span->width ||
        span->pitch > PITCH_LIMIT)
        return false;
    if (span->planes == 1)
        return true;
    return span->slice >= 0 && span->slice % span->pitch == 0 &&
           (size_t)(span->slice / span->pitch) >= span->rows;
}

static bool is_narrow(const struct mgds_span *span)
{
    return span->width < NARROW && span->rows * span->planes >= FEW_ROWS;
}

/* What the spans of a layout are like. */
struct traits {
    bool copyable, narrow;
};

static int look_at_span(void *arg, const struct mgds_span *span, size_t packed)
{
    struct traits *traits = (struct traits *)arg;

    (void)packed;
    traits->copyable = traits->copyable && is_copyable(span);
    traits->narrow = traits->narrow || is_narrow(span);
    return 0;
}

bool mgds_transfer_inside(const struct mgds_bounce *bounce)
{
    const struct mgds_ptr *ptr = &bounce->ptr;
    uintptr_t from = (uintptr_t)bounce->user + (size_t)bounce->layout->true_lb;

    return from >= ptr->base && from - ptr->base <= ptr->size &&
           (size_t)bounce->layout->true_extent <=
               ptr->size - (from - ptr->base);
}

static enum mgds_way way_of_spans(const struct mgds_bounce *bounce, bool pinned)
{
    struct traits traits = {.copyable = true};
    bool few = bounce->layout->spans <= MOST_COPIES;
    bool kernel =
        pinned && bounce->queue->kernel && mgds_transfer_inside(bounce);

    if (few)
        mgds_layout_walk(bounce->layout, 0, SIZE_MAX, look_at_span, &traits);
    if (few && traits.copyable && !(kernel && traits.narrow))
        return MGDS_WAY_COPIES;
    return kernel ? MGDS_WAY_KERNEL : MGDS_WAY_SPLIT;
}

/* What lies in a row is one copy. */
enum mgds_way mgds_transfer_way(const struct mgds_bounce *bounce, bool pinned)
{
    return bounce->layout == &bounce->flat ? MGDS_WAY_COPIES
                                           : way_of_spans(bounce, pinned);
}

/* As MPIX_GDS_UPLOAD says, or by what uploads have taken lately. */
static bool uses_rows(const struct mgds_copyqueue *queue, size_t bytes)
{
    const enum mgds_upload upload = mgds_ctx()->config.upload;

    return upload == MGDS_UPLOAD_ROWS ||
           (upload == MGDS_UPLOAD_AUTO &&
            mgds_uploads_use_rows(&queue->uploads, bytes, mgds_clock_ns()));
}

struct transfer {
    struct mgds_bounce *bounce;
    bool up, inside;
    bool queued;
    bool timed; /* what it takes says how the next uploads are made */
};

/* In one piece, to the GPU, so that it may be in rows. */
static bool is_small_upload(const struct transfer *transfer,
                            const struct mgds_copy *shape)
{
    return transfer->up && shape->rows == 1 && shape->planes == 1 &&
           shape->width > 1 && shape->width <= MGDS_UPLOADS_SMALL;
}

static int upload_rows(struct transfer *transfer, const struct mgds_copy *shape)
{
    struct mgds_copyqueue *queue = transfer->bounce->queue;

    if (uses_rows(queue, shape->width)) {
        mgds_count(stage_rows);
        return mgds_copy_rows_async(shape->dst, shape->src, shape->width,
                                    queue->stream);
    }
    transfer->timed = mgds_ctx()->config.upload == MGDS_UPLOAD_AUTO;
    return mgds_copy_async(shape, queue->stream);
}

static int copy_shape(struct transfer *transfer, const struct mgds_copy *shape)
{
    int rc = is_small_upload(transfer, shape)
                 ? upload_rows(transfer, shape)
                 : mgds_copy_async(shape, transfer->bounce->queue->stream);

    if (rc < 0)
        return rc == -EINVAL ? -EFAULT : rc;
    mgds_count(stage_copies);
    transfer->queued = true;
    return 0;
}

/* The shape of a copyable span, between the user's memory and the bounce. */
static struct mgds_copy shape_of(const struct transfer *transfer,
                                 const struct mgds_span *span, size_t packed)
{
    const struct mgds_bounce *bounce = transfer->bounce;
    bool mirror = bounce->form == MGDS_BOUNCE_MIRROR;
    char *user = mgds_offset_from(bounce->user, span->offset);
    char *other = mgds_offset_from(bounce->base,
                                   mirror ? span->offset : (ptrdiff_t)packed);
    size_t pitch = mirror ? (size_t)span->pitch : span->width;
    size_t slice = mirror ? (size_t)span->slice : span->width * span->rows;
    struct mgds_copy shape = {
        .width = span->width, .rows = span->rows, .planes = span->planes};

    shape.dst = transfer->up ? user : other;
    shape.src = transfer->up ? other : user;
    shape.dst_pitch = transfer->up ? (size_t)span->pitch : pitch;
    shape.src_pitch = transfer->up ? pitch : (size_t)span->pitch;
    shape.dst_slice = transfer->up ? (size_t)span->slice : slice;
    shape.src_slice = transfer->up ? slice : (size_t)span->slice;
    return shape;
}

static int copy_flat(struct transfer *transfer, ptrdiff_t offset, size_t bytes,
                     size_t packed)
{
    const struct mgds_span flat = {
        .offset = offset, .width = bytes, .rows = 1, .planes = 1};
    const struct mgds_copy shape = shape_of(transfer, &flat, packed);

    return copy_shape(transfer, &shape);
}

/* Bytes of absolute addresses: what lies side by side there may be of several
 * allocations, which no copy may cross, and any may have been freed. */
static int copy_anywhere(struct transfer *transfer, ptrdiff_t offset,
                         size_t bytes, size_t packed)
{
    while (bytes > 0) {
        const char *at = mgds_offset_from(transfer->bounce->user, offset);
        size_t now = bytes;
        struct mgds_ptr ptr;
        int rc = mgds_ptr_find(&ptr, at, 1);

        if (rc == 0 && ptr.size > 0 &&
            ptr.size - ((uintptr_t)at - ptr.base) < bytes)
            now = ptr.size - ((uintptr_t)at - ptr.base);
        if (rc == 0)
            rc = copy_flat(transfer, offset, now, packed);
        if (rc < 0)
            return rc;
        offset += (ptrdiff_t)now;
        packed += now;
        bytes -= now;
    }
    return 0;
}

static int copy_rows(struct transfer *transfer, const struct mgds_span *span,
                     size_t packed)
{
    int rc = 0;

    for (size_t row = 0; row < span->rows * span->planes && rc == 0; row++) {
        ptrdiff_t at = mgds_span_row(span, row);

        rc = transfer->inside
                 ? copy_flat(transfer, at, span->width, packed)
                 : copy_anywhere(transfer, at, span->width, packed);
        packed += span->width;
    }
    return rc;
}

/* Whether all of a span lies in one live allocation of CUDA's. */
static bool is_whole(const struct transfer *transfer,
                     const struct mgds_span *span)
{
    struct mgds_ptr ptr;
    ptrdiff_t from, to;

    if (transfer->inside)
        return true;
    mgds_span_range(span, &from, &to);
    return mgds_ptr_find(&ptr, mgds_offset_from(transfer->bounce->user, from),
                         (size_t)(to - from)) == 0 &&
           ptr.kind != MGDS_PTR_HOST;
}

static int copy_span(void *arg, const struct mgds_span *span, size_t packed)
{
    struct transfer *transfer = (struct transfer *)arg;
    struct mgds_copy shape;

    if (!is_copyable(span) || !is_whole(transfer, span))
        return copy_rows(transfer, span, packed);
    shape = shape_of(transfer, span, packed);
    return copy_shape(transfer, &shape);
}

static const char *why_split(const struct mgds_bounce *bounce)
{
    if (!bounce->queue->kernel)
        return "the kernel for that could not be loaded, MPIX_GDS_LOG_LEVEL="
               "info says why";
    if (bounce->piece && !bounce->piece->pinned)
        return "memory to stage it in could not be pinned, "
               "MPIX_GDS_STAGE_POOL allows more";
    return "it lies in several allocations";
}

int mgds_transfer_queue(struct mgds_bounce *bounce, bool up, size_t first,
                        size_t bytes, bool *queued)
{
    struct transfer transfer = {
        .bounce = bounce, .up = up, .inside = mgds_transfer_inside(bounce)};
    int rc;

    if (bounce->way == MGDS_WAY_KERNEL) {
        rc = mgds_pack_launch(bounce, up, first, bytes);
        *queued = rc == 0;
        return rc;
    }
    if (bounce->way == MGDS_WAY_SPLIT) {
        mgds_count(stage_split);
        mgds_warn_once("a buffer of an irregular datatype is copied piece by "
                       "piece, which is slow: %s",
                       why_split(bounce));
    }
    rc = mgds_layout_walk(bounce->layout, first, bytes, copy_span, &transfer);
    *queued = transfer.queued;
    bounce->ticket.upload = transfer.timed ? mgds_clock_ns() : 0;
    return rc;
}
