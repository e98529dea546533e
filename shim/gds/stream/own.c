/* Memory of streams, used again; see own.h. */
#include "shim/gds/stream/own.h"

#include "shim/base/lock.h"

static struct mgds_lock owns_lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);

static struct mgds_shared *take_memory(struct mgds_gpu *gpu)
{
    struct mgds_shared *own = NULL;

    mgds_lock_acquire(&owns_lock);
    if (gpu->owns > 0)
        own = gpu->own[--gpu->owns];
    mgds_lock_release(&owns_lock);
    return own;
}

int mgds_own_create(struct mgds_shared **out, struct mgds_gpu *gpu)
{
    struct mgds_shared *own = take_memory(gpu);
    int rc;

    if (!own)
        return mgds_shared_create(out, gpu->ctx, sizeof(struct mgds_own));
    rc = mgds_shared_clear(own);
    if (rc < 0)
        mgds_shared_destroy(own);
    else
        *out = own;
    return rc;
}

void mgds_own_give(struct mgds_shared *own, struct mgds_gpu *gpu)
{
    bool kept;

    mgds_lock_acquire(&owns_lock);
    kept = gpu->owns < MGDS_GPU_OWNS;
    if (kept)
        gpu->own[gpu->owns++] = own;
    mgds_lock_release(&owns_lock);
    if (!kept)
        mgds_shared_destroy(own);
}
