/* Several streams, and several communicators of one stream. */
#include "tests/enq/enq.h"

/*
 * R0: the receive on one stream lets the send on the other go. R1: the
 * receive was called before the send, on another stream. They end only if a
 * stream's wait stops nobody else.
 */
static void cross_dependency(void)
{
    struct enq_lane one, two;
    struct enq_buffer a, b;
    CUevent event;

    enq_lane_open(&one);
    enq_lane_open(&two);
    enq_buffer_open(&a, ENQ_LARGE);
    enq_buffer_open(&b, ENQ_LARGE);
    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (enq.rank == 0) {
        enq_recv(&one, &a, 1, 1, MPI_STATUS_IGNORE);
        MGDS_CU(cuEventRecord(event, one.cu));
        MGDS_CU(cuStreamWaitEvent(two.cu, event, 0));
        enq_send(&two, &a, 1, 1);
    } else if (enq.rank == 1) {
        enq_fill(&a, 1);
        enq_recv(&two, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_send(&one, &a, 0, 1);
    }
    enq_sync(&two);
    if (enq.rank == 0)
        enq_expect(&a, ENQ_LARGE, 1);
    if (enq.rank == 1)
        enq_expect(&b, ENQ_LARGE, 1);
    enq_lane_close(&two);
    enq_lane_close(&one);
    MGDS_CU(cuEventDestroy(event));
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

/* The duplicate has the stream of the original, and matching of its own. */
static void duplicate(const struct enq_lane *lane, MPI_Comm *dup)
{
    MPIX_Stream inherited = MPIX_STREAM_NULL;

    ENQ_OK(MPI_Comm_dup(lane->comm, dup));
    ENQ_OK(MPIX_Comm_get_stream(*dup, 0, &inherited));
    CHECK(inherited == lane->stream);
}

static void duplicate_matches_by_itself(void)
{
    struct enq_lane lane, twin;
    struct enq_buffer a, b;
    MPI_Request requests[2];

    enq_lane_open(&lane);
    twin = lane;
    duplicate(&lane, &twin.comm);
    enq_buffer_open(&a, 4096);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_send(&lane, &a, 1, 1);
        enq_send(&twin, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_irecv(&twin, &b, 0, 1, &requests[0]);
        enq_irecv(&lane, &a, 0, 1, &requests[1]);
        enq_waitall(2, requests);
    }
    enq_sync(&lane);
    if (enq.rank == 1) {
        enq_expect(&a, 4096, 1);
        enq_expect(&b, 4096, 2);
    }
    ENQ_OK(MPI_Comm_free(&twin.comm));
    enq_lane_close(&lane);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

/* Small ones only: large ones may wait for each other, as in MPI. */
static void one_stream_two_communicators(void)
{
    struct enq_lane one, two;
    struct enq_buffer a, b;

    enq_lane_open(&one);
    enq_lane_open_on(&two, one.cu);
    enq_buffer_open(&a, ENQ_SMALL);
    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_send(&one, &a, 1, 1);
        enq_send(&two, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(&two, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_recv(&one, &a, 0, 1, MPI_STATUS_IGNORE);
    }
    enq_sync(&one);
    if (enq.rank == 1) {
        enq_expect(&a, ENQ_SMALL, 1);
        enq_expect(&b, ENQ_SMALL, 2);
    }
    ENQ_OK(MPI_Comm_free(&two.comm));
    ENQ_OK(MPIX_Stream_free(&two.stream));
    enq_lane_close(&one);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

/* A message round all ranks, and what each of them does for it. */
struct round {
    const struct enq_lane *in; /* the sender's out is of this communicator */
    const struct enq_lane *out;
    struct enq_buffer a;
    struct enq_buffer b;
    int left;
    int right;
};

/* Rank 0 starts the message; the receive is called first wherever its wait
 * does not stand before the send. */
static void round_start(struct round *round)
{
    bool apart = round->in->cu != round->out->cu;

    enq_fill(&round->a, 1);
    if (apart)
        enq_recv(round->in, &round->b, round->left, 1, MPI_STATUS_IGNORE);
    enq_send(round->out, &round->a, round->right, 1);
    if (!apart)
        enq_recv(round->in, &round->b, round->left, 1, MPI_STATUS_IGNORE);
}

static void round_pass(struct round *round)
{
    CUevent event;

    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    enq_recv(round->in, &round->b, round->left, 1, MPI_STATUS_IGNORE);
    MGDS_CU(cuEventRecord(event, round->in->cu));
    MGDS_CU(cuStreamWaitEvent(round->out->cu, event, 0));
    enq_send(round->out, &round->b, round->right, 1);
    MGDS_CU(cuEventDestroy(event));
}

static void round_trip(const struct enq_lane *in, const struct enq_lane *out)
{
    struct round round = {.in = in, .out = out};

    round.left = (enq.rank + enq.size - 1) % enq.size;
    round.right = (enq.rank + 1) % enq.size;
    enq_buffer_open(&round.a, 65536);
    enq_buffer_open(&round.b, 65536);
    if (enq.rank == 0)
        round_start(&round);
    else
        round_pass(&round);
    enq_sync(in);
    enq_sync(out);
    enq_expect(&round.b, 65536, 1);
    enq_buffer_close(&round.b);
    enq_buffer_close(&round.a);
}

/* Messages alternate between two streams on their way. */
static void cyclic(void)
{
    struct enq_lane lanes[2];
    int left = (enq.rank + enq.size - 1) % enq.size;

    enq_lane_open(&lanes[0]);
    enq_lane_open(&lanes[1]);
    for (int lap = 0; lap < 5; lap++)
        round_trip(&lanes[left % 2], &lanes[enq.rank % 2]);
    enq_lane_close(&lanes[1]);
    enq_lane_close(&lanes[0]);
}

/* Streams that the program has not made: the legacy one stands for all
 * blocking ones, so nothing of the library may be among them. */
static void drivers_streams(void)
{
    const CUstream streams[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    struct enq_lane lane;

    for (int i = 0; i < 3; i++) {
        enq_lane_open_on(&lane, streams[i]);
        for (int lap = 0; lap < 3; lap++)
            round_trip(&lane, &lane);
        enq_lane_close(&lane);
    }
}

/* Received on one stream, waited for on another: its data is seen there. */
static void wait_on_another_stream(void)
{
    struct enq_lane one, two;
    struct enq_buffer a, copy;
    MPI_Request requests[2];

    enq_lane_open(&one);
    enq_lane_open(&two);
    enq_buffer_open(&a, ENQ_LARGE);
    enq_buffer_open(&copy, ENQ_LARGE);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_send(&one, &a, 1, 1);
        enq_send(&two, &a, 1, 2);
    } else if (enq.rank == 1) {
        struct enq_buffer other;

        enq_buffer_open(&other, ENQ_LARGE);
        /* The first request says which stream waits: that of two. */
        enq_irecv(&one, &a, 0, 1, &requests[1]);
        enq_irecv(&two, &other, 0, 2, &requests[0]);
        enq_waitall(2, requests);
        enq_kernel_copy(two.cu, &copy, &a);
        enq_sync(&two);
        enq_expect(&copy, ENQ_LARGE, 1);
        enq_expect(&other, ENQ_LARGE, 1);
        enq_buffer_close(&other);
    }
    enq_lane_close(&two);
    enq_lane_close(&one);
    enq_buffer_close(&copy);
    enq_buffer_close(&a);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case10_cross_dependency", 2, cross_dependency},
        {"case11_duplicate_matches_by_itself", 2, duplicate_matches_by_itself},
        {"case12_one_stream_two_communicators", 2,
         one_stream_two_communicators},
        {"case13_cyclic", 2, cyclic},
        {"case13_drivers_streams", 2, drivers_streams},
        {"case24_wait_on_another_stream", 2, wait_on_another_stream},
        {0},
    };

    return enq_main(argc, argv, "enq streams", cases);
}
