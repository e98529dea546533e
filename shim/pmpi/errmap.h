/* Negative errno to MPI errors: the only place where one becomes the other. */
#ifndef MGDS_PMPI_ERRMAP_H
#define MGDS_PMPI_ERRMAP_H

#include <mpi.h>

/* The MPI error class of a negative errno; MPI_SUCCESS for 0 and more. */
int mgds_mpi_class(int rc);

/*
 * What an own body returns that met rc: MPI_SUCCESS for 0 and more; else says
 * what is wrong in one line (once for each errno), raises the class on the
 * communicator's (window's) error handler, which may not return, and returns
 * the class. No lock may be held, and everything must be given back before.
 */
int mgds_mpi_error(MPI_Comm comm, int rc);
int mgds_mpi_error_win(MPI_Win win, int rc);

/* The same for an MPI error class; says nothing. MPI_SUCCESS raises nothing.
 * MPI_COMM_NULL here and above: it is tied to no communicator (untied.h). */
int mgds_mpi_raise(MPI_Comm comm, int class);

#endif
