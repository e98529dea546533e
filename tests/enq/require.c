/*
 * MPIX_GDS_REQUIRE: enqueued messages in GPU memory take what it names, or are
 * refused in their calls; each row of CMakeLists.txt sets it, and says by its
 * case what must come of that.
 */
#include "tests/enq/enq.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "osu-extensions/libcuda.h"

static struct enq_lane lane;

static void open_lane(void)
{
    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
}

static void send_to_next(size_t bytes, unsigned message)
{
    const int to = (enq.rank + 1) % enq.size;
    const int from = (enq.rank + enq.size - 1) % enq.size;
    struct enq_buffer out, in;
    MPI_Request requests[2];

    enq_buffer_open(&out, bytes);
    enq_buffer_open(&in, bytes);
    enq_fill(&out, message + (unsigned)enq.rank);
    enq_irecv(&lane, &in, from, 1, &requests[0]);
    enq_isend(&lane, &out, to, 1, &requests[1]);
    enq_waitall(2, requests);
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    enq_expect(&in, bytes, message + (unsigned)from);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

static void says(int code, const char *what, const char *transport,
                 const char *why)
{
    char text[MPI_MAX_ERROR_STRING], want[MPI_MAX_ERROR_STRING];
    int length;

    snprintf(want, sizeof(want),
             "%s would take %s, which MPIX_GDS_REQUIRE leaves out: %s", what,
             transport, why);
    CHECK(enq_class(code) == MPI_ERR_UNSUPPORTED_OPERATION);
    ENQ_OK(MPI_Error_string(code, text, &length));
    if (!strstr(text, want))
        fprintf(stderr, "want: %s\n got: %s\n", want, text);
    CHECK(strstr(text, want));
}

/* All that is named can be had: what is refused ends the job, and says why. */
static void satisfied(void)
{
    static const size_t sizes[] = {8, 4096, 200000, 600000, 3 << 20};

    enq_lane_open(&lane);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned lap = 0; lap < 3; lap++)
            send_to_next(sizes[i], 1 + 10 * i + lap);
    enq_lane_close(&lane);
}

/* More than a ring has room for, while the receiver's stream stands: nothing is
 * staged, nothing is lost. */
