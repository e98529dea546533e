/*
 * Does the MPI below take GPU memory itself? Believed only if its own query
 * says yes and a message to ourselves proved it: without a yes it is never
 * tried, for an MPI that knows no GPUs touches the memory and crashes.
 *
 *   MPIX_GDS_STAGE  auto    as above
 *                   always  GPU memory goes through bounce buffers
 *                   never   it is passed on as it is
 */
#ifndef MGDS_PMPI_AWARE_H
#define MGDS_PMPI_AWARE_H

#include <stdbool.h>

#include "shim/gds/cuda/ptr.h"

/* Must this GPU memory be staged? Settled at the first question, by messages
 * from and to memory of our own on the same device. Any thread. */
bool mgds_aware_stages(const struct mgds_ptr *ptr);

/* What the MPI below answers to MPIX_Query_cuda_support and
 * MPIX_GPU_query_support; an MPI error code for the latter. */
bool mgds_aware_cuda_below(void);
int mgds_aware_gpu_below(int kind, int *yes);

/* Will GPU memory in MPI calls work because we stage it (what
 * MPIX_Query_cuda_support asks)? Any thread, at any time. */
bool mgds_aware_can_stage(void);

#endif
