/*
 * Calls of point-to-point communication that a body of ours makes, as the
 * program would: with their own bodies, so from GPU to GPU where that can be.
 * On a communicator of ours, whose error handler returns. Only in own bodies.
 */
#ifndef MGDS_PMPI_INNER_H
#define MGDS_PMPI_INNER_H

#include <mpi.h>

/* What is sent, or received into. */
struct mgds_inner_buffer {
    void *addr;
    MPI_Count count;
    MPI_Datatype type;
};

/* MPI's codes. */
int mgds_inner_isend(const struct mgds_inner_buffer *buffer, int dest, int tag,
                     MPI_Comm comm, MPI_Request *request);
int mgds_inner_irecv(const struct mgds_inner_buffer *buffer, int source,
                     int tag, MPI_Comm comm, MPI_Request *request);

/* Until all are over; the code of the first that failed. */
int mgds_inner_waitall(int count, MPI_Request *requests, MPI_Status *statuses);

/* Lets go of what was begun and may never end: its buffer may be used for as
 * long as the process lives. */
void mgds_inner_abandon(int count, MPI_Request *requests);

#endif
