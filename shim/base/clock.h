/* The monotonic clock, in one unit for every part of the library that waits for
 * a while, or looks how long something took. */
#ifndef MGDS_BASE_CLOCK_H
#define MGDS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some time in the past. */
static inline uint64_t mgds_clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
