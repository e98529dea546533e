/* Blocks of memory that belong to one thread at a time; see perthread.h. */
#include "shim/base/perthread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/base/alloc.h"

#define CACHE_LINE 64

struct mgds_perthread_block {
    struct mgds_perthread_block *next;
    atomic_bool taken;
    /* A line of distance to the header and, by the tail of the allocation,
     * to what lies behind: owners write all the time. */
    char gap[CACHE_LINE];
    max_align_t data[];
};

static struct mgds_perthread_block *block_of(void *data)
{
    size_t back = offsetof(struct mgds_perthread_block, data);
    return (struct mgds_perthread_block *)(void *)((char *)data - back);
}

int mgds_perthread_init(struct mgds_perthread *pool, size_t bytes,
                        void (*leave)(void *block))
{
    pool->bytes = bytes;
    atomic_init(&pool->blocks, NULL);
    return -pthread_key_create(&pool->key, leave);
}

void mgds_perthread_fini(struct mgds_perthread *pool)
{
    pthread_key_delete(pool->key);
    struct mgds_perthread_block *block = atomic_load(&pool->blocks);
    atomic_store(&pool->blocks, NULL);
    while (block) {
        struct mgds_perthread_block *next = block->next;
        free(block);
        block = next;
    }
}

/* Acquire pairs with the release in put: the new owner goes on where the old
 * one ended. */
static struct mgds_perthread_block *take_free(struct mgds_perthread *pool)
{
    struct mgds_perthread_block *block =
        atomic_load_explicit(&pool->blocks, memory_order_acquire);
    for (; block; block = block->next) {
        if (!atomic_exchange_explicit(&block->taken, true,
                                      memory_order_acquire))
            return block;
    }
    return NULL;
}

static struct mgds_perthread_block *add_block(struct mgds_perthread *pool)
{
    struct mgds_perthread_block *block =
        (struct mgds_perthread_block *)mgds_calloc(
            1, sizeof(*block) + pool->bytes + CACHE_LINE);
    if (!block)
        return NULL;
    atomic_init(&block->taken, true);
    block->next = atomic_load_explicit(&pool->blocks, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->blocks, &block->next,
                                                  block, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return block;
}

void *mgds_perthread_get(struct mgds_perthread *pool)
{
    void *own = pthread_getspecific(pool->key);
    if (own)
        return own;
    struct mgds_perthread_block *block = take_free(pool);
    if (!block)
        block = add_block(pool);
    if (!block)
        return NULL;
    /* Without it the end of this thread would go unseen. */
    if (pthread_setspecific(pool->key, block->data) != 0) {
        mgds_perthread_put(block->data);
        return NULL;
    }
    return block->data;
}

void mgds_perthread_put(void *block)
{
    atomic_store_explicit(&block_of(block)->taken, false, memory_order_release);
}

void *mgds_perthread_next(struct mgds_perthread *pool, void *block)
{
    struct mgds_perthread_block *next =
        block ? block_of(block)->next
              : atomic_load_explicit(&pool->blocks, memory_order_acquire);
    return next ? next->data : NULL;
}
