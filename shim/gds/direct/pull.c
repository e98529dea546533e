/* Copies out of other processes' memory; see pull.h. */
#include "shim/gds/direct/pull.h"

#include <errno.h>
#include <stdbool.h>

#include "shim/base/alloc.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/mem/copyqueue.h"
#include "shim/gds/mem/import.h"

struct mgds_pull {
    struct mgds_import *import;
    struct mgds_copyqueue *queue; /* a reference */
    struct mgds_copy_ticket ticket;
    bool asked; /* whether it is over */
};

static int queue_copy(struct mgds_pull *pull, const struct mgds_copy *copy)
{
    int rc = mgds_copyqueue_enter(pull->queue);

    if (rc < 0)
        return rc;
    rc = mgds_copy_async(copy, pull->queue->stream);
    mgds_copyqueue_leave(pull->queue, rc == 0 ? &pull->ticket : NULL);
    return rc;
}

static int begin(struct mgds_pull *pull, const struct mgds_header *header,
                 void *dst, size_t bytes)
{
    const char *base = mgds_import_addr(pull->import);
    struct mgds_copy copy = {.dst = dst,
                             .src =
                                 base + (header->address - header->memory.base),
                             .width = bytes,
                             .rows = 1,
                             .planes = 1};
    int rc = queue_copy(pull, &copy);

    if (rc == 0) {
        mgds_count(direct_pulls);
        mgds_stats_add(MGDS_STAT_direct_bytes, bytes);
    }
    return rc;
}

int mgds_pull_create(struct mgds_pull **out, struct mgds_context *ctx,
                     const struct mgds_header *header, void *dst, size_t bytes)
{
    struct mgds_pull *pull = (struct mgds_pull *)mgds_calloc(1, sizeof(*pull));
    int rc;

    if (!pull)
        return -ENOMEM;
    rc = mgds_copyqueue_of_context(&pull->queue, ctx);
    if (rc == 0)
        rc = mgds_import_create(&pull->import, ctx, &header->memory);
    if (rc == 0)
        rc = begin(pull, header, dst, bytes);
    if (rc == 0)
        *out = pull;
    else
        mgds_pull_destroy(pull);
    return rc;
}

/* No copy is over when it has just been queued, and the driver takes a
 * microsecond to say so: others can be begun meanwhile. */
int mgds_pull_poll(struct mgds_pull *pull)
{
    if (!pull->asked) {
        pull->asked = true;
        return 0;
    }
    return mgds_copyqueue_poll(pull->queue, &pull->ticket);
}

void mgds_pull_destroy(struct mgds_pull *pull)
{
    if (!pull)
        return;
    mgds_import_put(pull->import);
    if (pull->queue)
        mgds_copyqueue_put(pull->queue);
    free(pull);
}
