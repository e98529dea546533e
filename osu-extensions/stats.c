/* Order and means of samples. */
#include "osu-extensions/stats.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

void mgds_bench_samples_sort(double *samples, size_t count)
{
    qsort(samples, count, sizeof(*samples), compare);
}

double mgds_bench_samples_percentile(const double *sorted, size_t count,
                                     int percent)
{
    size_t rank = (count * (size_t)percent + 99) / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

double mgds_bench_samples_mean(const double *samples, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += samples[i];
    return sum / (double)count;
}
