/* MPI datatypes for what the options and a layout describe. */
#ifndef MGDS_BENCH_TYPES_H
#define MGDS_BENCH_TYPES_H

#include <mpi.h>

#include "osu-extensions/layout.h"
#include "osu-extensions/options.h"

/*
 * A message of this layout is `count` of `mpi`. Returns 0, or -ENOMEM;
 * MPI errors are fatal. Undone by fini.
 */
struct mgds_bench_datatype {
    MPI_Datatype mpi;
    int count;
    int derived;
};

int mgds_bench_datatype_init(struct mgds_bench_datatype *datatype,
                             enum mgds_bench_type base,
                             const struct mgds_bench_layout *layout);
void mgds_bench_datatype_fini(struct mgds_bench_datatype *datatype);

#endif
