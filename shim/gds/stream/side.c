/* Ways aside; see side.h. */
#include "shim/gds/stream/side.h"

#include <stddef.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/gds/cuda/stream.h"

static int init_side(struct mgds_side *side, struct mgds_context *from,
                     struct mgds_context *to)
{
    int rc = mgds_gpu_of(&side->gpu, to);

    if (rc < 0)
        return rc;
    rc = mgds_event_init(&side->out, from);
    if (rc < 0)
        goto put_gpu;
    rc = mgds_event_init(&side->back, to);
    if (rc < 0)
        goto fini_out;
    rc = mgds_stream_create(&side->stream, to);
    if (rc < 0)
        goto fini_back;
    return 0;
fini_back:
    mgds_event_fini(&side->back);
fini_out:
    mgds_event_fini(&side->out);
put_gpu:
    mgds_gpu_put(side->gpu);
    return rc;
}

int mgds_side_create(struct mgds_side **out, struct mgds_context *from,
                     struct mgds_context *to)
{
    struct mgds_side *side = (struct mgds_side *)mgds_calloc(1, sizeof(*side));
    int rc;

    if (!side)
        return -ENOMEM;
    rc = init_side(side, from, to);
    if (rc < 0) {
        free(side);
        return rc;
    }
    *out = side;
    return 0;
}

static void free_side(struct mgds_deferred *item)
{
    struct mgds_side *side =
        MGDS_CONTAINER_OF(item, struct mgds_side, deferred);

    mgds_stream_destroy(side->stream, side->back.ctx);
    mgds_event_fini(&side->back);
    mgds_event_fini(&side->out);
    free(side);
}

void mgds_side_destroy(struct mgds_side *side)
{
    mgds_gpu_put(side->gpu);
    side->deferred.run = free_side;
    mgds_defer(&side->deferred);
}

struct mgds_side *mgds_side_find(struct mgds_side *list,
                                 const struct mgds_context *ctx)
{
    while (list && list->gpu->ctx != ctx)
        list = list->next;
    return list;
}

/* The side's stream goes with its context: it is named inside of that alone. */
int mgds_side_begin(struct mgds_side *side, void *stream)
{
    int rc = mgds_event_record(&side->out, stream);

    if (rc == 0)
        rc = mgds_context_enter(side->gpu->ctx);
    if (rc < 0)
        return rc;
    rc = mgds_event_hold(&side->out, side->stream);
    if (rc < 0)
        mgds_context_leave();
    return rc;
}

int mgds_side_end(struct mgds_side *side, void *stream, int rc)
{
    if (rc == 0)
        rc = mgds_event_record(&side->back, side->stream);
    mgds_context_leave();
    return rc < 0 ? rc : mgds_event_hold(&side->back, stream);
}