static void full_ring(void)
{
    enum { MANY = 24 };
    struct enq_buffer b;
    struct enq_gate gate;

    open_lane();
    enq_buffer_open(&b, 100000);
    enq_gate_make(&gate);
    if (enq.rank == 1)
        enq_gate_hold(&gate, lane.cu);
    for (unsigned i = 0; i < MANY; i++) {
        if (enq.rank == 0) {
            enq_fill(&b, 1 + i);
            enq_send(&lane, &b, 1, 1);
            MGDS_CU(cuStreamSynchronize(lane.cu));
        } else if (enq.rank == 1) {
            if (i == 5)
                enq_gate_open(&gate);
            enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
            if (i >= 5) {
                enq_sync(&lane);
                enq_expect(&b, 100000, 1 + i);
            }
        }
    }
    enq_gate_free(&gate);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* What a group has collected leaves no slot before its end: those that get none
 * are refused at once, not after seconds each, and the others go. */
static void full_group(void)
{
    enum { MANY = 64, BYTES = 100000 };
    struct enq_buffer b;
    int sent = 0;

    open_lane();
    enq_buffer_open(&b, BYTES);
    enq_fill(&b, 1);
    if (enq.rank == 0) {
        ENQ_OK(MPIX_Stream_group_start(lane.stream));
        for (int i = 0; i < MANY; i++) {
            int code =
                MPIX_Send_enqueue(b.at, BYTES, MPI_BYTE, 1, 1, lane.comm);

            sent += code == MPI_SUCCESS;
            CHECK(code == MPI_SUCCESS ||
                  enq_class(code) == MPI_ERR_UNSUPPORTED_OPERATION);
        }
        CHECK(sent > 0 && sent < MANY);
        ENQ_OK(MPIX_Stream_group_end(lane.stream));
    }
    ENQ_OK(MPI_Bcast(&sent, 1, MPI_INT, 0, MPI_COMM_WORLD));
    for (int i = 0; i < sent && enq.rank == 1; i++) {
        enq_wipe(&b);
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, BYTES, 1);
    }
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* Of all that is enqueued nothing may go; what is not concerned does. */
static void refused_with(const char *transport, const char *why)
{
    const int other = 1 - enq.rank;
    struct enq_buffer gpu, host;
    MPI_Request requests[2];
    char what[64];

    open_lane();
    enq_buffer_open(&gpu, 4096);
    enq_buffer_open_kind(&host, 4096, MGDS_TEST_HOST);
    snprintf(what, sizeof(what), "4096 bytes to rank %d", other);
    says(MPIX_Send_enqueue(gpu.at, 4096, MPI_BYTE, other, 1, lane.comm), what,
         transport, why);
    says(MPIX_Isend_enqueue(gpu.at, 1024, MPI_INT, other, 1, lane.comm,
                            &requests[0]),
         what, transport, why);
    snprintf(what, sizeof(what), "4096 bytes from rank %d", other);
    says(MPIX_Recv_enqueue(gpu.at, 4096, MPI_BYTE, other, 1, lane.comm,
                           MPI_STATUS_IGNORE),
         what, transport, why);
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    enq_fill(&host, 1 + (unsigned)enq.rank);
    enq_isend(&lane, &host, other, 2, &requests[0]);
    ENQ_OK(MPI_Recv(gpu.at, 4096, MPI_BYTE, other, 2, lane.comm,
                    MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    enq_expect(&gpu, 4096, 1 + (unsigned)other);
    ENQ_OK(MPI_Send(gpu.at, 0, MPI_BYTE, other, 3, lane.comm));
    ENQ_OK(MPIX_Recv_enqueue(gpu.at, 0, MPI_BYTE, other, 3, lane.comm,
                             MPI_STATUS_IGNORE));
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    enq_buffer_close(&host);
    enq_buffer_close(&gpu);
    enq_lane_close(&lane);
}

static void refused_p2p(void)
{
    refused_with("p2p", "that is the way between the two");
}

static void refused_far(void)
{
    refused_with("host", "it is on another host");
}

static void refused_no_peers(void)
{
    refused_with("host", "the two GPUs are no peers");
}

static void refused_same_gpu(void)
{
    refused_with("host", "its process uses the same GPU");
}

/* A buffer with gaps is packed in host memory. */
static void gaps(void)
{
    MPI_Datatype type;
    struct enq_buffer b;
    char what[64];

    open_lane();
    enq_buffer_open(&b, 4096);
    ENQ_OK(MPI_Type_vector(10, 1, 3, MPI_INT, &type));
    ENQ_OK(MPI_Type_commit(&type));
    snprintf(what, sizeof(what), "80 bytes to rank %d", 1 - enq.rank);
    says(MPIX_Send_enqueue(b.at, 2, type, 1 - enq.rank, 1, lane.comm), what,
         "host", "its buffer has gaps");
    says(MPIX_Recv_enqueue(b.at, 2, type, MPI_ANY_SOURCE, 1, lane.comm,
                           MPI_STATUS_IGNORE),
         "80 bytes from any rank", "host", "its buffer has gaps");
    ENQ_OK(MPI_Type_free(&type));
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"satisfied", 1, satisfied},
        {"full_ring", 2, full_ring},
        {"full_group", 2, full_group},
        {"refused_p2p", 2, refused_p2p},
        {"refused_far", 2, refused_far},
        {"refused_no_peers", 2, refused_no_peers},
        {"refused_same_gpu", 2, refused_same_gpu},
        {"gaps", 2, gaps},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name a case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq require", cases);
}
