/*
 * MPIX_GDS_TIMEOUT ends what streams stand at, operation by operation, and
 * nothing else: errors are told once, the streams go on with right data, and no
 * send ends while somebody may still read its buffer. Every row sets it: to so
 * much that nothing else takes as long.
 */
#include "tests/enq/enq.h"

#include <stdlib.h>
#include <time.h>

enum { TAG = 7, PATIENCE_S = 60 };

static double timeout; /* seconds */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is enqueued stands meanwhile, for longer than two timeouts. */
static void let_time_pass(void)
{
    double begin = now();
    int flag;

    while (now() - begin < 2.2 * timeout)
        ENQ_OK(MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
}

static void open_lane(struct enq_lane *lane)
{
    enq_lane_open(lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane->comm, MPI_ERRORS_RETURN));
}

/* The stream goes on, and the error is told once. */
static void expect_ended(const struct enq_lane *lane)
{
    double begin = now();
    int code = MPI_SUCCESS, rc;

    do
        rc = enq_class(MPIX_Stream_synchronize(lane->stream, PATIENCE_S));
    while (rc == MPI_SUCCESS && now() - begin < PATIENCE_S);
    CHECK(rc == MPI_ERR_OTHER);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(enq_class(code) == MPI_ERR_OTHER);
}

/* Likewise, when the timeout is over and not before. */
static void expect_expired(const struct enq_lane *lane)
{
    double begin = now();

    expect_ended(lane);
    CHECK(now() - begin > 0.9 * timeout);
}

static void expect_well(const struct enq_lane *lane)
{
    int code = MPI_ERR_OTHER;

    ENQ_OK(MPIX_Stream_synchronize(lane->stream, PATIENCE_S));
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(code == MPI_SUCCESS);
}

static bool has_failed(const struct enq_lane *lane)
{
    int code = MPI_SUCCESS;
    int rc = MPIX_Stream_synchronize(lane->stream, PATIENCE_S);

    CHECK(enq_class(rc) != MPI_ERR_PENDING);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    return rc != MPI_SUCCESS || code != MPI_SUCCESS;
}

/* Of many sends some fail later than others, on a slow machine: whose they are
 * may still be told of them. */
static void expect_passed(const struct enq_lane *lane)
{
    (void)has_failed(lane);
    enq_sync(lane);
}

typedef void (*expectation)(const struct enq_lane *lane);

/* The receiver comes when the message is under way: a slow machine is no reason
 * for a wait to end. */
static void one_more(const struct enq_lane *lane, int from, size_t bytes,
                     unsigned message, expectation expect)
{
    struct enq_buffer b;

    enq_buffer_open(&b, bytes);
    if (enq.rank == from) {
        enq_fill(&b, message);
        enq_send(lane, &b, 1 - from, TAG);
        enq_tell(1 - from);
        expect(lane);
    } else {
        enq_hear(from);
        enq_recv(lane, &b, from, TAG, MPI_STATUS_IGNORE);
        expect(lane);
        enq_expect(&b, bytes, message);
    }
    enq_buffer_close(&b);
}

/* Whatever failed, with the same tag. */
static void both_go_on_as(const struct enq_lane *lane, expectation expect)
{
    static const size_t sizes[] = {ENQ_SMALL, 100000, ENQ_LARGE};

    for (unsigned i = 0; i < 6; i++)
        one_more(lane, (int)(i % 2), sizes[i / 2], 11 + i, expect);
}

static void both_go_on(const struct enq_lane *lane)
{
    both_go_on_as(lane, expect_well);
}

static void receive_of(size_t bytes)
{
    struct enq_lane lane;
    struct enq_buffer b;

    open_lane(&lane);
    enq_buffer_open(&b, bytes);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        expect_expired(&lane);
        enq_expect(&b, 0, 0);
        enq_tell(0);
    } else {
        enq_hear(1);
    }
    both_go_on(&lane);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

static void receive_without_send(void)
{
    receive_of(ENQ_SMALL);
    receive_of(ENQ_LARGE);
}

typedef void (*opener)(struct enq_buffer *b, size_t bytes);

static void open_host(struct enq_buffer *b, size_t bytes)
{
    enq_buffer_open_kind(b, bytes, MGDS_TEST_HOST);
}

/* A buffer that somebody may read as long as the send is not over: when it is,
 * it gets other bytes, and the next receive has those. */
