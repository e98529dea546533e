/* A program that calls the PMPI_ names, as profilers and mpi_f08 do. */
#include <mpi.h>

#include "tests/lib/mpi_check.h"

int main(int argc, char **argv)
{
    int rank, size, got = -1, sum;
    MPI_Request request;

    PMPI_Init(&argc, &argv);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
               &request);
    PMPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    PMPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    PMPI_Finalize();
    if (rank == 0)
        puts("pmpi_callers: all well");
    return 0;
}
