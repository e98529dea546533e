/* Stages: made, found, forgotten; see stage.h. */
#include "shim/gds/stage/stage.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/stage/pack.h"
#include "shim/gds/stage/shell.h"

static struct mgds_lock stages_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct mgds_stage *stages; /* under stages_lock */

struct mgds_stage *mgds_stage_get(struct mgds_stage *stage)
{
    __atomic_fetch_add(&stage->refs, 1, __ATOMIC_RELAXED);
    return stage;
}

static void destroy(struct mgds_stage *stage)
{
    mgds_shell_forget(stage);
    mgds_pack_unload(stage->kernel, stage->ctx);
    mgds_pool_destroy(stage->pool);
    mgds_clock_fini(&stage->clock);
    mgds_lock_fini(&stage->lock);
    mgds_context_put(stage->ctx);
    free(stage);
}

static void drop(struct mgds_stage *stage, unsigned refs)
{
    if (__atomic_sub_fetch(&stage->refs, refs, __ATOMIC_ACQ_REL) == 0)
        destroy(stage);
}

void mgds_stage_put(struct mgds_stage *stage)
{
    drop(stage, 1);
}

/* Takes over the reference to ctx, if it succeeds. */
static int create(struct mgds_stage **out, struct mgds_context *ctx)
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

static struct mgds_stage *find_locked(const struct mgds_context *ctx)
{
    struct mgds_stage *stage = stages;

    while (stage && stage->ctx != ctx)
        stage = stage->next;
    return stage ? mgds_stage_get(stage) : NULL;
}

static struct mgds_stage *find(const struct mgds_context *ctx)
{
    struct mgds_stage *stage;

    mgds_lock_acquire(&stages_lock);
    stage = find_locked(ctx);
    mgds_lock_release(&stages_lock);
    return stage;
}

/* The stage at that place of the list, with a reference, or NULL. */
static struct mgds_stage *find_at(size_t place)
{
    struct mgds_stage *stage;

    mgds_lock_acquire(&stages_lock);
    stage = stages;
    while (stage && place-- > 0)
        stage = stage->next;
    if (stage)
        mgds_stage_get(stage);
    mgds_lock_release(&stages_lock);
    return stage;
}

/* Takes the stage out, unless another thread did: true, and the list's
 * reference is the caller's. */
static bool leave(const struct mgds_stage *stage)
{
    struct mgds_stage **at = &stages;
    bool found;

    mgds_lock_acquire(&stages_lock);
    while (*at && *at != stage)
        at = &(*at)->next;
    found = *at != NULL;
    if (found)
        *at = stage->next;
    mgds_lock_release(&stages_lock);
    return found;
}

/* Puts the stage in, unless another thread was faster; the one that is in. */
static struct mgds_stage *insert(struct mgds_stage *stage)
{
    struct mgds_stage *found;

    mgds_lock_acquire(&stages_lock);
    found = find_locked(stage->ctx);
    if (!found) {
        found = mgds_stage_get(stage);
        stage->next = stages;
        stages = stage;
    }
    mgds_lock_release(&stages_lock);
    if (found != stage)
        mgds_stage_put(stage);
    return found;
}

/* Calls check with each stage, without the lock; those for which it is false
 * leave. One that is put in meanwhile may be missed, or another met twice. */
static void sift(bool (*check)(struct mgds_stage *stage))
{
    struct mgds_stage *stage;
    size_t place = 0;

    while ((stage = find_at(place)) != NULL) {
        unsigned refs = 1;

        if (check(stage))
            place++;
        else
            refs += leave(stage);
        drop(stage, refs);
    }
}

/* What is under way in a context that is gone is over. */
static bool lives(struct mgds_stage *stage)
{
    return mgds_context_lives(stage->ctx) || !mgds_shell_close(stage);
}

static bool trim(struct mgds_stage *stage)
{
    mgds_shell_forget(stage);
    mgds_pool_trim(stage->pool);
    return true;
}

/* What is still under way needs its stage: the next fini takes it up. */
static bool forget(struct mgds_stage *stage)
{
    return !mgds_shell_close(stage);
}

int mgds_stage_of_context(struct mgds_stage **out, struct mgds_context *ctx)
{
    struct mgds_stage *stage = find(ctx);
    int rc;

    if (stage) {
        *out = stage;
        return 0;
    }
    sift(lives);
    rc = create(&stage, mgds_context_get(ctx));
    if (rc < 0) {
        mgds_context_put(ctx);
        return rc;
    }
    *out = insert(stage);
    return 0;
}

int mgds_stage_of(struct mgds_stage **out, const struct mgds_ptr *ptr)
{
    struct mgds_context *ctx;
    int rc = mgds_context_of_ptr(&ctx, ptr);

    if (rc < 0)
        return rc;
    rc = mgds_stage_of_context(out, ctx);
    mgds_context_put(ctx);
    return rc;
}

void mgds_stage_trim(void)
{
    mgds_pools_relieve();
    sift(trim);
}

void mgds_stage_fini(void)
{
    sift(forget);
}
