/*
 * A program that opens the MPI library by itself and calls it through
 * addresses from its handle: none of these calls reach us, those of libmpich's
 * own to its PMPI_ symbols do. With --mixed, MPI_Allreduce is looked up in the
 * global scope, where it is ours.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

#include "tests/lib/mpi_check.h"

static void *mpi;

static void *from_handle(const char *symbol)
{
    void *address = dlsym(mpi, symbol);

    CHECK(address);
    return address;
}

typedef int allreduce_fn(const void *, void *, int, MPI_Datatype, MPI_Op,
                         MPI_Comm);

int main(int argc, char **argv)
{
    int rank, size, sum;
    allreduce_fn *allreduce;

    mpi = dlopen("libmpich.so.12", RTLD_NOW | RTLD_LOCAL);
    CHECK(mpi);
    ((int (*)(int *, char ***))from_handle("MPI_Init"))(&argc, &argv);
    ((int (*)(MPI_Comm, int *))from_handle("MPI_Comm_rank"))(MPI_COMM_WORLD,
                                                             &rank);
    ((int (*)(MPI_Comm, int *))from_handle("MPI_Comm_size"))(MPI_COMM_WORLD,
                                                             &size);
    allreduce = (allreduce_fn *)from_handle("MPI_Allreduce");
    if (argc > 1 && !strcmp(argv[1], "--mixed"))
        allreduce = (allreduce_fn *)dlsym(RTLD_DEFAULT, "MPI_Allreduce");
    CHECK(allreduce);
    CHECK(!allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size * (size - 1) / 2);
    ((int (*)(void))from_handle("MPI_Finalize"))();
    if (rank == 0)
        puts("dlopen_handle: all well");
    return 0;
}
