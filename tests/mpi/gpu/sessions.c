/*
 * A program that has sessions only: GPU memory in messages, nonblocking and
 * persistent ones and a broadcast, dense and not; no MPI_COMM_WORLD or _SELF.
 * With an argument only calls that the stand-in of tests/mpi/matrix/aware.c
 * knows.
 */
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 40000, TAG = 3 };

static MPI_Comm comm;
static int rank, size;
static int few_calls;

static void open_comm(MPI_Session session)
{
    MPI_Group group;

    CHECK(!MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    CHECK(!MPI_Comm_create_from_group(group, "gpu", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &comm));
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

/* What each rank sends to the next, from byte 0, arrives behind it. */
static void pass_round(char *gpu, int count, MPI_Datatype type, int bytes)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request requests[2];

    gpu_fill(gpu, BYTES, rank + 1);
    gpu_fill(gpu + BYTES, BYTES, -1);
    if (few_calls) {
        MPI_Irecv(gpu + BYTES, bytes, MPI_BYTE, before, TAG, comm,
                  &requests[0]);
    } else {
        MPI_Recv_init(gpu + BYTES, bytes, MPI_BYTE, before, TAG, comm,
                      &requests[0]);
        MPI_Start(&requests[0]);
    }
    CHECK(!MPI_Isend(gpu, count, type, next, TAG, comm, &requests[1]));
    CHECK(!MPI_Waitall(2, requests, gpu_ignored()));
    if (!few_calls)
        MPI_Request_free(&requests[0]);
    if (type == MPI_BYTE)
        CHECK(gpu_holds(gpu + BYTES, 0, (size_t)bytes, before + 1));
    CHECK(gpu_holds(gpu + BYTES, (size_t)bytes, BYTES, -1));
}

static void pass_strided(char *gpu)
{
    enum { ROWS = 100 };
    unsigned char got[ROWS];
    MPI_Datatype type;

    MPI_Type_vector(ROWS, 1, 5, MPI_BYTE, &type);
    CHECK(gpu_class(MPI_Send(gpu, 1, type, rank, TAG, comm)) == MPI_ERR_TYPE);
    MPI_Type_commit(&type);
    pass_round(gpu, 1, type, ROWS);
    gpu_read(got, gpu + BYTES, ROWS);
    for (int i = 0; i < ROWS; i++)
        CHECK(got[i] ==
              (unsigned char)((rank + size - 1) % size + 1 + i * 5 * 7));
    MPI_Type_free(&type);
}

static void broadcast(char *gpu)
{
    gpu_fill(gpu, BYTES, rank + 1);
    CHECK(!MPI_Bcast(gpu, BYTES, MPI_BYTE, 0, comm));
    CHECK(gpu_holds(gpu, 0, BYTES, 1));
}

int main(int argc, char **argv)
{
    MPI_Session session;
    char why[256], *gpu;

    (void)argv;
    few_calls = argc > 1;
    CHECK(!MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (mgds_test_gpu_open(0, why) < 0) {
        MPI_Session_finalize(&session);
        printf("skipped: %s\n", why);
        return 77;
    }
    open_comm(session);
    gpu = gpu_new((size_t)2 * BYTES, 0);
    pass_round(gpu, 8, MPI_BYTE, 8);
    pass_round(gpu, BYTES, MPI_BYTE, BYTES);
    pass_strided(gpu);
    if (!few_calls)
        broadcast(gpu);
    gpu_delete(gpu);
    MPI_Comm_free(&comm);
    CHECK(!MPI_Session_finalize(&session));
    if (rank == 0)
        puts("sessions: all well");
    return 0;
}
