/* Outcomes of runs, as outcome.h says. */
#include "tests/engine/outcome.h"

#include <stdlib.h>

#include "tests/engine/witness.h"

enum { FIRST = 1024 };

uint64_t outcome_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static uint64_t mix_status(uint64_t hash, const struct mgds_op_status *status)
{
    hash = outcome_mix(hash, (uint64_t)status->source);
    hash = outcome_mix(hash, (uint64_t)status->tag);
    hash = outcome_mix(hash, (uint64_t)status->index);
    hash = outcome_mix(hash, status->bytes);
    hash = outcome_mix(hash, (uint64_t)status->error);
    return outcome_mix(hash, status->cancelled);
}

static uint64_t mix_op(uint64_t hash, const struct world_op *op)
{
    hash = mix_status(hash, &op->status);
    hash = outcome_mix(hash, op->told);
    hash = outcome_mix(hash, op->checked);
    hash = outcome_mix(hash, op->wrong);
    return outcome_mix(hash, hand_copies_to(op->memory));
}

static uint64_t mix_counts(uint64_t hash, const struct world *world)
{
    for (unsigned i = 0; i < WORLD_COUNTS; i++)
        hash = outcome_mix(hash, world_count(world, i));
    return hash;
}

uint64_t outcome_of(const struct world *world, uint64_t made)
{
    uint64_t hash = outcome_mix(made, witness_trace());

    for (unsigned i = 0; i < HAND_QUEUES; i++)
        hash = outcome_mix(hash, hand_trace(i));
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        if (world->op[i].started)
            hash = mix_op(hash, &world->op[i]);
    hash = mix_counts(hash, world);
    return hash ? hash : 1;
}

/* Where it is, or belongs. */
static size_t find(const struct outcomes *set, uint64_t outcome)
{
    size_t at = outcome % set->size;

    while (set->slot[at] && set->slot[at] != outcome)
        at = (at + 1) % set->size;
    return at;
}

static void grow(struct outcomes *set)
{
    struct outcomes wider = {.size = set->size ? 2 * set->size : FIRST,
                             .count = set->count};

    wider.slot = (uint64_t *)calloc(wider.size, sizeof(*wider.slot));
    if (!wider.slot)
        abort();
    for (size_t i = 0; i < set->size; i++)
        if (set->slot[i])
            wider.slot[find(&wider, set->slot[i])] = set->slot[i];
    free(set->slot);
    *set = wider;
}

void outcomes_add(struct outcomes *set, uint64_t outcome)
{
    size_t at;

    if (2 * set->count >= set->size)
        grow(set);
    at = find(set, outcome);
    set->count += set->slot[at] == 0;
    set->slot[at] = outcome;
}

size_t outcomes_missing(const struct outcomes *a, const struct outcomes *b)
{
    size_t missing = 0;

    for (size_t i = 0; i < a->size; i++)
        if (a->slot[i])
            missing += b->size == 0 || !b->slot[find(b, a->slot[i])];
    return missing;
}

void outcomes_free(struct outcomes *set)
{
    free(set->slot);
    *set = (struct outcomes){.slot = NULL};
}
