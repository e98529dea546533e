/* Output as OSU Micro-Benchmarks 7.4 prints it, for scripts that read it. */
#ifndef MGDS_BENCH_TEXT_H
#define MGDS_BENCH_TEXT_H

#include <stdio.h>

#include "osu-extensions/row.h"

struct mgds_bench_text {
    FILE *out;
    const struct mgds_bench_spec *spec;
    const struct mgds_bench_options *options;
    const struct mgds_bench_end *end; /* its tracks; NULL: none are known */
    int pairs;
};

/* The header line, without its newline: title, style, version. */
void mgds_bench_text_title(const struct mgds_bench_text *text);

/* Lines ahead of all rows, and of the rows of one datatype. */
void mgds_bench_text_header(const struct mgds_bench_text *text);
void mgds_bench_text_columns(const struct mgds_bench_text *text,
                             enum mgds_bench_type type);

void mgds_bench_text_row(const struct mgds_bench_text *text,
                         const struct mgds_bench_row *row);

/* With -V: a line is one size, a cell one window. */
void mgds_bench_text_windows(const struct mgds_bench_text *text,
                             const int *windows, int count);
void mgds_bench_text_line(const struct mgds_bench_text *text, size_t size);
void mgds_bench_text_cell(const struct mgds_bench_text *text, double value);
void mgds_bench_text_line_end(const struct mgds_bench_text *text);
void mgds_bench_text_profile(const struct mgds_bench_text *text,
                             const int *windows, int count);

#endif
