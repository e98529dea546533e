/*
 * A message by header whose sender can neither leave it to its receiver, who
 * sits in another call, nor copy it, for its context is broken: an error for
 * both, and the receiver never takes the header for data. Two ranks.
 */
#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 300000, TAG = 9 };

static char *buffer;

static void send_broken(void)
{
    MPI_Request request;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(buffer, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    mgds_test_break_context();
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive(void)
{
    MPI_Request request;

    gpu_fill(buffer, BYTES, -1);
    MPI_Irecv(buffer, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* where nobody looks for headers */
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(gpu_holds(buffer, 0, BYTES, -1));
}

int main(int argc, char **argv)
{
    gpu_begin_at(&argc, &argv, MPI_THREAD_SINGLE);
    buffer = gpu_new(BYTES, gpu_rank);
    gpu_meet(buffer, BYTES);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_rank == 0)
        send_broken();
    else
        receive();
    gpu_end("broken");
    return 0;
}
