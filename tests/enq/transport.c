/*
 * MPIX_Request_get_transport: which transport the message of a request takes,
 * why no better one, and what helps. Each case is a run whose row makes that
 * the way between the ranks.
 */
#include "tests/enq/enq.h"

#include <stdio.h>
#include <string.h>

static struct enq_lane lane;

/* reason and remedy: how they begin; NULL: they are empty. */
struct want {
    const char *transport, *reason, *remedy;
};

static bool begins(const char *text, const char *with)
{
    return with ? strncmp(text, with, strlen(with)) == 0 : text[0] == '\0';
}

static void takes(MPI_Request request, const struct want *want)
{
    const char *transport = NULL, *reason = NULL, *remedy = NULL;

    ENQ_OK(MPIX_Request_get_transport(request, &transport, &reason, &remedy));
    if (strcmp(transport, want->transport) != 0 ||
        !begins(reason, want->reason) || !begins(remedy, want->remedy))
        fprintf(stderr, "rank %d: %s: %s -> %s\n", enq.rank, transport, reason,
                remedy);
    CHECK(strcmp(transport, want->transport) == 0);
    CHECK(begins(reason, want->reason) && begins(remedy, want->remedy));
    ENQ_OK(MPIX_Request_get_transport(request, &transport, NULL, NULL));
}

/* Has a message from there to wait for its memory to be mapped? */
static bool is_cold(MPI_Request send)
{
    const char *transport, *reason;

    ENQ_OK(MPIX_Request_get_transport(send, &transport, &reason, NULL));
    if (!begins(reason, "the receiver had not mapped"))
        return false;
    CHECK(strcmp(transport, "host") == 0);
    return true;
}

/* Until neither has, or there is no way for that. */
static void warm(const struct enq_buffer *out, struct enq_buffer *in, int peer)
{
    int cold = 1;

    for (int lap = 0; cold && lap < 100; lap++) {
        MPI_Request requests[2];

        enq_irecv(&lane, in, peer, 1, &requests[0]);
        enq_isend(&lane, out, peer, 1, &requests[1]);
        cold = is_cold(requests[1]);
        enq_waitall(2, requests);
        enq_sync(&lane);
        ENQ_OK(MPI_Allreduce(MPI_IN_PLACE, &cold, 1, MPI_INT, MPI_MAX,
                             MPI_COMM_WORLD));
    }
    CHECK(!cold);
}

/* Both ends say so, while the message is under way and when it is over. */
static void exchange(struct enq_buffer *out, struct enq_buffer *in, int peer,
                     const struct want *want)
{
    MPI_Request requests[2];

    enq_fill(out, 1 + (unsigned)enq.rank);
    enq_irecv(&lane, in, peer, 1, &requests[0]);
    enq_isend(&lane, out, peer, 1, &requests[1]);
    takes(requests[0], want);
    takes(requests[1], want);
    enq_sync(&lane);
    takes(requests[0], want);
    takes(requests[1], want);
    enq_waitall(2, requests);
    enq_sync(&lane);
    enq_expect(in, out->bytes, 1 + (unsigned)peer);
}

static void enqueued(int peer, enum mgds_test_kind kind,
                     const struct want *want)
{
    static const size_t sizes[] = {8, 1 << 20};

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct enq_buffer out, in;

        enq_buffer_open_kind(&out, sizes[i], kind);
        enq_buffer_open_kind(&in, sizes[i], kind);
        warm(&out, &in, peer);
        exchange(&out, &in, peer, want);
        enq_buffer_close(&in);
        enq_buffer_close(&out);
    }
}

static void enqueued_gpu(int peer, const struct want *want)
{
    enq_lane_open(&lane);
    enqueued(peer, MGDS_TEST_DEVICE, want);
    enq_lane_close(&lane);
}

static void p2p(void)
{
    enqueued_gpu(1 - enq.rank, &(struct want){"p2p", NULL, NULL});
}

static void self(void)
{
    enqueued_gpu(enq.rank, &(struct want){"self", NULL, NULL});
}

