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
    CUgraph graph;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    MGDS_CU(cuStreamBeginCapture(lane.cu, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    refused(MPIX_Send_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm));
    refused(MPIX_Recv_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm,
                              MPI_STATUS_IGNORE));
    refused(MPIX_Isend_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm,
                               &request));
    refused(MPIX_Irecv_enqueue(b.at, 64, MPI_BYTE, enq.rank, 1, lane.comm,
                               &request));
    MGDS_CU(cuStreamEndCapture(lane.cu, &graph));
    MGDS_CU(cuGraphDestroy(graph));
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

static void persistent(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    refused(MPI_Send_init(b.at, 64, MPI_BYTE, 0, 1, lane.comm, &request));
    refused(MPI_Recv_init(b.at, 64, MPI_BYTE, 0, 1, lane.comm, &request));
    refused(MPI_Psend_init(b.at, 2, 32, MPI_BYTE, 0, 1, lane.comm,
                           MPI_INFO_NULL, &request));
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"refused_captured", 1, captured},
        {"refused_allreduce", 1, allreduce},
        {"refused_persistent", 1, persistent},
        {0},
    };

    return enq_main(argc, argv, "enq refuse", cases);
}
