/*
 * The enqueue family as pmpi/ serves it, on two ranks with a GPU each: what
 * calls return, what becomes of requests and statuses, who is told of errors.
 * tests/enq has the cases of matching and deadlock.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "mpix_gds.h"
#include "tests/mpi/gpu/gpu_case.h"

#include "tests/api/check.h" /* behind the one above, whose CHECK it takes */

enum { BYTES = 5000, TAG = 3 };

static int peer;
static CUstream native;
static MPIX_Stream stream;
static MPI_Comm comm;

static void make(void)
{
    MPI_Info info;
    int type;
    void *back;

    CHECK(mgds_cu.cuStreamCreate(&native, 1) == 0);
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    CHECK(gpu_class(MPIX_Stream_create(info, &stream)) == MPI_ERR_OTHER);
    CHECK(MPIX_Info_set_hex(info, "value", &native, sizeof(CUstream)) ==
          MPI_SUCCESS);
    CHECK(MPIX_Stream_create(info, &stream) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPIX_Stream_get_native(stream, &type, &back, sizeof(back)) ==
          MPI_SUCCESS);
    CHECK(type == MPIX_GDS_STREAM_CUDA && back == (void *)native);
    CHECK(gpu_class(MPIX_Stream_get_native(stream, &type, &back, 4)) ==
          MPI_ERR_ARG);
    CHECK(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm) ==
          MPI_SUCCESS);
}

static void synchronize(void)
{
    CHECK(mgds_cu.cuStreamSynchronize(native) == 0);
}

static void blocking_calls_come_in_order(void)
{
    char *at = gpu_new(BYTES, -1);
    MPI_Status status;

    for (int lap = 0; lap < 5; lap++) {
        gpu_fill(at, BYTES, gpu_rank ? -1 : lap);
        if (gpu_rank == 0)
            CHECK(MPIX_Send_enqueue(at, BYTES - lap, MPI_BYTE, 1, TAG, comm) ==
                  MPI_SUCCESS);
        else
            CHECK(MPIX_Recv_enqueue(at, BYTES, MPI_BYTE, MPI_ANY_SOURCE,
                                    MPI_ANY_TAG, comm, &status) == MPI_SUCCESS);
        synchronize();
        if (gpu_rank == 0)
            continue;
        CHECK(gpu_holds(at, 0, (size_t)(BYTES - lap), lap));
        CHECK(gpu_holds(at, (size_t)(BYTES - lap), BYTES, -1));
        CHECK(gpu_bytes(&status) == BYTES - lap);
        CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == TAG);
    }
    gpu_delete(at);
}

