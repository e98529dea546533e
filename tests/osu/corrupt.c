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

/* Receives posted since the last MPI_Waitall or MPI_Wait. */
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

static void all_arrived(void)
{
    for (int i = 0; i < pending_count; i++)
        arrived(pending[i].at, pending[i].tag);
    pending_count = 0;
}

EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int rc = PMPI_Waitall(count, requests, statuses);

    all_arrived();
    return rc;
}

/* Persistent receives, by their handles: they are posted again and again. */
static struct {
    char *at;
    MPI_Request request;
    int tag;
} standing[PENDING_MAX];
static int standing_count;

EXPORT int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source,
                         int tag, MPI_Comm comm, MPI_Request *request)
{
    int rc = PMPI_Recv_init(buf, count, type, source, tag, comm, request);

    if (standing_count == PENDING_MAX)
        abort();
    standing[standing_count].request = *request;
    standing[standing_count].at = buf;
    standing[standing_count++].tag = tag;
    return rc;
}

EXPORT int MPI_Request_free(MPI_Request *request)
{
    for (int i = 0; i < standing_count; i++) {
        if (standing[i].request == *request)
            standing[i] = standing[--standing_count];
    }
    return PMPI_Request_free(request);
}

static void post(MPI_Request request)
{
    for (int i = 0; i < standing_count; i++) {
        if (standing[i].request != request)
            continue;
        if (pending_count == PENDING_MAX)
            abort();
        pending[pending_count].at = standing[i].at;
        pending[pending_count++].tag = standing[i].tag;
    }
}

EXPORT int MPI_Start(MPI_Request *request)
{
    post(*request);
    return PMPI_Start(request);
}

EXPORT int MPI_Startall(int count, MPI_Request requests[])
{
    for (int i = 0; i < count; i++)
        post(requests[i]);
    return PMPI_Startall(count, requests);
}

EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    int rc = PMPI_Wait(request, status);

    all_arrived();
    return rc;
}

/* Collectives: their tag is -1. What benchmarks agree on by some is neither a
 * sum nor fewer characters than a line has. */
#define COLLECTIVE (-1)
#define LINE 256

EXPORT int MPI_Allreduce(const void *send, void *recv, int count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    int rc = PMPI_Allreduce(send, recv, count, type, op, comm);

    if (op == MPI_SUM)
        arrived(recv, COLLECTIVE);
    return rc;
}

EXPORT int MPI_Bcast(void *at, int count, MPI_Datatype type, int root,
                     MPI_Comm comm)
{
    int rc = PMPI_Bcast(at, count, type, root, comm);

    if (type == MPI_CHAR && count < LINE)
        arrived(at, COLLECTIVE);
    return rc;
}

EXPORT int MPI_Allgather(const void *send, int count, MPI_Datatype type,
                         void *recv, int recv_count, MPI_Datatype recv_type,
                         MPI_Comm comm)
{
    int rc =
        PMPI_Allgather(send, count, type, recv, recv_count, recv_type, comm);

    arrived(recv, COLLECTIVE);
    return rc;
}

EXPORT int MPI_Alltoall(const void *send, int count, MPI_Datatype type,
                        void *recv, int recv_count, MPI_Datatype recv_type,
                        MPI_Comm comm)
{
    int rc =
        PMPI_Alltoall(send, count, type, recv, recv_count, recv_type, comm);

    arrived(recv, COLLECTIVE);
    return rc;
}
