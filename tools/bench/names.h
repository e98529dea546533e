/* What benchmarks there are, and how users call them. */
#ifndef MGDS_BENCH_NAMES_H
#define MGDS_BENCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct mgds_bench_name {
    const char *file; /* in the folder of benchmarks */
    const char *ranks;
    const char *what;
    bool links; /* the library: not without it */
};

/* Ends with a row without a file. */
extern const struct mgds_bench_name mgds_bench_names[];

/* The benchmark of this name, with or without "osu_" ahead of it; null if there
 * is none. */
const struct mgds_bench_name *mgds_bench_find(const char *name);

/* Writes the names of all benchmarks, with commas between, into text (size
 * bytes). */
void mgds_bench_list(char *text, size_t size);

#endif
