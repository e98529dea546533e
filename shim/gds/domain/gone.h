/*
 * Random numbers that named something which is gone: what still comes for it is
 * for nobody. A set that only grows, 16 bytes for each, so what is remembered
 * there must be few.
 *
 * Pure, of one owner's lock.
 */
#ifndef MGDS_DOMAIN_GONE_H
#define MGDS_DOMAIN_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash by the numbers' own bits, half of it empty, 0 where it is. All 0:
 * empty. */
struct mgds_gone {
    uint64_t *id;
    size_t count, room;
};

/* id: not 0. Without memory it is not remembered. */
void mgds_gone_add(struct mgds_gone *gone, uint64_t id);
bool mgds_gone_has(const struct mgds_gone *gone, uint64_t id);

/* Empty again. */
void mgds_gone_fini(struct mgds_gone *gone);

#endif
