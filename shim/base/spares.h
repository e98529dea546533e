/* Records of one size that come and go with every message: kept for the next
 * one. Taken by one thread and given back by another, as such records are, they
 * cost the C library ten times as much.
 *
 * They are taken from `out` and given to `back`, which is brought to `out` as a
 * whole when that is empty: who takes and who gives do not share a line of the
 * cache for each record.
 *
 * Concurrency: any thread; the lock is a SHORT one. In sanitized builds nothing
 * is kept, so that use after the end is found. */
#ifndef MGDS_BASE_SPARES_H
#define MGDS_BASE_SPARES_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/lock.h"

enum { MGDS_SPARES_LINE = 64 };

/* The first word of a record is the next one. */
struct mgds_spares {
    struct mgds_lock lock;
    size_t size;
    void *out;                             /* under lock */
    _Alignas(MGDS_SPARES_LINE) void *back; /* atomic */
    unsigned count; /* of back; atomic, and about right */
};

/* Static ones need no other init. size: of a pointer at least. */
#define MGDS_SPARES_INIT(bytes)                                                \
    {                                                                          \
        .lock = MGDS_LOCK_INIT(MGDS_LOCK_SHORT), .size = (bytes)               \
    }

/* All 0; NULL: there is no memory. */
void *mgds_spares_take(struct mgds_spares *spares);

/* NULL is allowed. */
void mgds_spares_give(struct mgds_spares *spares, void *record);

/* Pop and push are what take and give are made of, for records that keep what
 * is in them, but for their first word, and that are kept in every build. NULL:
 * no spare is there; false: there are enough spares, and the caller still has
 * the record. */
void *mgds_spares_pop(struct mgds_spares *spares);
bool mgds_spares_push(struct mgds_spares *spares, void *record);

/* Gives those that are kept back to the C library. */
void mgds_spares_clear(struct mgds_spares *spares);

#endif
