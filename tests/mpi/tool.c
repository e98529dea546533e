/*
 * Another PMPI tool, the classic way: it wraps some MPI_ functions, counts,
 * and calls PMPI_. Says what it saw at MPI_Finalize.
 */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, allreduces;

int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    sends++;
    return PMPI_Isend(buf, count, type, dest, tag, comm, request);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    receives++;
    return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type,
                  MPI_Op op, MPI_Comm comm)
{
    allreduces++;
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Finalize(void)
{
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("tool: %d sends, %d receives, %d allreduces\n", sends, receives,
               allreduces);
    fflush(stdout);
    return PMPI_Finalize();
}
