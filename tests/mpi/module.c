/* A plug-in linked with MPICH, as a Python extension module is. */
#include <mpi.h>

#include "tests/lib/mpi_check.h"

int module_main(void);

int module_main(void)
{
    int rank, size, got = -1;

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size);
    MPI_Finalize();
    return rank;
}