static void send_of(opener open)
{
    struct enq_lane lane;
    struct enq_buffer b;

    open_lane(&lane);
    open(&b, ENQ_LARGE);
    if (enq.rank == 0) {
        enq_fill(&b, 3);
        enq_send(&lane, &b, 1, TAG);
        expect_expired(&lane);
        enq_fill(&b, 4);
        enq_send(&lane, &b, 1, TAG);
        enq_tell(1);
        expect_well(&lane);
    } else {
        enq_hear(0);
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        expect_well(&lane);
        enq_expect(&b, ENQ_LARGE, 4);
    }
    both_go_on(&lane);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

static void send_without_receive(void)
{
    send_of(open_host);
}

/* In a row where long messages are copied by their receivers: others are
 * staged, and wait for nobody. */
static void pulled_send_without_receive(void)
{
    send_of(enq_buffer_open);
}

/* The sender's stream comes to it when the receiver has given it up: the sender
 * hears that nobody got it, though the receiver makes no call of ours. */
static void late_sender_of(size_t bytes)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct enq_gate gate;

    open_lane(&lane);
    enq_buffer_open(&b, bytes);
    enq_gate_make(&gate);
    if (enq.rank == 0) {
        enq_fill(&b, 3);
        enq_gate_hold(&gate, lane.cu);
        enq_send(&lane, &b, 1, TAG);
        enq_tell(1);
        enq_hear(1);
        enq_gate_open(&gate);
        expect_ended(&lane);
        enq_tell(1);
    } else {
        enq_hear(0);
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, 0, 0);
        enq_tell(0);
        enq_hear(0);
        expect_ended(&lane);
    }
    both_go_on(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

static void late_sender(void)
{
    late_sender_of(ENQ_SMALL);
    late_sender_of(100000);
    late_sender_of(ENQ_LARGE);
}

/* The receive is matched, and its stream has something else to do: both fail,
 * and nothing is copied when the stream comes to that, or new bytes would be
 * there. Unless the send is one that waits for nobody: then both complete. */
static void late_receiver_of(opener open, bool stands)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct enq_gate gate;
    int failed, theirs;

    open_lane(&lane);
    open(&b, ENQ_LARGE);
    enq_gate_make(&gate);
    if (enq.rank == 0) {
        enq_fill(&b, 3);
        enq_hear(1);
        enq_send(&lane, &b, 1, TAG);
        let_time_pass();
        failed = has_failed(&lane);
        enq_fill(&b, 4);
        enq_tell(1);
    } else {
        enq_gate_hold(&gate, lane.cu);
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        enq_tell(0);
        enq_hear(0);
        enq_gate_open(&gate);
        failed = has_failed(&lane);
        enq_expect(&b, failed ? 0 : ENQ_LARGE, 3);
    }
    ENQ_OK(
        MPI_Allreduce(&failed, &theirs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(theirs == 2 * failed);
    CHECK(failed || !stands);
    both_go_on(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

static void late_receiver(void)
{
    late_receiver_of(enq_buffer_open, false);
    late_receiver_of(open_host, true);
}

/* As pulled_send_without_receive. */
static void pulled_late_receiver(void)
{
    late_receiver_of(enq_buffer_open, true);
}

/* Streams that stand at sends to each other, each with the receive behind it:
 * the first that is withdrawn lets its stream go on, which may then be in time
 * for the other. Bytes come where no error is told, and nowhere else. */
static bool crossing(const struct enq_lane *lane, opener open)
{
    const int other = 1 - enq.rank;
    struct enq_buffer out, in;
    double begin = now();
    int failed, any;

    open(&out, ENQ_LARGE);
    open(&in, ENQ_LARGE);
    enq_fill(&out, 20 + (unsigned)enq.rank);
    enq_send(lane, &out, other, TAG);
    enq_recv(lane, &in, other, TAG, MPI_STATUS_IGNORE);
    failed = has_failed(lane);
    if (failed)
        CHECK(now() - begin > 0.9 * timeout);
    else
        enq_expect(&in, ENQ_LARGE, 20 + (unsigned)other);
    ENQ_OK(MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    enq_buffer_close(&out);
    enq_buffer_close(&in);
    return any != 0;
}

static void crossing_of(opener open)
{
    struct enq_lane lane;

    open_lane(&lane);
    for (int i = 0; i < 3; i++)
        CHECK(crossing(&lane, open));
    both_go_on(&lane);
    enq_lane_close(&lane);
}

static void crossing_sends(void)
{
    crossing_of(open_host);
}

static void pulled_crossing_sends(void)
{
    crossing_of(enq_buffer_open);
}

/* Of several in one wait only that fails of which nothing comes, known or not.
 */
static void one_of_several_of(bool known)
{
    struct enq_lane lane;
    struct enq_buffer b[3];
    struct enq_gate gate;
    MPI_Request request[3];

    open_lane(&lane);
    enq_gate_make(&gate);
    for (int i = 0; i < 3; i++)
        enq_buffer_open(&b[i], i == 1 ? ENQ_LARGE : ENQ_SMALL);
    if (enq.rank == 1) {
        for (int i = 0; i < 3; i++)
            enq_irecv(&lane, &b[i], 0, i, &request[i]);
        enq_waitall(3, request);
        expect_expired(&lane);
        enq_expect(&b[0], ENQ_SMALL, 5);
        enq_expect(&b[1], 0, 0);
        enq_expect(&b[2], ENQ_SMALL, 6);
        enq_tell(0);
    } else {
        enq_fill(&b[0], 5);
        enq_fill(&b[2], 6);
        enq_send(&lane, &b[0], 1, 0);
        enq_send(&lane, &b[2], 1, 2);
        expect_well(&lane);
        enq_gate_hold(&gate, lane.cu);
        if (known)
            enq_send(&lane, &b[1], 1, 1);
        enq_hear(1);
        enq_gate_open(&gate);
        if (known)
            expect_ended(&lane);
    }
    both_go_on(&lane);
    enq_gate_free(&gate);
    for (int i = 0; i < 3; i++)
        enq_buffer_close(&b[i]);
    enq_lane_close(&lane);
}

static void one_of_several(void)
{
    one_of_several_of(false);
    one_of_several_of(true);
}

/* A long kernel of the program's ahead of a wait is nothing that stands. */
static void long_kernel_ahead(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct enq_gate gate;

    open_lane(&lane);
    enq_buffer_open(&b, ENQ_SMALL);
    enq_gate_make(&gate);
    if (enq.rank == 1) {
        enq_gate_hold(&gate, lane.cu);
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        let_time_pass();
        enq_tell(0);
        enq_hear(0);
        enq_gate_open(&gate);
        expect_well(&lane);
        enq_expect(&b, ENQ_SMALL, 9);
    } else {
        enq_hear(1);
        enq_fill(&b, 9);
        enq_send(&lane, &b, 1, TAG);
        expect_well(&lane);
        enq_tell(1);
    }
    both_go_on(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* More often than a ring has words, and than there are claims. */
static void many_times_of(const struct enq_lane *lane, size_t bytes)
{
    enum { MANY = 150 };
    struct enq_buffer b;
    struct enq_gate gate;
    MPI_Request request[MANY];

    enq_buffer_open(&b, bytes);
    enq_gate_make(&gate);
    if (enq.rank == 0) {
        enq_gate_hold(&gate, lane->cu);
        for (int i = 0; i < MANY; i++)
            enq_isend(lane, &b, 1, TAG, &request[i]);
        enq_waitall(MANY, request);
        enq_tell(1);
        enq_hear(1);
        enq_gate_open(&gate);
        expect_ended(lane);
    } else {
        enq_hear(0);
        for (int i = 0; i < MANY; i++)
            enq_irecv(lane, &b, 0, TAG, &request[i]);
        enq_waitall(MANY, request);
        expect_ended(lane);
        enq_tell(0);
    }
    enq_sync(lane);
    (void)has_failed(lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

static void many_times(void)
{
    struct enq_lane lane;

    open_lane(&lane);
    for (int lap = 0; lap < 2; lap++) {
        many_times_of(&lane, ENQ_SMALL);
        many_times_of(&lane, 8192);
        both_go_on_as(&lane, enq.rank == 0 ? expect_passed : expect_well);
    }
    enq_lane_close(&lane);
}

/* What has failed is over: nothing of it is waited for. */
static void disconnect_after(void)
{
    struct enq_lane lane, other;
    struct enq_buffer b;

    open_lane(&other);
    open_lane(&lane);
    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        expect_expired(&lane);
        enq_tell(0);
    } else {
        enq_hear(1);
    }
    ENQ_OK(MPI_Comm_disconnect(&lane.comm));
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    MGDS_CU(cuStreamDestroy(lane.cu));
    both_go_on(&other);
    enq_buffer_close(&b);
    enq_lane_close(&other);
}

/* Who has freed the communicator will not receive, and has not died. */
static void receiver_frees(void)
{
    struct enq_lane lane, other;
    struct enq_buffer b;

    open_lane(&other);
    open_lane(&lane);
    open_host(&b, ENQ_LARGE);
    if (enq.rank == 0) {
        enq_send(&lane, &b, 1, TAG);
        enq_tell(1);
        enq_hear(1);
        expect_expired(&lane);
        enq_tell(1);
    } else {
        enq_hear(0);
        ENQ_OK(MPI_Comm_free(&lane.comm));
        enq_tell(0);
        enq_hear(0);
    }
    both_go_on(&other);
    if (enq.rank == 0)
        ENQ_OK(MPI_Comm_free(&lane.comm));
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_buffer_close(&b);
    enq_lane_close(&other);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"receive_without_send", 2, receive_without_send},
        {"send_without_receive", 2, send_without_receive},
        {"pulled_send_without_receive", 2, pulled_send_without_receive},
        {"late_sender", 2, late_sender},
        {"late_receiver", 2, late_receiver},
        {"one_of_several", 2, one_of_several},
        {"long_kernel_ahead", 2, long_kernel_ahead},
        {"pulled_late_receiver", 2, pulled_late_receiver},
        {"crossing_sends", 2, crossing_sends},
        {"pulled_crossing_sends", 2, pulled_crossing_sends},
        {"many_times", 2, many_times},
        {"disconnect_after", 2, disconnect_after},
        {"receiver_frees", 2, receiver_frees},
        {0},
    };
    const char *set = getenv("MPIX_GDS_TIMEOUT");

    timeout = set ? atof(set) : 0;
    CHECK(timeout > 0);
    return enq_main(argc, argv, "enq d9_timeout", cases);
}
