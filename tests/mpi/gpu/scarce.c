/*
 * One allocation of the library fails (MPIX_GDS_FAULT=alloc:n): the call that
 * needed it says MPI_ERR_NO_MEM, or does without; afterwards all is as ever.
 */
#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 2000, STRIDE = 3, TAG = 9, ROUNDS = 3 };

static char *out, *in;
static MPI_Datatype type;

static int good(int rc)
{
    CHECK(rc == MPI_SUCCESS || gpu_class(rc) == MPI_ERR_NO_MEM);
    return rc == MPI_SUCCESS;
}

static void give_up(MPI_Request *request)
{
    MPI_Cancel(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int exchange(void)
{
    MPI_Request requests[2];

    if (!good(MPI_Irecv(in, 1, type, 0, TAG, MPI_COMM_SELF, &requests[0])))
        return 0;
    if (!good(MPI_Isend(out, 1, type, 0, TAG, MPI_COMM_SELF, &requests[1]))) {
        give_up(&requests[0]);
        return 0;
    }
    return good(MPI_Waitall(2, requests, gpu_ignored()));
}

static int persistent(void)
{
    MPI_Request requests[2];
    int rc;

    if (!good(MPI_Recv_init(in, 1, type, 0, TAG, MPI_COMM_SELF, &requests[0])))
        return 0;
    if (!good(
            MPI_Send_init(out, 1, type, 0, TAG, MPI_COMM_SELF, &requests[1]))) {
        MPI_Request_free(&requests[0]);
        return 0;
    }
    MPI_Startall(2, requests);
    rc = MPI_Waitall(2, requests, gpu_ignored());
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    return good(rc);
}

static int replace(void)
{
    return good(MPI_Sendrecv_replace(in, 1, type, 0, TAG, 0, TAG, MPI_COMM_SELF,
                                     MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    int failed = 0;

    gpu_begin(&argc, &argv);
    gpu_count_errors(MPI_COMM_SELF);
    MPI_Type_vector(BYTES / STRIDE, 1, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    out = gpu_new(BYTES, 4);
    in = gpu_new(BYTES, 4);
    for (int round = 0; round < ROUNDS; round++)
        failed += !exchange() + !persistent() + !replace();
    CHECK(failed <= 1 && gpu_errors() == failed);
    CHECK(gpu_holds(in, 0, BYTES, 4));
    MPI_Type_free(&type);
    gpu_end("scarce");
    return 0;
}
