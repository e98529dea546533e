/*
 * Preloaded by tests: damages one received message, as a broken transport
 * would. CORRUPT_MESSAGE counts the messages a process receives with the tag
 * CORRUPT_TAG, from 0; CORRUPT_OFFSET is the byte of it that is inverted (it
 * may lie behind the message); CORRUPT_RANK is the process.
 */
#include <mpi.h>
#include <stdlib.h>

#define PENDING_MAX 1024
#define EXPORT __attribute__((visibility("default")))

static long received;

/* Receives posted since the last MPI_Waitall. */
static struct {
    char *at;
    int tag;
} pending[PENDING_MAX];
static int pending_count;

static long number(const char *name)
{
    const char *text = getenv(name);

    return text ? strtol(text, NULL, 10) : 0;
}

static void arrived(char *at, int tag)
{
    int rank;

    if (tag != number("CORRUPT_TAG"))
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (received++ == number("CORRUPT_MESSAGE") &&
        rank == number("CORRUPT_RANK"))
        at[number("CORRUPT_OFFSET")] ^= 0x10;
}

EXPORT int MPI_Recv(void *buf, int count, MPI_Datatype type, int source,
                    int tag, MPI_Comm comm, MPI_Status *status)
{
    int rc = PMPI_Recv(buf, count, type, source, tag, comm, status);

    arrived(buf, tag);
    return rc;
}

EXPORT int MPI_Irecv(void *buf, int count, MPI_Datatype type, int source,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    if (pending_count == PENDING_MAX)
        abort();
    pending[pending_count].at = buf;
    pending[pending_count++].tag = tag;
    return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}

EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int rc = PMPI_Waitall(count, requests, statuses);

    for (int i = 0; i < pending_count; i++)
        arrived(pending[i].at, pending[i].tag);
    pending_count = 0;
    return rc;
}
