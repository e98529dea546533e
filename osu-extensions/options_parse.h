/* What the files that take options share; options.c has the table. */
#ifndef MGDS_BENCH_OPTIONS_PARSE_H
#define MGDS_BENCH_OPTIONS_PARSE_H

#include "osu-extensions/options.h"

/* A command line being read into `out`. */
struct mgds_bench_parse {
    const struct mgds_bench_spec *spec;
    struct mgds_bench_options *out;
    char *why; /* 256 bytes */
    bool window_given;
};

/* Writes the line to why; returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int
mgds_bench_parse_refuse(struct mgds_bench_parse *p, const char *format, ...);

/* Options of the programs that enqueue; 0, or -EINVAL with a line. */
int mgds_bench_take_sync(struct mgds_bench_parse *p, const char *value);
int mgds_bench_take_trigger(struct mgds_bench_parse *p, const char *value);
int mgds_bench_take_rivals(struct mgds_bench_parse *p, const char *value);
int mgds_bench_take_rounds(struct mgds_bench_parse *p, const char *value);
int mgds_bench_take_nccl(struct mgds_bench_parse *p, const char *value);
int mgds_bench_take_nvshmem(struct mgds_bench_parse *p, const char *value);

/* After all options: which of them exclude each other, and what the number
 * of rounds is if none was given. 0, or -EINVAL with a line. */
int mgds_bench_rivals_settle(struct mgds_bench_parse *p);

#endif
