/* Ways between streams of different hosts, agreed on by all members of a stream
 * communicator. */
#ifndef MGDS_PMPI_STREAM_FAR_H
#define MGDS_PMPI_STREAM_FAR_H

#include <mpi.h>

struct mgds_scomm_roll;

/* Collective; all members have roll->channels, and the same members. most: the
 * most streams that one has. An MPI error code, or -ENOMEM. */
int mgds_far_share(struct mgds_scomm_roll *roll, MPI_Comm comm, unsigned most);

#endif
