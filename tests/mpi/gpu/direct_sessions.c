/*
 * A program of both models, of two ranks that are sent headers
 * (MPIX_GDS_DIRECT): what is sent on a communicator of a session before
 * MPI_Finalize, is under way across it, and is sent behind it.
 */
#include <stdbool.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { LONG = 200000, HEADER = 160 };

enum tag {
    LATE, /* is sent before MPI_Finalize, and met behind it */
    PROBED,
    POSTED,
    FREED,
    TAGS
};

static MPI_Session session;
static MPI_Comm comm;
static char *from, *into[TAGS];
static char host[HEADER];

static void open_comm(void)
{
    MPI_Group group;

    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(!MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK(!MPI_Comm_create_from_group(group, "gpu", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &comm));
    MPI_Group_free(&group);
}

/* On MPI_COMM_WORLD ranks show that they can map, and headers are sent. */
static void exchange(MPI_Comm on)
{
    for (int i = 0; i < 4; i++) {
        gpu_fill(into[LATE], LONG, -1);
        CHECK(!MPI_Sendrecv(from, LONG, MPI_BYTE, 1 - gpu_rank, TAGS,
                            into[LATE], LONG, MPI_BYTE, 1 - gpu_rank, TAGS, on,
                            MPI_STATUS_IGNORE));
        CHECK(gpu_holds(into[LATE], 0, LONG, 2 - gpu_rank));
    }
}

static void send_across(void)
{
    MPI_Request requests[TAGS];

    for (int tag = 0; tag < TAGS; tag++) {
        bool probed = tag == PROBED;

        MPI_Isend(probed ? host : from, probed ? HEADER : LONG, MPI_BYTE, 1,
                  tag, comm, &requests[tag]);
    }
    CHECK(!MPI_Request_free(&requests[FREED]));
    CHECK(!MPI_Finalize());
    CHECK(!MPI_Waitall(FREED, requests, gpu_ignored()));
}

static void receive_across(void)
{
    MPI_Request posted;
    MPI_Status status;
    char got[HEADER];

    gpu_fill(into[LATE], LONG, -1);
    MPI_Irecv(into[POSTED], LONG, MPI_BYTE, 0, POSTED, comm, &posted);
    MPI_Probe(0, PROBED, comm, MPI_STATUS_IGNORE);
    CHECK(!MPI_Finalize());
    CHECK(!MPI_Recv(got, HEADER, MPI_BYTE, 0, PROBED, comm, &status));
    CHECK(gpu_bytes(&status) == HEADER && !memcmp(got, host, HEADER));
    CHECK(!MPI_Recv(into[LATE], LONG, MPI_BYTE, 0, LATE, comm, &status));
    CHECK(gpu_bytes(&status) == LONG);
    CHECK(!MPI_Wait(&posted, &status) && gpu_bytes(&status) == LONG);
    CHECK(!MPI_Recv(into[FREED], LONG, MPI_BYTE, 0, FREED, comm, &status));
    for (int tag = 0; tag < TAGS; tag++)
        CHECK(tag == PROBED || gpu_holds(into[tag], 0, LONG, 1));
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    CHECK(gpu_size == 2);
    from = gpu_new(LONG, gpu_rank + 1);
    for (int tag = 0; tag < TAGS; tag++)
        into[tag] = gpu_new(LONG, -1);
    memset(host, 5, sizeof(host));
    exchange(MPI_COMM_WORLD);
    open_comm();
    exchange(comm);
    exchange(MPI_COMM_WORLD);
    if (gpu_rank == 0)
        send_across();
    else
        receive_across();
    exchange(comm);
    MPI_Comm_free(&comm);
    CHECK(!MPI_Session_finalize(&session));
    for (int tag = 0; tag < TAGS; tag++)
        gpu_delete(into[tag]);
    gpu_delete(from);
    if (gpu_rank == 0)
        puts("sessions: all well");
    return 0;
}
