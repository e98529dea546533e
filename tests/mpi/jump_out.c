/*
 * An error handler that leaves MPI by longjmp, over the frame of a call that
 * was on the long way: later calls are outermost again, and counted.
 */
#include <mpi.h>
#include <setjmp.h>

#include "tests/lib/mpi_check.h"

static jmp_buf back;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    longjmp(back, 1);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    volatile int jumps = 0;
    int rank, data = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    while (jumps < 3) {
        if (setjmp(back)) {
            jumps++;
            continue;
        }
        MPI_Ssend(&data, 1, MPI_INT, 5, 0, MPI_COMM_SELF);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    if (rank == 0)
        puts("jump_out: all well");
    return 0;
}
