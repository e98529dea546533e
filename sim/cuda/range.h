/* Address ranges that do not overlap, sorted: what owns an address. Callers
 * lock. */
#ifndef MGDS_SIM_RANGE_H
#define MGDS_SIM_RANGE_H

#include <stddef.h>
#include <stdint.h>

/* [start, start + size), and what is there: the owner's. */
struct mgds_range {
    uintptr_t start;
    size_t size;
    void *value;
};

/* Zeroed it is an empty map; rows are sorted by start. */
struct mgds_range_map {
    struct mgds_range *rows;
    size_t count, capacity;
};

/* The row that covers addr, or NULL. */
struct mgds_range *mgds_range_find(const struct mgds_range_map *map,
                                   uintptr_t addr);

/* Index of the first row that starts at or after addr. */
size_t mgds_range_lower(const struct mgds_range_map *map, uintptr_t addr);

/* True if some row shares a byte with [start, start + size). */
int mgds_range_overlaps(const struct mgds_range_map *map, uintptr_t start,
                        size_t size);

/* Adds a row, which must not overlap another; removes the one that starts there
 * (nothing if none does). Rows move: pointers to them end. */
void mgds_range_add(struct mgds_range_map *map, uintptr_t start, size_t size,
                    void *value);
void mgds_range_remove(struct mgds_range_map *map, uintptr_t start);

#endif
