/*
 * GPU memory in the sessions model alone: several sends are under way at once,
 * long enough for one to be copied while others are. There is no MPI_COMM_SELF.
 */
#include "tests/mpi/gpu/gpu_case.h"

enum { WINDOW = 8, BYTES = 256 << 10 };

static MPI_Comm comm_of(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;

    CHECK(!MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK(!MPI_Comm_create_from_group(group, "gpu", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &comm));
    MPI_Group_free(&group);
    return comm;
}

static void start(MPI_Comm comm, char *at, int tag, MPI_Request *request)
{
    if (gpu_rank == 0)
        CHECK(!MPI_Isend(at, BYTES, MPI_BYTE, 1, tag, comm, request));
    else
        CHECK(!MPI_Irecv(at, BYTES, MPI_BYTE, 0, tag, comm, request));
}

static void talk(MPI_Comm comm)
{
    MPI_Request request[WINDOW];
    char *at[WINDOW];

    for (int i = 0; i < WINDOW; i++)
        at[i] = gpu_new(BYTES, gpu_rank == 0 ? i : -1);
    for (int i = 0; i < WINDOW; i++)
        start(comm, at[i], i, &request[i]);
    CHECK(!MPI_Waitall(WINDOW, request, gpu_ignored()));
    for (int i = 0; i < WINDOW; i++) {
        CHECK(gpu_holds(at[i], 0, BYTES, i));
        gpu_delete(at[i]);
    }
}

int main(void)
{
    MPI_Session session;
    char why[256];
    MPI_Comm comm;

    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    comm = comm_of(session);
    MPI_Comm_rank(comm, &gpu_rank);
    if (mgds_test_gpu_open(gpu_rank, why) < 0) {
        printf("skipped: %s\n", why);
        return 77;
    }
    talk(comm);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (gpu_rank == 0)
        puts("sessions: all well");
    return 0;
}
