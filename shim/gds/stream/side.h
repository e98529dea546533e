/*
 * A way aside: a stream of ours in another context, which does for a stream of
 * the program's what that one's kernels cannot do, because memory of the other
 * context is out of their reach. Needs no peer access.
 *
 *   program's stream   ..work.. [event]                    [waits] ..work..
 *                                   \                        /
 *   side's stream                   [waits] copies [event] -'
 *
 * Belongs to one stream, for to share it would make streams wait for each
 * other; begin and end in that one's order, under its launch lock. While the
 * owner stands in a wait the side's stream may stand, too, in a hardware queue
 * of its own GPU (hwqueue.h).
 */
#ifndef MGDS_STREAM_SIDE_H
#define MGDS_STREAM_SIDE_H

#include "shim/gds/cuda/defer.h"
#include "shim/gds/cuda/event.h"
#include "shim/gds/stream/gpu.h"

struct mgds_side {
    struct mgds_side *next; /* of its owner's */
    struct mgds_gpu *gpu;   /* of the other context: a reference */
    void *stream;           /* there */
    struct mgds_event out, back;
    struct mgds_deferred deferred;
};

/* For a stream of the context from. Where the library has met the context to,
 * nothing of it waits for a device; else as mgds_gpu_of. -ENOMEM, -ENOTSUP,
 * -ESHUTDOWN. */
int mgds_side_create(struct mgds_side **out, struct mgds_context *from,
                     struct mgds_context *to);

/* The one of that context in a list, or NULL. */
struct mgds_side *mgds_side_find(struct mgds_side *list,
                                 const struct mgds_context *ctx);

/* Any thread, no driver call; work may be under way. */
void mgds_side_destroy(struct mgds_side *side);

/* What is queued on the side's stream from here on comes behind what is queued
 * on the owner's, whose context is current. 0: the side's context is current
 * until end. */
int mgds_side_begin(struct mgds_side *side, void *stream);

/* rc: what came of the work in between. If that is 0, the owner's stream goes
 * on behind it; 0, or the first error. */
int mgds_side_end(struct mgds_side *side, void *stream, int rc);

#endif
