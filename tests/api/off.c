/*
 * Streams without MPI_Init in its usual form. off: MPIX_GDS_ENABLE=no is set;
 * no call crashes or makes anything, each says MPI_ERR_OTHER, and MPI itself
 * works as ever. session: no MPI_Init, but a session, whose communicators can
 * become stream communicators.
 */
#include <mpi.h>
#include <string.h>

#include "mpix_gds.h"
#include "tests/api/check.h"

static void nothing_is_served(MPI_Comm comm)
{
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    int data = 0;

    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_ERR_OTHER);
    CHECK(stream == MPIX_STREAM_NULL);
    CHECK(MPIX_Stream_comm_create(comm, MPIX_STREAM_NULL, &made) ==
          MPI_ERR_OTHER);
    CHECK(made == MPI_COMM_NULL);
    CHECK(MPIX_Send_enqueue(&data, 1, MPI_INT, 0, 0, comm) == MPI_ERR_OTHER);
    CHECK(MPIX_Recv_enqueue(&data, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE) ==
          MPI_ERR_OTHER);
    CHECK(MPIX_Isend_enqueue(&data, 1, MPI_INT, 0, 0, comm, &request) ==
          MPI_ERR_OTHER);
    CHECK(MPIX_Irecv_enqueue(&data, 1, MPI_INT, 0, 0, comm, &request) ==
          MPI_ERR_OTHER);
    CHECK(request == MPI_REQUEST_NULL);
    CHECK(MPIX_Start_enqueue(&request) == MPI_ERR_OTHER);
    CHECK(MPIX_Startall_enqueue(1, &request) == MPI_ERR_OTHER);
    CHECK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) == MPI_ERR_OTHER);
    CHECK(MPIX_Waitall_enqueue(1, &request, NULL) == MPI_ERR_OTHER);
    CHECK(MPIX_Stream_progress(MPIX_STREAM_NULL) == MPI_ERR_OTHER);
    CHECK(MPIX_Stream_synchronize(MPIX_STREAM_NULL, 0) == MPI_ERR_OTHER);
}

static void mpi_works(MPI_Comm comm)
{
    int rank, size, got = -1;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1,
                       MPI_INT, (rank + size - 1) % size, 0, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == (rank + size - 1) % size);
    if (rank == 0)
        puts("off: all well");
}

static void in_a_session(void)
{
    MPI_Session session;
    MPI_Group group;
    MPIX_Stream stream;
    MPI_Comm comm, made;

    nothing_is_served(MPI_COMM_NULL);
    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    CHECK(!MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK(!MPI_Comm_create_from_group(group, "off", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &comm));
    CHECK(MPIX_Stream_create(MPI_INFO_NULL, &stream) == MPI_SUCCESS);
    CHECK(MPIX_Stream_comm_create(comm, stream, &made) == MPI_SUCCESS);
    mpi_works(made);
    CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    CHECK(!MPI_Session_finalize(&session));
}

static void switched_off(void)
{
    int64_t active = 1;

    MPI_Init(NULL, NULL);
    CHECK(MPIX_Gds_query(MPIX_GDS_ACTIVE, &active) == MPI_SUCCESS);
    CHECK(active == 0);
    nothing_is_served(MPI_COMM_WORLD);
    mpi_works(MPI_COMM_WORLD);
    MPI_Finalize();
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "session") == 0)
        in_a_session();
    else if (argc == 2 && strcmp(argv[1], "off") == 0)
        switched_off();
    else
        return 2;
    return 0;
}
