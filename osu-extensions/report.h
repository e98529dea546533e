/* What benchmarks that send messages between pairs write to the file of
 * --json; schema.json beside this file describes it. */
#ifndef MGDS_BENCH_REPORT_H
#define MGDS_BENCH_REPORT_H

#include "osu-extensions/machine.h"
#include "osu-extensions/row.h"

struct mgds_bench_document; /* document.h */

/* The report says who ran what where. Returns 0 or negative errno, as the next
 * ones. */
int mgds_bench_report_describe(struct mgds_bench_document *document,
                               const struct mgds_bench_spec *spec,
                               const struct mgds_bench_options *options,
                               const struct mgds_bench_machine *machine,
                               int argc, char **argv);
int mgds_bench_report_add(struct mgds_bench_document *document,
                          const struct mgds_bench_end *end,
                          const struct mgds_bench_options *options,
                          const struct mgds_bench_row *row);

/* Who is measured beside MPI, or why not. */
int mgds_bench_report_rivals(struct mgds_bench_document *document,
                             const struct mgds_bench_end *end);

#endif
