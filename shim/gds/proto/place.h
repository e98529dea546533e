/*
 * Who has which place in a ring: the sender's book. Places are
 * given out one behind the other, from the beginning again when the end is too
 * near, and come back in any order; room is made again in the order in which
 * they went. Each has a serial, one more than the last.
 *
 * Pure, of one owner's lock. Counts in units. Costs O(1) a call; memory for
 * the places that are out.
 */
#ifndef MGDS_PROTO_PLACE_H
#define MGDS_PROTO_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_places {
    uint32_t units;    /* of the ring */
    uint32_t end;      /* behind the place that went last */
    uint64_t next;     /* serial */
    uint64_t oldest;   /* serial of the first that has not made room */
    uint32_t capacity; /* of out, a power of two */
    struct mgds_place {
        uint32_t at;
        bool back;
    } * out; /* by serial, modulo capacity */
};

/* first: the first serial, not 0, and so far below 2^64 that none wraps.
 * -ENOMEM
 */
int mgds_places_init(struct mgds_places *places, uint32_t units,
                     uint64_t first);
void mgds_places_fini(struct mgds_places *places);

/* A place of so many units, at least one: where, and its serial. -ENOSPC: there
 * is no room (yet). -ENOMEM. */
int mgds_places_take(struct mgds_places *places, uint32_t units, uint32_t *at,
                     uint64_t *serial);

/* It is back. -EINVAL: it was not out, and nothing has changed. */
int mgds_places_give(struct mgds_places *places, uint64_t serial);

/* How many are out. */
uint64_t mgds_places_out(const struct mgds_places *places);

#endif