static void waits_take_requests(void)
{
    char *out = gpu_new(BYTES, 40 + gpu_rank);
    char *in = gpu_new(BYTES, -1);
    MPI_Request request[3], copy;
    MPI_Status status[3];

    CHECK(MPIX_Irecv_enqueue(in, BYTES, MPI_BYTE, peer, 1, comm, &request[0]) ==
          MPI_SUCCESS);
    request[1] = MPI_REQUEST_NULL;
    CHECK(MPIX_Isend_enqueue(out, BYTES, MPI_BYTE, peer, 1, comm,
                             &request[2]) == MPI_SUCCESS);
    copy = request[0];
    CHECK(MPIX_Waitall_enqueue(3, request, status) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++)
        CHECK(request[i] == MPI_REQUEST_NULL);
    CHECK(gpu_class(MPIX_Wait_enqueue(&copy, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REQUEST);
    synchronize();
    CHECK(gpu_holds(in, 0, BYTES, 40 + peer));
    CHECK(status[0].MPI_SOURCE == peer && status[0].MPI_ERROR == MPI_SUCCESS);
    CHECK(gpu_bytes(&status[0]) == BYTES);
    CHECK(status[1].MPI_SOURCE == MPI_ANY_SOURCE && gpu_bytes(&status[1]) == 0);
    CHECK(MPIX_Waitall_enqueue(0, NULL, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    gpu_delete(in);
    gpu_delete(out);
}

static void the_host_completes_them_too(void)
{
    char *out = gpu_new(BYTES, 70 + gpu_rank);
    char *in = gpu_new(BYTES, -1);
    MPI_Request request[2];
    MPI_Status status[2];
    int flag = 0;

    CHECK(MPIX_Irecv_enqueue(in, BYTES, MPI_BYTE, peer, 2, comm, &request[0]) ==
          MPI_SUCCESS);
    CHECK(MPIX_Isend_enqueue(out, BYTES, MPI_BYTE, peer, 2, comm,
                             &request[1]) == MPI_SUCCESS);
    while (!flag)
        CHECK(MPI_Testall(2, request, &flag, status) == MPI_SUCCESS);
    CHECK(gpu_holds(in, 0, BYTES, 70 + peer));
    CHECK(gpu_bytes(&status[0]) == BYTES && status[0].MPI_TAG == 2);
    gpu_fill(in, BYTES, -1);
    CHECK(MPIX_Isend_enqueue(out, BYTES, MPI_BYTE, peer, 3, comm,
                             &request[0]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&request[0]) == MPI_SUCCESS);
    CHECK(MPI_Recv(in, BYTES, MPI_BYTE, peer, 3, comm, &status[0]) ==
          MPI_SUCCESS);
    CHECK(gpu_holds(in, 0, BYTES, 70 + peer));
    CHECK(MPIX_Stream_synchronize(stream, 0) == MPI_SUCCESS);
    gpu_delete(in);
    gpu_delete(out);
}

static void errors_of_arguments_put_nothing(void)
{
    char *at = gpu_new(16, 0);
    MPI_Request request = MPI_REQUEST_NULL, other;
    int data = 0;

    gpu_count_errors(comm);
    CHECK(gpu_class(MPIX_Send_enqueue(at, -1, MPI_BYTE, peer, 0, comm)) ==
          MPI_ERR_COUNT);
    CHECK(gpu_class(MPIX_Send_enqueue(at, 1, MPI_BYTE, 2, 0, comm)) ==
          MPI_ERR_RANK);
    CHECK(gpu_class(MPIX_Isend_enqueue(at, 1, MPI_BYTE, peer, -2, comm,
                                       &request)) == MPI_ERR_TAG);
    CHECK(gpu_class(MPIX_Recv_enqueue(at, 1, MPI_DATATYPE_NULL, peer, 0, comm,
                                      MPI_STATUS_IGNORE)) == MPI_ERR_TYPE);
    CHECK(gpu_errors() == 4);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Irecv(&data, 1, MPI_INT, peer, 77, MPI_COMM_WORLD, &other);
    CHECK(gpu_class(MPIX_Wait_enqueue(&other, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REQUEST);
    MPI_Cancel(&other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    CHECK(MPIX_Recv_enqueue(at, 16, MPI_BYTE, MPI_PROC_NULL, 0, comm,
                            MPI_STATUS_IGNORE) == MPI_SUCCESS);
    synchronize();
    CHECK(gpu_holds(at, 0, 16, 0));
    gpu_delete(at);
}

static void truncation_is_told_once(void)
{
    char *at = gpu_new(16, gpu_rank ? -1 : 9);
    MPI_Request request, first;
    MPI_Status status;
    int code;

    gpu_count_errors(comm);
    if (gpu_rank == 0) {
        CHECK(MPIX_Send_enqueue(at, 8, MPI_BYTE, 1, 6, comm) == MPI_SUCCESS);
        CHECK(MPIX_Stream_synchronize(stream, 0) == MPI_SUCCESS);
        gpu_delete(at);
        return;
    }
    MPIX_Irecv_enqueue(at, 4, MPI_BYTE, 0, 6, comm, &request);
    CHECK(MPIX_Waitall_enqueue(1, &request, &status) == MPI_SUCCESS);
    synchronize();
    CHECK(status.MPI_ERROR == MPI_ERR_TRUNCATE);
    CHECK(gpu_class(MPIX_Stream_synchronize(stream, 0)) == MPI_ERR_TRUNCATE);
    CHECK(MPIX_Stream_synchronize(stream, 0) == MPI_SUCCESS);
    CHECK(gpu_errors() == 1);
    CHECK(MPIX_Stream_get_error(stream, &code, &first) == MPI_SUCCESS);
    CHECK(gpu_class(code) == MPI_ERR_TRUNCATE);
    CHECK(MPIX_Stream_get_error(stream, &code, NULL) == MPI_SUCCESS);
    CHECK(code == MPI_SUCCESS);
    CHECK(gpu_holds(at, 0, 4, 9) && gpu_holds(at, 4, 16, -1));
    gpu_delete(at);
}

static void synchronize_gives_up_in_time(void)
{
    char *at = gpu_new(16, -1);
    MPI_Request request;

    if (gpu_rank == 0) {
        CHECK(MPIX_Irecv_enqueue(at, 16, MPI_BYTE, 1, 8, comm, &request) ==
              MPI_SUCCESS);
        CHECK(MPIX_Stream_synchronize(stream, 0.2) == MPI_ERR_PENDING);
        CHECK(gpu_class(MPIX_Stream_synchronize(stream, -1)) == MPI_ERR_ARG);
    }
    MPI_Barrier(comm);
    if (gpu_rank == 1) {
        CHECK(MPIX_Send_enqueue(at, 16, MPI_BYTE, 0, 8, comm) == MPI_SUCCESS);
    } else {
        CHECK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPIX_Stream_synchronize(stream, 0) == MPI_SUCCESS);
    synchronize();
    gpu_delete(at);
}

static void objects_may_go_early(void)
{
    char *at = gpu_new(BYTES, gpu_rank ? -1 : 4);
    MPI_Datatype pairs;

    MPI_Type_vector(BYTES / 4, 2, 4, MPI_BYTE, &pairs);
    MPI_Type_commit(&pairs);
    if (gpu_rank == 0)
        MPIX_Send_enqueue(at, 1, pairs, 1, 0, comm);
    else
        MPIX_Recv_enqueue(at, 1, pairs, 0, 0, comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&pairs);
    MPI_Comm_free(&comm);
    CHECK(MPIX_Stream_free(&stream) == MPI_SUCCESS);
    synchronize();
    CHECK(gpu_rank == 0 || (gpu_holds(at, 0, 2, 4) && gpu_holds(at, 2, 4, -1)));
    gpu_delete(at);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    peer = 1 - gpu_rank;
    make();
    blocking_calls_come_in_order();
    waits_take_requests();
    the_host_completes_them_too();
    errors_of_arguments_put_nothing();
    truncation_is_told_once();
    synchronize_gives_up_in_time();
    objects_may_go_early();
    gpu_end("enqueue");
    return 0;
}
