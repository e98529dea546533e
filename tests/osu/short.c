/*
 * Preloaded by tests: one message is sent 8 bytes too short, as a program, or a
 * library, with a wrong count would. SHORT_MESSAGE counts the sends of a
 * process with the tag SHORT_TAG, from 0; SHORT_RANK is the process.
 */
#include <mpi.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define CUT 8

static long sent;

static long number(const char *name)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : -1;
}

static int shortened(int count, int tag)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (tag != number("SHORT_TAG") || rank != number("SHORT_RANK") ||
        sent++ != number("SHORT_MESSAGE"))
        return count;
    return count - CUT;
}

int PMPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype type, int dest,
                        int tag, MPI_Comm comm, MPI_Request *request);
EXPORT int MPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype type,
                              int dest, int tag, MPI_Comm comm,
                              MPI_Request *request);

EXPORT int MPIX_Isend_enqueue(const void *buf, int count, MPI_Datatype type,
                              int dest, int tag, MPI_Comm comm,
                              MPI_Request *request)
{
    return PMPIX_Isend_enqueue(buf, shortened(count, tag), type, dest, tag,
                               comm, request);
}

EXPORT int MPI_Isend(const void *buf, int count, MPI_Datatype type, int dest,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Isend(buf, shortened(count, tag), type, dest, tag, comm,
                      request);
}
