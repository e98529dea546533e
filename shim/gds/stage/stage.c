/* Stages: made, counted, ended; see stage.h. */
#include "shim/gds/stage/stage.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/stage/pack.h"
#include "shim/gds/stage/shell.h"

struct mgds_stage *mgds_stage_get(struct mgds_stage *stage)
{
    __atomic_fetch_add(&stage->refs, 1, __ATOMIC_RELAXED);
    return stage;
}

void mgds_stage_drop_idle(struct mgds_stage *stage)
{
    struct mgds_bounce *shell;

    mgds_lock_acquire(&stage->lock);
    shell = stage->idle;
    stage->idle = NULL;
    mgds_lock_release(&stage->lock);
    while (shell) {
        struct mgds_bounce *next = shell->next;

        free(shell);
        shell = next;
    }
}

static void destroy(struct mgds_stage *stage)
{
    mgds_stage_drop_idle(stage);
    mgds_pack_unload(stage->kernel, stage->ctx);
    mgds_pool_destroy(stage->pool);
    mgds_clock_fini(&stage->clock);
    mgds_lock_fini(&stage->lock);
    mgds_context_put(stage->ctx);
    free(stage);
}

void mgds_stage_drop(struct mgds_stage *stage, unsigned refs)
{
    if (__atomic_sub_fetch(&stage->refs, refs, __ATOMIC_ACQ_REL) == 0)
        destroy(stage);
}

void mgds_stage_put(struct mgds_stage *stage)
{
    mgds_stage_drop(stage, 1);
}

int mgds_stage_create(struct mgds_stage **out, struct mgds_context *ctx)
{
    struct mgds_stage *stage =
        (struct mgds_stage *)mgds_calloc(1, sizeof(*stage));
    int rc;

    if (!stage)
        return -ENOMEM;
    rc = mgds_lock_init(&stage->lock, MGDS_LOCK_LEAF);
    if (rc < 0)
        goto free_stage;
    rc = mgds_stream_own(&stage->stream, ctx);
    if (rc < 0)
        goto fini_lock;
    rc = mgds_clock_init(&stage->clock, ctx, stage->stream);
    if (rc < 0)
        goto fini_lock;
    rc = mgds_pool_create(&stage->pool, ctx, mgds_ctx()->config.stage_pool);
    if (rc < 0)
        goto fini_clock;
    stage->ctx = ctx;
    stage->refs = 1;
    mgds_pack_load(&stage->kernel, ctx, stage->stream);
    *out = stage;
    return 0;
fini_clock:
    mgds_clock_fini(&stage->clock);
fini_lock:
    mgds_lock_fini(&stage->lock);
free_stage:
    free(stage);
    return rc;
}
