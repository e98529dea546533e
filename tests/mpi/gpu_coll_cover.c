/* Which cases hold a combination of values that no case before them held. */
#include <stddef.h>

#include "tests/lib/mpi_check.h"
#include "tests/mpi/gpu_coll.h"

enum { VALUES_MAX = 64, STRENGTH_MAX = 3 };

/* By the set of factors, a bit each, and their values. */
static bool covered[1 << COVER_FACTORS][VALUES_MAX * VALUES_MAX * VALUES_MAX];

static bool *place_of(const int *values, unsigned set)
{
    size_t at = 0;

    for (int i = 0; i < COVER_FACTORS; i++) {
        CHECK(values[i] >= 0 && values[i] < VALUES_MAX);
        if (set >> i & 1)
            at = at * VALUES_MAX + (size_t)values[i];
    }
    return &covered[set][at];
}

/* The first set of as many factors from this one on, or 0. */
static unsigned set_from(unsigned set, int strength)
{
    CHECK(strength > 0 && strength <= STRENGTH_MAX);
    while (set >> COVER_FACTORS == 0) {
        if (__builtin_popcount(set) == strength)
            return set;
        set++;
    }
    return 0;
}

bool cover_is_new(const int *values, int strength)
{
    unsigned set = set_from(1, strength);

    while (set && *place_of(values, set))
        set = set_from(set + 1, strength);
    return set != 0;
}

void cover_mark(const int *values, int strength)
{
    unsigned set = set_from(1, strength);

    for (; set; set = set_from(set + 1, strength))
        *place_of(values, set) = true;
}
