/* What a run of a program has come to, and the set of all that its orders come
 * to: two searches that run orders of which none differs in what matters have
 * the same. */
#ifndef MGDS_TEST_OUTCOME_H
#define MGDS_TEST_OUTCOME_H

#include <stddef.h>
#include <stdint.h>

#include "tests/engine/world.h"

/* Of a world that is as world_check wants it, not closed yet: which steps
 * operations and each queue have made and what was posted, in which order, how
 * operations ended, what was counted and copied; and of the events that have
 * led there, in whatever order. Equal numbers: the same. */
uint64_t outcome_of(const struct world *world, uint64_t made);
uint64_t outcome_mix(uint64_t hash, uint64_t value);

struct outcomes {
    uint64_t *slot; /* 0: free */
    size_t size, count;
};

void outcomes_add(struct outcomes *set, uint64_t outcome);
/* How many of a are not in b. */
size_t outcomes_missing(const struct outcomes *a, const struct outcomes *b);
void outcomes_free(struct outcomes *set);

#endif
