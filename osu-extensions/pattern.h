/*
 * What messages are filled with and checked against: an endless stream of
 * bytes chosen by a seed. A buffer that awaits data holds the complement of
 * what it awaits (poison), so that every byte that did not arrive is wrong.
 * Pure functions on host memory.
 */
#ifndef MGDS_BENCH_PATTERN_H
#define MGDS_BENCH_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#define MGDS_BENCH_DATA UINT64_C(0)
#define MGDS_BENCH_POISON (~UINT64_C(0))

/* Part of a stream: flip is MGDS_BENCH_DATA or MGDS_BENCH_POISON. */
struct mgds_bench_pattern {
    uint64_t seed;
    size_t position;
    uint64_t flip;
};

struct mgds_bench_mismatch {
    size_t offset;
    unsigned char expected;
    unsigned char got;
};

/* Seed of all that one sender sends in one block of laps of one row. */
uint64_t mgds_bench_seed(uint64_t row, uint64_t block, uint64_t sender);

/* Stores size bytes of the stream from its position on. */
void mgds_bench_pattern_fill(struct mgds_bench_pattern pattern, void *at,
                             size_t size);

/* 0 if those bytes are there, else 1 and the first that is not. */
int mgds_bench_pattern_check(struct mgds_bench_pattern pattern, const void *at,
                             size_t size, struct mgds_bench_mismatch *wrong);

#endif
