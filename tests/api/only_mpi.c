/* As MPICH's own programs are written: <mpi.h> and nothing else of MPI. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPIX_Stream stream;
    MPI_Comm comm;
    int rank, size, token = 0;

    MPI_Init(&argc, &argv);
    MPIX_Stream_create(MPI_INFO_NULL, &stream);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &token, 1, MPI_INT,
                 (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
    if (token != (rank + size - 1) % size)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_free(&comm);
    MPIX_Stream_free(&stream);
    MPI_Finalize();
    if (rank == 0)
        printf("only_mpi: all well\n");
    return 0;
}
