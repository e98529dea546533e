/* Random numbers that follow from a seed, the same on every machine. */
#ifndef MGDS_SIM_HCA_RANDOM_H
#define MGDS_SIM_HCA_RANDOM_H

#include <stdint.h>

/* xorshift64*: the state, a seed at first, is never 0. */
static inline uint32_t mgds_hca_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(0x2545f4914f6cdd1d)) >> 32);
}

#endif
