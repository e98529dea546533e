/* The list of copy queues: found, sifted, forgotten; see copyqueue.h. */
#include "shim/gds/mem/copyqueue.h"

static struct mgds_lock list_lock = MGDS_LOCK_INIT(MGDS_LOCK_REGISTRY);
static struct mgds_copyqueue *list; /* under list_lock */

/* Of the context that memory belongs to, if it says which: of imported memory
 * that is not the one to copy in. */
static struct mgds_copyqueue *find_by_ptr(const struct mgds_ptr *ptr)
{
    struct mgds_copyqueue *queue;

    if (!ptr->ctx || ptr->kind == MGDS_PTR_IMPORTED)
        return NULL;
    mgds_lock_acquire(&list_lock);
    queue = list;
    while (queue && !mgds_context_is_of_ptr(queue->ctx, ptr))
        queue = queue->next;
    if (queue)
        mgds_copyqueue_get(queue);
    mgds_lock_release(&list_lock);
    return queue;
}

static struct mgds_copyqueue *find_locked(const struct mgds_context *ctx)
{
    struct mgds_copyqueue *queue = list;

    while (queue && queue->ctx != ctx)
        queue = queue->next;
    return queue ? mgds_copyqueue_get(queue) : NULL;
}

static struct mgds_copyqueue *find_queue(const struct mgds_context *ctx)
{
    struct mgds_copyqueue *queue;

    mgds_lock_acquire(&list_lock);
    queue = find_locked(ctx);
    mgds_lock_release(&list_lock);
    return queue;
}

/* The queue at that place of the list, with a reference, or NULL. */
static struct mgds_copyqueue *queue_at(size_t place)
{
    struct mgds_copyqueue *queue;

    mgds_lock_acquire(&list_lock);
    queue = list;
    while (queue && place-- > 0)
        queue = queue->next;
    if (queue)
        mgds_copyqueue_get(queue);
    mgds_lock_release(&list_lock);
    return queue;
}

/* Takes the queue out, unless another thread did, with the list's reference. */
static void remove_queue(const struct mgds_copyqueue *queue)
{
    struct mgds_copyqueue **at = &list, *found;

    mgds_lock_acquire(&list_lock);
    while (*at && *at != queue)
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    mgds_lock_release(&list_lock);
    if (found)
        mgds_copyqueue_put(found);
}

/* Puts the queue in, unless another thread was faster; the one that is in. */
static struct mgds_copyqueue *insert_queue(struct mgds_copyqueue *queue)
{
    struct mgds_copyqueue *found;

    mgds_lock_acquire(&list_lock);
    found = find_locked(queue->ctx);
    if (!found) {
        found = mgds_copyqueue_get(queue);
        queue->next = list;
        list = queue;
    }
    mgds_lock_release(&list_lock);
    if (found != queue)
        mgds_copyqueue_put(queue);
    return found;
}

/* Calls check with each queue, without the lock; those for which it is false
 * leave. One that is put in meanwhile may be missed, or another met twice. */
static void sift_queues(bool (*check)(struct mgds_copyqueue *queue))
{
    struct mgds_copyqueue *queue;
    size_t place = 0;

    while ((queue = queue_at(place)) != NULL) {
        if (check(queue))
            place++;
        else
            remove_queue(queue);
        mgds_copyqueue_put(queue);
    }
}

/* What is under way in a context that is gone is over. */
static bool context_lives(struct mgds_copyqueue *queue)
{
    return mgds_context_lives(queue->ctx) || !mgds_copyqueue_close(queue);
}

static bool trim_pool(struct mgds_copyqueue *queue)
{
    mgds_pool_trim(queue->pool);
    return true;
}

/* What is still under way needs its queue: the next fini takes it up. */
static bool has_late(struct mgds_copyqueue *queue)
{
    return !mgds_copyqueue_close(queue);
}

int mgds_copyqueue_of_context(struct mgds_copyqueue **out,
                              struct mgds_context *ctx)
{
    struct mgds_copyqueue *queue = find_queue(ctx);
    int rc;

    if (queue) {
        *out = queue;
        return 0;
    }
    sift_queues(context_lives);
    rc = mgds_copyqueue_create(&queue, mgds_context_get(ctx));
    if (rc < 0) {
        mgds_context_put(ctx);
        return rc;
    }
    *out = insert_queue(queue);
    return 0;
}

int mgds_copyqueue_of_ptr(struct mgds_copyqueue **out,
                          const struct mgds_ptr *ptr)
{
    struct mgds_copyqueue *known = find_by_ptr(ptr);
    struct mgds_context *ctx;
    int rc;

    if (known) {
        *out = known;
        return 0;
    }
    rc = mgds_context_of_ptr(&ctx, ptr);
    if (rc < 0)
        return rc;
    rc = mgds_copyqueue_of_context(out, ctx);
    mgds_context_put(ctx);
    return rc;
}

void mgds_copyqueues_trim(void)
{
    mgds_pools_relieve();
    sift_queues(trim_pool);
}

void mgds_copyqueues_fini(void)
{
    sift_queues(has_late);
}
