/* Blocks of memory that belong to one thread at a time. The owner writes its
 * block without locks; everybody may walk all blocks. A block outlives its
 * thread with its contents, and the next new thread takes it over: memory is
 * bounded by the most threads that lived at once, and what a block counts or
 * records is never lost.
 *
 *   blocks -> [owner 7] -> [free] -> [owner 1] -> NULL     only ever grows */
#ifndef MGDS_BASE_PERTHREAD_H
#define MGDS_BASE_PERTHREAD_H

#include <pthread.h>
#include <stddef.h>

struct mgds_perthread_block;

struct mgds_perthread {
    size_t bytes;
    pthread_key_t key;
    struct mgds_perthread_block *_Atomic blocks;
};

/* Blocks of so many bytes, zero when new. leave(block) is called in a thread
 * that ends: it must drop every pointer the thread kept to the block, then
 * call mgds_perthread_put. -EAGAIN without a free key. */
int mgds_perthread_init(struct mgds_perthread *pool, size_t bytes,
                        void (*leave)(void *block));

/* Frees all blocks. No other thread may still own one. */
void mgds_perthread_fini(struct mgds_perthread *pool);

/* The block of the calling thread, which gets one if it has none; NULL
 * without memory. No two blocks share a cache line. */
void *mgds_perthread_get(struct mgds_perthread *pool);

/* The calling thread gives its block up to whoever comes next. */
void mgds_perthread_put(void *block);

/* Walks all blocks, owned or not: NULL starts, NULL ends. The owners may be
 * writing. */
void *mgds_perthread_next(struct mgds_perthread *pool, void *block);

#endif
