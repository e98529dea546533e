/* The list of stages: found, sifted, forgotten; see stage.h. */
#include "shim/gds/stage/shell.h"
#include "shim/gds/stage/stage.h"

static struct mgds_lock stages_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct mgds_stage *stages; /* under stages_lock */

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
        mgds_stage_drop(stage, refs);
    }
}

/* What is under way in a context that is gone is over. */
static bool lives(struct mgds_stage *stage)
{
    return mgds_context_lives(stage->ctx) || !mgds_shell_close(stage);
}

static bool trim(struct mgds_stage *stage)
{
    mgds_stage_drop_idle(stage);
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
    rc = mgds_stage_create(&stage, mgds_context_get(ctx));
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
