/* Kept records; see spares.h. */
#include "shim/base/spares.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"

enum { MOST = 4096 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEPS false
#endif
#endif
#ifndef KEEPS
#define KEEPS true
#endif

static void *next_of(void *record)
{
    return *(void **)record;
}

/* All that was given back, at once: so nothing that another thread looks at
 * while it gives comes back in between. */
static void *take_back(struct mgds_spares *spares)
{
    if (!__atomic_load_n(&spares->back, __ATOMIC_RELAXED))
        return NULL;
    __atomic_store_n(&spares->count, 0, __ATOMIC_RELAXED);
    return __atomic_exchange_n(&spares->back, NULL, __ATOMIC_ACQUIRE);
}

void *mgds_spares_pop(struct mgds_spares *spares)
{
    void *record;

    mgds_lock_acquire(&spares->lock);
    if (!spares->out)
        spares->out = take_back(spares);
    record = spares->out;
    if (record)
        spares->out = next_of(record);
    mgds_lock_release(&spares->lock);
    return record;
}

bool mgds_spares_push(struct mgds_spares *spares, void *record)
{
    void **next = (void **)record;

    if (__atomic_load_n(&spares->count, __ATOMIC_RELAXED) >= MOST)
        return false;
    *next = __atomic_load_n(&spares->back, __ATOMIC_RELAXED);
    /* release: the next one, before anybody finds the record */
    while (!__atomic_compare_exchange_n(&spares->back, next, record, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    __atomic_fetch_add(&spares->count, 1, __ATOMIC_RELAXED);
    return true;
}

void *mgds_spares_take(struct mgds_spares *spares)
{
    void *record;

    if (MGDS_FAULT_POINT(alloc))
        return NULL;
    record = KEEPS ? mgds_spares_pop(spares) : NULL;
    if (!record)
        return calloc(1, spares->size);
    return memset(record, 0, spares->size);
}

void mgds_spares_give(struct mgds_spares *spares, void *record)
{
    if (record && !(KEEPS && mgds_spares_push(spares, record)))
        free(record);
}

void mgds_spares_clear(struct mgds_spares *spares)
{
    void *record;

    while ((record = mgds_spares_pop(spares)) != NULL)
        free(record);
}
