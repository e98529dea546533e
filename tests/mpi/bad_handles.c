/*
 * Invalid handles and arguments come back as the MPI error classes they are
 * without us, and the program goes on.
 */
#include <mpi.h>

#include "tests/lib/mpi_check.h"

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int rank, data = 0, flag = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(class_of(MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_NULL)) ==
          MPI_ERR_COMM);
    CHECK(class_of(MPI_Send(&data, 1, MPI_DATATYPE_NULL, 0, 0,
                            MPI_COMM_WORLD)) == MPI_ERR_TYPE);
    CHECK(class_of(MPI_Send(&data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD)) ==
          MPI_ERR_COUNT);
    CHECK(class_of(MPI_Isend(&data, 1, MPI_INT, 999, 0, MPI_COMM_WORLD,
                             &request)) == MPI_ERR_RANK);
    CHECK(class_of(MPI_Recv(&data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD,
                            MPI_STATUS_IGNORE)) == MPI_ERR_TAG);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    request = (MPI_Request)0x12345678;
    CHECK(class_of(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REQUEST);
    CHECK(class_of(MPI_Win_fence(0, MPI_WIN_NULL)) == MPI_ERR_WIN);
    MPI_Finalize();
    if (rank == 0)
        puts("bad_handles: all well");
    return 0;
}
