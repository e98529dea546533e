/* What this version does not do: refused with the class that is documented,
 * at the call, and nothing is put on the stream. */
#include "tests/enq/enq.h"

static void refused(int rc)
{
    CHECK(enq_class(rc) == MPI_ERR_UNSUPPORTED_OPERATION);
}

static void captured(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    enq_capture_begin(&lane);
    refused(MPIX_Send_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm));
    refused(MPIX_Recv_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm,
                              MPI_STATUS_IGNORE));
    refused(MPIX_Isend_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm,
                               &request));
    refused(MPIX_Irecv_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm,
                               &request));
    enq_capture_end(&lane);
    enq_irecv(&lane, &b, MPI_PROC_NULL, 1, &request);
    enq_wait(&request, MPI_STATUS_IGNORE);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static void allreduce(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    refused(MPIX_Allreduce_enqueue(b.at, b.at, 1, MPI_INT, MPI_SUM, lane.comm));
    CHECK(mgds_cu.cuStreamQuery(lane.cu) == CUDA_SUCCESS);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static void partitioned_refused(void *at, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;

    refused(MPI_Psend_init(at, 2, 32, MPI_BYTE, 0, 1, comm, MPI_INFO_NULL,
                           &request));
    refused(MPI_Precv_init(at, 2, 32, MPI_BYTE, 0, 1, comm, MPI_INFO_NULL,
                           &request));
    CHECK(request == MPI_REQUEST_NULL);
}

/* Wherever the buffer is, and whether or not this process gave a stream. */
static void partitioned(void)
{
    static char host[64];
    struct enq_lane lane;
    struct enq_buffer b;

    enq_buffer_open(&b, 64);
    for (int gpu = 0; gpu < 2; gpu++) {
        enq_lane_open_as(&lane, gpu);
        MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
        partitioned_refused(b.at, lane.comm);
        partitioned_refused(host, lane.comm);
        enq_lane_close(&lane);
    }
    enq_buffer_close(&b);
}

static void persistent_collective(void)
{
    struct enq_lane lane;
    MPI_Request request;
    int value = enq.rank == 0 ? 41 : 0;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Bcast_init(&value, 1, MPI_INT, 0, lane.comm, MPI_INFO_NULL,
                          &request));
    ENQ_OK(MPI_Start(&request));
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(value == 41);
    MPI_Request_free(&request);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"refused_captured", 1, captured},
        {"refused_allreduce", 1, allreduce},
        {"refused_partitioned", 1, partitioned},
        {"persistent_collective", 1, persistent_collective},
        {0},
    };

    return enq_main(argc, argv, "enq refuse", cases);
}
