/* What osu_halo_enqueue prints, and the file of its --json, which
 * osu-extensions/halo/schema.json describes. */
#ifndef MGDS_HALO_OUTPUT_H
#define MGDS_HALO_OUTPUT_H

#include "osu-extensions/halo/measure.h"

#define MGDS_HALO_TITLE                                                        \
    "# OSU MPI Enqueued Halo Test v7.4 style, mpix-gds " MGDS_VERSION          \
    " (not OSU's program)"

struct mgds_bench_document; /* document.h */

/* Who runs what where. Collective; document is NULL on all but rank 0. Returns
 * 0 or negative errno, as those below. */
int mgds_halo_report_describe(struct mgds_bench_document *document,
                              const struct mgds_halo_run *run, int argc,
                              char **argv);
int mgds_halo_report_add(struct mgds_bench_document *document,
                         const struct mgds_halo_run *run,
                         const struct mgds_halo_row *row);

/* Writes and frees it. Variants that dropped out meanwhile are named, too. */
int mgds_halo_report_finish(struct mgds_bench_document *document,
                            const struct mgds_halo_run *run);

void mgds_halo_print_header(const struct mgds_halo_run *run);
void mgds_halo_print_row(const struct mgds_halo_run *run,
                         const struct mgds_halo_row *row);

/* A figure by that of NCCL's group; 0: not measured. */
double mgds_halo_by_nccl(const struct mgds_halo_row *row, int variant);
double mgds_halo_call_by_nccl(const struct mgds_halo_row *row, int variant);

#endif
