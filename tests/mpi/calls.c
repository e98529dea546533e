/*
 * Makes each of six calls N times between two ranks, N being the argument; the
 * counting is done from outside (instructions.py).
 */
#include <mpi.h>

#include "tests/lib/mpi_check.h"

static void one_lap(int peer)
{
    MPI_Request request;
    int in = 0, out = 1, flag = 0;

    MPI_Irecv(&in, 1, MPI_INT, peer, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_INT, peer, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in == 1);
    MPI_Isend(&out, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(&in, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* null: complete at once */
    CHECK(flag);
}

int main(int argc, char **argv)
{
    int rank, laps = argc > 1 ? atoi(argv[1]) : 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int lap = 0; lap < laps; lap++)
        one_lap(1 - rank);
    MPI_Finalize();
    return 0;
}
