/*
 * A process ends while others have something under way with it. Each case is a
 * run of its own, under mpiexec.mpich -disable-auto-cleanup: rank 1 ends
 * without a word, and rank 0 must come to an end with an error.
 */
#include "tests/enq/enq.h"

#include <stdlib.h>
#include <unistd.h>

/* UCX 1.13 aborts a process whose peer dies in the middle of connecting: that
 * must be over, both ways. */
static void get_acquainted(const struct enq_lane *lane)
{
    int other = 1 - enq.rank, word = 0, got;

    for (int i = 0; enq.rank < 2 && i < 3; i++)
        ENQ_OK(MPI_Sendrecv(&word, 1, MPI_INT, other, 0, &got, 1, MPI_INT,
                            other, 0, lane->comm, MPI_STATUS_IGNORE));
}

/* Rank 1 ends when rank 0 has come here. */
static void lose_rank_1(void)
{
    if (enq.rank == 1) {
        enq_hear(0);
        _exit(0);
    }
    if (enq.rank == 0)
        enq_tell(1);
}

static void expect_wait_fails(MPI_Request *request)
{
    MPI_Status status;

    CHECK(enq_class(MPI_Wait(request, &status)) == MPI_ERR_OTHER);
}

/* A message that nobody fetched. */
static void send_ends(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request request;

    get_acquainted(lane);
    if (enq.rank == 0)
        ENQ_OK(MPI_Issend(b->at, (int)b->bytes, MPI_BYTE, 1, 1, lane->comm,
                          &request));
    lose_rank_1();
    expect_wait_fails(&request);
}

/* A message that nobody sent, by a process that has said nothing yet. */
static void receive_ends(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Request request;

    if (enq.rank == 0)
        ENQ_OK(MPI_Irecv(b->at, (int)b->bytes, MPI_BYTE, 1, 1, lane->comm,
                         &request));
    lose_rank_1();
    expect_wait_fails(&request);
}

static void expect_stream_failed(const struct enq_lane *lane)
{
    int code = MPI_SUCCESS;

    enq_sync(lane);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(enq_class(code) == MPI_ERR_OTHER);
}

/* A stream that stands for a message. */
static void stream_goes_on(const struct enq_lane *lane, struct enq_buffer *b)
{
    get_acquainted(lane);
    if (enq.rank == 0)
        enq_recv(lane, b, 1, 1, MPI_STATUS_IGNORE);
    lose_rank_1();
    expect_stream_failed(lane);
}

/* A stream that stands in a kernel, for a message that was called, but whose
 * stream never came to it. */
static void take_goes_on(const struct enq_lane *lane, struct enq_buffer *b)
{
    struct enq_buffer small;
    struct enq_gate gate;
    MPI_Request request;

    (void)b;
    get_acquainted(lane);
    enq_buffer_open(&small, ENQ_SMALL);
    enq_gate_make(&gate);
    if (enq.rank == 1) {
        enq_gate_hold(&gate, lane->cu);
        enq_isend(lane, &small, 0, 1, &request);
        enq_tell(0);
    } else if (enq.rank == 0) {
        enq_hear(1);
        enq_recv(lane, &small, 1, 1, MPI_STATUS_IGNORE);
    }
    lose_rank_1();
    expect_stream_failed(lane);
}

/* Calls that come when it is known. */
static void later_calls_fail(const struct enq_lane *lane, struct enq_buffer *b)
{
    MPI_Status status;
    int bytes = (int)b->bytes;

    get_acquainted(lane);
    receive_ends(lane, b);
    CHECK(MPI_Send(b->at, bytes, MPI_BYTE, 1, 1, lane->comm) != MPI_SUCCESS);
    CHECK(MPI_Recv(b->at, bytes, MPI_BYTE, 1, 1, lane->comm, &status) !=
          MPI_SUCCESS);
    CHECK(MPI_Probe(1, 1, lane->comm, &status) != MPI_SUCCESS);
    enq_recv(lane, b, 1, 1, MPI_STATUS_IGNORE);
    expect_stream_failed(lane);
}

/* MPI has lost a process: there is no telling how its Finalize would end. */
static void run(void (*part)(const struct enq_lane *, struct enq_buffer *))
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&b, ENQ_LARGE);
    enq_fill(&b, 1);
    part(&lane, &b);
    printf("enq death: all well\n");
    fflush(stdout);
    _exit(0);
}

static void run_send_ends(void)
{
    run(send_ends);
}

static void run_receive_ends(void)
{
    run(receive_ends);
}

static void run_stream_goes_on(void)
{
    run(stream_goes_on);
}

static void run_take_goes_on(void)
{
    run(take_goes_on);
}

static void run_later_calls_fail(void)
{
    run(later_calls_fail);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"send_ends", 2, run_send_ends},
        {"receive_ends", 2, run_receive_ends},
        {"stream_goes_on", 2, run_stream_goes_on},
        {"take_goes_on", 2, run_take_goes_on},
        {"later_calls_fail", 2, run_later_calls_fail},
        {0},
    };

    if (argc < 2) {
        fprintf(stderr, "%s: name one case; see --list\n", argv[0]);
        return 2;
    }
    return enq_main(argc, argv, "enq death", cases);
}
