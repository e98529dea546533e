/* Samples to figures. docs/benchmarks.md gives the formulas. */
#ifndef MGDS_BENCH_STATS_H
#define MGDS_BENCH_STATS_H

#include <stddef.h>

struct mgds_bench_summary {
    double avg;
    double min;
    double p50;
    double p99;
    double max;
};

/* Ascending. */
void mgds_bench_samples_sort(double *samples, size_t count);

/* Nearest rank: the smallest sample with percent % of all at or below it. */
double mgds_bench_samples_percentile(const double *sorted, size_t count,
                                     int percent);

double mgds_bench_samples_mean(const double *samples, size_t count);

#endif