static void other_host(void)
{
    enqueued_gpu(1 - enq.rank,
                 &(struct want){"host", "it is on another host", NULL});
}

static void same_gpu(void)
{
    enqueued_gpu(1 - enq.rank,
                 &(struct want){"host", "its process uses the same GPU",
                                "give each process a GPU of its own"});
}

/* What goes to itself meets the other process on the GPU, too. */
static void shared_gpu_alone(void)
{
    struct want want = {"host", "another process of the communicator",
                        "give each process a GPU of its own"};
    struct enq_buffer out, in;

    enq_lane_open(&lane);
    enq_buffer_open(&out, 1 << 20);
    enq_buffer_open(&in, 1 << 20);
    exchange(&out, &in, enq.rank, &want);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
    enq_lane_close(&lane);
}

static void no_peers(void)
{
    enqueued_gpu(1 - enq.rank,
                 &(struct want){"host", "the two GPUs are no peers",
                                "use GPUs that are"});
}

static void no_rings(void)
{
    enqueued_gpu(1 - enq.rank, &(struct want){"host", "its process has no ring",
                                              "leave MPIX_GDS_EAGER"});
}

static void host_memory(void)
{
    enq_lane_open(&lane);
    enqueued(1 - enq.rank, MGDS_TEST_HOST,
             &(struct want){"host", "its buffer is in host memory",
                            "put the buffer in GPU memory"});
    enq_lane_close(&lane);
}

/* By calls of MPI, on comm; of buffers of a kind. */
static void ordinary(MPI_Comm comm, enum mgds_test_kind kind,
                     const struct want *want)
{
    struct enq_buffer out, in;
    MPI_Request requests[2];

    enq_buffer_open_kind(&out, 4096, kind);
    enq_buffer_open_kind(&in, 4096, kind);
    ENQ_OK(
        MPI_Irecv(in.at, 4096, MPI_BYTE, 1 - enq.rank, 1, comm, &requests[0]));
    takes(requests[0], want);
    MPI_Barrier(MPI_COMM_WORLD);
    ENQ_OK(
        MPI_Isend(out.at, 4096, MPI_BYTE, 1 - enq.rank, 1, comm, &requests[1]));
    takes(requests[1], want);
    for (int i = 0; i < 2; i++)
        ENQ_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

static void calls_of_mpi(void)
{
    enq_lane_open(&lane);
    ordinary(MPI_COMM_WORLD, MGDS_TEST_DEVICE,
             &(struct want){"host", "GPU buffers of ordinary calls", NULL});
    ordinary(MPI_COMM_WORLD, MGDS_TEST_HOST,
             &(struct want){"mpi", "it is left to the MPI library", NULL});
    ordinary(lane.comm, MGDS_TEST_DEVICE,
             &(struct want){"host", "only enqueued messages",
                            "use MPIX_Send_enqueue"});
    enq_lane_close(&lane);
}

static void refused(void)
{
    const char *transport;
    MPI_Request request;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK(enq_class(MPIX_Request_get_transport(MPI_REQUEST_NULL, &transport,
                                               NULL, NULL)) == MPI_ERR_REQUEST);
    ENQ_OK(MPIX_Isend_enqueue(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 1, lane.comm,
                              &request));
    CHECK(enq_class(MPIX_Request_get_transport(request, NULL, NULL, NULL)) ==
          MPI_ERR_ARG);
    takes(request, &(struct want){"none", NULL, NULL});
    enq_wait(&request, MPI_STATUS_IGNORE);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"p2p", 2, p2p},
        {"self", 1, self},
        {"other_host", 2, other_host},
        {"same_gpu", 2, same_gpu},
        {"shared_gpu_alone", 2, shared_gpu_alone},
        {"no_peers", 2, no_peers},
        {"no_rings", 2, no_rings},
        {"host_memory", 2, host_memory},
        {"calls_of_mpi", 2, calls_of_mpi},
        {"refused", 1, refused},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name a case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq transport", cases);
}
