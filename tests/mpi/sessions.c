/*
 * The sessions model alone: two sessions that overlap. (MPICH 4.0.2 crashes,
 * without us too, in a session that begins after the last one has ended.)
 */
#include <mpi.h>

#include "tests/lib/mpi_check.h"

static int talk_in(MPI_Session session, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank, size, got = -1;

    CHECK(!MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK(!MPI_Comm_create_from_group(group, name, MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &comm));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(!MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1,
                        MPI_INT, (rank + size - 1) % size, 0, comm,
                        MPI_STATUS_IGNORE));
    CHECK(got == (rank + size - 1) % size);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    return rank;
}

int main(void)
{
    MPI_Session first, second;
    int rank;

    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first));
    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second));
    talk_in(second, "second");
    CHECK(!MPI_Session_finalize(&second));
    rank = talk_in(first, "first");
    CHECK(!MPI_Session_finalize(&first));
    if (rank == 0)
        puts("sessions: all well");
    return 0;
}
