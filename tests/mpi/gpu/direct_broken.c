/*
 * A message by header whose sender can neither leave it to its receiver, who
 * sits in another call, nor copy it, for its context is broken: an error for
 * both, and the receiver never takes the header for data. Two ranks. By
 * argument the receive is there before, or comes later, of so many bytes.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

/* No such message is withdrawn early, so that the next ones would be staged. */
enum { TAG = 9, MEET = 300000 };

static char *buffer;
static int bytes;

static void send_broken(void)
{
    MPI_Request request;

    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(buffer, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    mgds_test_break_context();
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive(bool before)
{
    MPI_Request request;

    gpu_fill(buffer, (size_t)bytes, -1);
    if (before)
        MPI_Irecv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* where nobody looks for headers */
    if (!before)
        MPI_Irecv(buffer, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(gpu_holds(buffer, 0, (size_t)bytes, -1));
}

int main(int argc, char **argv)
{
    gpu_begin_at(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(argc == 3);
    bytes = atoi(argv[2]);
    CHECK(bytes <= MEET);
    buffer = gpu_new(MEET, gpu_rank);
    gpu_meet(buffer, MEET);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_rank == 0)
        send_broken();
    else
        receive(strcmp(argv[1], "before") == 0);
    gpu_end("broken");
    return 0;
}
