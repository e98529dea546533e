/*
 * Starts of persistent requests of stream communicators, from the host and in
 * stream order. Handles of other requests are left alone. All errors are codes
 * of MPI's, which were raised.
 */
#ifndef MGDS_PMPI_STREAM_START_H
#define MGDS_PMPI_STREAM_START_H

#include <mpi.h>
#include <stdbool.h>

/* Are some of them such requests? */
bool mgds_stream_start_concerns(const MPI_Request *requests, int count);

/* May they be started, each once? */
int mgds_stream_start_check(const MPI_Request *requests, int count);

/* The others, of which there are as many as it returns. */
int mgds_stream_start_others(MPI_Request *others, const MPI_Request *requests,
                             int count);

/* MPI_Startall of them alone, in the order of the array: checked first; waits
 * until no stream has generations of theirs. */
int mgds_stream_start_all(const MPI_Request *requests, int count);

#endif
