/* What a user asks of mpix-gds-bench. */
#ifndef MGDS_BENCH_OPTIONS_H
#define MGDS_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/run/options.h"

struct mgds_bench_options {
    bool list;  /* only the names are wanted */
    bool plain; /* start the benchmark without the library */
    /* As of mpix-gds-run; program is the benchmark's name and its options. */
    struct mgds_run_options run;
};

/* Reads argv into options. On bad input writes one line, which names it and
 * the remedy, into message (size bytes) and returns -EINVAL; else 0. */
int mgds_bench_options_parse(struct mgds_bench_options *options, int argc,
                             char **argv, char *message, size_t size);

extern const char mgds_bench_usage[];

#endif
