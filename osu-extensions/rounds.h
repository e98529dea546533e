/* A row of the output: every way in turn, in rounds. */
#ifndef MGDS_BENCH_ROUNDS_H
#define MGDS_BENCH_ROUNDS_H

#include "osu-extensions/row.h"

/*
 * As mgds_bench_row_measure, of all tracks of end, round by round; who is
 * first changes with the round. The row is that of the round in the middle, by
 * its average; row->rivals has theirs, row->rounds the average of each.
 */
int mgds_bench_rounds_measure(struct mgds_bench_row *row,
                              struct mgds_bench_end *end,
                              const struct mgds_bench_options *options,
                              const struct mgds_bench_plan *plan, int number);

/* The row's average by that of rival k (track k + 1); 0: not measured. */
double mgds_bench_rounds_ratio(const struct mgds_bench_row *row, int rival);

#endif
