/*
 * From when on ranks look for headers (MPIX_GDS_ARM=context): by argument, what
 * they do ahead of their first context of CUDA,
 *   nothing
 *   blocking  messages of the host by calls that block
 *   begun     a receive into host memory is begun, and gets, behind the
 *             context, what is sent from a GPU
 *   threads   as blocking, where several threads may call MPI
 * and then messages from GPU memory to GPU memory and to the host's. Two ranks.
 */
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 100000, TAG = 5, ROUNDS = 6 };

static char host[BYTES], early[BYTES];
static char *in, *out;
static int other;
static MPI_Request begun = MPI_REQUEST_NULL;

static void ahead(const char *what)
{
    char mine = (char)gpu_rank, got = -1;

    if (strcmp(what, "nothing") == 0)
        return;
    if (strcmp(what, "begun") == 0 && gpu_rank == 1)
        MPI_Irecv(early, BYTES, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &begun);
    MPI_Sendrecv(&mine, 1, MPI_BYTE, other, TAG, &got, 1, MPI_BYTE, other, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(got == (char)other);
}

static void to_gpu(void)
{
    MPI_Request request;

    gpu_fill(in, BYTES, -1);
    MPI_Irecv(in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(gpu_holds(in, 0, BYTES, other));
}

static void see_host(const char *got, int seed)
{
    for (int at = 0; at < BYTES; at++)
        CHECK(got[at] == (char)(seed + at * 7));
}

static void to_host(void)
{
    MPI_Request request;

    memset(host, 1, BYTES);
    MPI_Irecv(host, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    see_host(host, other);
}

static void end_begun(const char *what)
{
    if (strcmp(what, "begun") != 0)
        return;
    if (gpu_rank == 0)
        MPI_Send(out, BYTES, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
    MPI_Wait(&begun, MPI_STATUS_IGNORE);
    if (gpu_rank == 1)
        see_host(early, 0);
}

int main(int argc, char **argv)
{
    int level, wanted;

    CHECK(argc == 2);
    wanted =
        strcmp(argv[1], "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE;
    MPI_Init_thread(&argc, &argv, wanted, &level);
    CHECK(level >= wanted);
    MPI_Comm_rank(MPI_COMM_WORLD, &gpu_rank);
    other = 1 - gpu_rank;
    ahead(argv[1]);
    gpu_open();
    in = gpu_new(BYTES, -1);
    out = gpu_new(BYTES, gpu_rank);
    for (int round = 0; round < ROUNDS; round++)
        to_gpu();
    for (int round = 0; round < ROUNDS; round++)
        to_host();
    end_begun(argv[1]);
    gpu_delete(in);
    gpu_delete(out);
    gpu_end("arm");
    return 0;
}
