/*
 * One member runs out of memory somewhere on the way to a duplicate: all have
 * it, or all an error. ARGS: dup or idup, the allocation of rank 1 that fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpix_gds.h>

#include "tests/lib/mpi_check.h"

/* Before the library looks: it is loaded already, so once more. */
static void ask_for_fault(char **argv)
{
    const char *rank = getenv("PMI_RANK");
    char text[32];

    if (!rank || strcmp(rank, "1") != 0 || getenv("MPIX_GDS_FAULT"))
        return;
    snprintf(text, sizeof(text), "alloc:%s", argv[2]);
    setenv("MPIX_GDS_FAULT", text, 1);
    execv(argv[0], argv);
    _exit(3);
}

/* How many of all have it. */
static int count_made(int rc)
{
    int mine = rc == MPI_SUCCESS;
    int made = 0;

    CHECK(!MPI_Allreduce(&mine, &made, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    return made;
}

/* Once its request is complete, if there is one. */
static int idup(MPI_Comm comm, MPI_Comm *dup)
{
    MPI_Request request;
    int rc = MPI_Comm_idup(comm, dup, &request);

    return rc == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : rc;
}

static const char *duplicate(MPI_Comm comm, int size,
                             int (*call)(MPI_Comm, MPI_Comm *))
{
    MPI_Comm dup;
    int made;

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    made = count_made(call(comm, &dup));
    CHECK(made == 0 || made == size);
    if (made == 0) {
        CHECK(dup == MPI_COMM_NULL);
        return "failed together";
    }
    MPI_Comm_free(&dup);
    return "made";
}

int main(int argc, char **argv)
{
    const char *end = "not begun";
    MPI_Comm comm;
    int rank, size, made;

    if (argc != 3)
        return 2;
    ask_for_fault(argv);
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    made = count_made(
        MPIX_Stream_comm_create(MPI_COMM_WORLD, MPIX_STREAM_NULL, &comm));
    CHECK(made == 0 || made == size);
    if (made > 0) {
        end = duplicate(comm, size,
                        strcmp(argv[1], "idup") == 0 ? idup : MPI_Comm_dup);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    if (rank == 0)
        printf("dup: %s\n", end);
    return 0;
}
