/* Records of one size that come and go with every message: kept for the next
 * one. Taken by one thread and given back by another, as such records are, they
 * cost the C library ten times as much.
 *
 * Concurrency: any thread; the lock is a LEAF. In sanitized builds nothing is
 * kept, so that use after the end is found. */
#ifndef MGDS_BASE_SPARES_H
#define MGDS_BASE_SPARES_H

#include <stddef.h>

#include "shim/base/lock.h"

struct mgds_spares {
    struct mgds_lock lock;
    size_t size;
    /* under lock */
    void *first; /* the first word of each is the next one */
    unsigned count;
};

/* Static ones need no other init. size: of a pointer at least. */
#define MGDS_SPARES_INIT(bytes)                                                \
    {                                                                          \
        .lock = MGDS_LOCK_INIT(MGDS_LOCK_LEAF), .size = (bytes)                \
    }

/* All 0; NULL: there is no memory. */
void *mgds_spares_take(struct mgds_spares *spares);

/* NULL is allowed. */
void mgds_spares_give(struct mgds_spares *spares, void *record);

/* Gives those that are kept back to the C library. */
void mgds_spares_clear(struct mgds_spares *spares);

#endif
