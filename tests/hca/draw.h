/* Random numbers of a seed. */
#ifndef MGDS_TESTS_HCA_DRAW_H
#define MGDS_TESTS_HCA_DRAW_H

#include <stdint.h>

/* xorshift64*: never 0 as a state. */
static inline uint32_t draw(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

static inline uint32_t draw_below(uint64_t *state, uint32_t limit)
{
    return draw(state) % limit;
}

#endif
