/* Every rank passes a number around the ring, argv[1] times; exits 1 if a
 * wrong one arrives. Ends by the name that argv[2] says: MPI, PMPI, or SESSION
 * for a program that never had a world. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>

static int pass_around(MPI_Comm comm, int laps)
{
    int rank;
    int size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int lap = 0; lap < laps; lap++) {
        int left = (rank + size - 1) % size;
        int mine = lap * size + rank;
        int theirs = -1;

        MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &theirs, 1,
                     MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
        if (theirs != lap * size + left)
            return 1;
    }
    return 0;
}

/* Open MPI 4 has no sessions. */
#if MPI_VERSION >= 4
static int run_session(int laps)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int wrong;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "ring", MPI_INFO_NULL,
                               MPI_ERRORS_ARE_FATAL, &comm);
    wrong = pass_around(comm, laps);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return wrong;
}
#else
static int run_session(int laps)
{
    (void)laps;
    return 1;
}
#endif

int main(int argc, char **argv)
{
    int laps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;
    const char *end = argc > 2 ? argv[2] : "MPI";
    int wrong;

    if (strcmp(end, "SESSION") == 0)
        return run_session(laps);
    MPI_Init(&argc, &argv);
    wrong = pass_around(MPI_COMM_WORLD, laps);
    if (strcmp(end, "PMPI") == 0)
        PMPI_Finalize();
    else
        MPI_Finalize();
    return wrong;
}
