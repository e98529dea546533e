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

static void *pop(struct mgds_spares *spares)
{
    void *record;

    mgds_lock_acquire(&spares->lock);
    record = spares->first;
    if (record) {
        spares->first = *(void **)record;
        spares->count--;
    }
    mgds_lock_release(&spares->lock);
    return record;
}

void *mgds_spares_take(struct mgds_spares *spares)
{
    void *record;

    if (MGDS_FAULT_POINT(alloc))
        return NULL;
    record = KEEPS ? pop(spares) : NULL;
    if (!record)
        return calloc(1, spares->size);
    return memset(record, 0, spares->size);
}

void mgds_spares_give(struct mgds_spares *spares, void *record)
{
    if (!record)
        return;
    mgds_lock_acquire(&spares->lock);
    if (KEEPS && spares->count < MOST) {
        *(void **)record = spares->first;
        spares->first = record;
        spares->count++;
        record = NULL;
    }
    mgds_lock_release(&spares->lock);
    free(record);
}

void mgds_spares_clear(struct mgds_spares *spares)
{
    void *record;

    while ((record = pop(spares)) != NULL)
        free(record);
}
