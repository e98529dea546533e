/* Decimal numbers in text: digits only, no sign, no space, no overflow. */
#ifndef MGDS_BENCH_NUMBER_H
#define MGDS_BENCH_NUMBER_H

#include <stddef.h>

/*
 * Reads digits at *text and moves it behind them. Returns 0, or -EINVAL
 * (nothing there, or more than size_t holds) with *text and *out untouched.
 */
int mgds_bench_number_take(const char **text, size_t *out);

/* The whole text is one number from low to high; else -EINVAL. */
int mgds_bench_number_parse(const char *text, size_t low, size_t high,
                            size_t *out);

#endif
