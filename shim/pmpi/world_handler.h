/*
 * The error handler of MPI_COMM_WORLD, set aside while a body of ours calls
 * what may fail without the program's knowing of it: MPICH 4.0.2 tells it of
 * errors of all requests, whatever communicator they are of, and by default
 * that ends the job. Where several threads may call MPI nothing is set aside,
 * for another may meet an error of its own, or set a handler, meanwhile.
 */
#ifndef MGDS_PMPI_WORLD_HANDLER_H
#define MGDS_PMPI_WORLD_HANDLER_H

#include <mpi.h>

/* What is to be taken up again; MPI_ERRHANDLER_NULL: nothing. While the world
 * is open. */
MPI_Errhandler mgds_world_handler_set_aside(void);
void mgds_world_handler_take_up(MPI_Errhandler handler);

#endif
