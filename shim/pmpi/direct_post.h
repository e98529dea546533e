/* How a receive of an armed rank is posted: the messages that probes have kept
 * come first (kept.h). */
#ifndef MGDS_PMPI_DIRECT_POST_H
#define MGDS_PMPI_DIRECT_POST_H

#include <mpi.h>

#include "shim/pmpi/side.h"

/* What a receive names. */
struct mgds_direct_match {
    MPI_Comm comm;
    int source, tag;
};

/* Posts a receive below, for a side that is watched: MPI's code. *request:
 * MPI_REQUEST_NULL if a kept message is its message, and needs no receive any
 * more. */
int mgds_direct_post(const struct mgds_side *side,
                     const struct mgds_direct_match *match,
                     MPI_Request *request);

/* The same of one that blocks, to its end; status is filled for mgds_side_up.
 */
int mgds_direct_receive(const struct mgds_side *side,
                        const struct mgds_direct_match *match,
                        MPI_Status *status);

#endif
