/* What a figure was measured on. */
#ifndef MGDS_BENCH_MACHINE_H
#define MGDS_BENCH_MACHINE_H

#include <mpi.h>
#include <stdbool.h>

#include "osu-extensions/gpu.h"

struct mgds_bench_machine {
    char host[256]; /* of the calling rank */
    char cpu[128];
    char kernel[256];
    char mpi[MPI_MAX_LIBRARY_VERSION_STRING];
    char gds[32]; /* version of an active mpix-gds; "" if none */
    struct mgds_bench_gpu_facts gpu; /* of the calling rank, if it has one */
    long cores;                      /* online */
    int ranks;
    int nodes; /* that share no memory */
};

/* Collective over comm. What cannot be found out is "unknown" or 0. */
void mgds_bench_machine_init(struct mgds_bench_machine *machine, MPI_Comm comm);

#endif
