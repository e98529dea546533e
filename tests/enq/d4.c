/*
 * D4: numbers that grow as long as a program runs come to 2^31, 2^32 and 2^63,
 * where words of 32 bits, and comparisons with a sign, would begin anew. Builds
 * with the fault hook begin to count shortly before (MPIX_GDS_COUNT_FROM); in
 * each lap every way of a message is gone once.
 */
#include <string.h>

#include "tests/enq/enq.h"

enum { SHORT = 64, LONG = 12288, HELD = 16 /* laps */ };

struct both {
    struct enq_lane lane;
    struct enq_buffer out, in, long_out, long_in;
    struct enq_gate gate;
    int other;
};

static unsigned pattern(int lap, int rank)
{
    return (unsigned)(2 * lap + rank + 1);
}

static void open_both(struct both *b)
{
    enq_lane_open(&b->lane);
    enq_buffer_open(&b->out, SHORT);
    enq_buffer_open(&b->in, SHORT);
    enq_buffer_open(&b->long_out, LONG);
    enq_buffer_open(&b->long_in, LONG);
    enq_gate_make(&b->gate);
    b->other = 1 - enq.rank;
}

static void close_both(struct both *b)
{
    enq_lane_close(&b->lane);
    enq_gate_free(&b->gate);
    enq_buffer_close(&b->long_in);
    enq_buffer_close(&b->long_out);
    enq_buffer_close(&b->in);
    enq_buffer_close(&b->out);
}

static void fill_all(struct both *b, int lap)
{
    enq_fill(&b->out, pattern(lap, enq.rank));
    enq_fill(&b->long_out, pattern(lap, enq.rank));
    enq_wipe(&b->in);
    enq_wipe(&b->long_in);
}

static void expect_all(const struct both *b, int lap)
{
    enq_sync(&b->lane);
    enq_expect(&b->in, SHORT, pattern(lap, b->other));
    enq_expect(&b->long_in, LONG, pattern(lap, b->other));
}

/* One way, then the other: each stream takes what the other one sends. */
static void ping(struct both *b, struct enq_buffer *out, struct enq_buffer *in)
{
    if (enq.rank == 0)
        enq_send(&b->lane, out, 1, 1);
    enq_recv(&b->lane, in, b->other, 1, MPI_STATUS_IGNORE);
    if (enq.rank == 1)
        enq_send(&b->lane, out, 0, 1);
}

static void ping_pong(struct both *b, int lap)
{
    fill_all(b, lap);
    ping(b, &b->out, &b->in);
    ping(b, &b->long_out, &b->long_in);
    expect_all(b, lap);
}

/* Both ways at a time, waited for by the streams or by the host. */
static void cross(struct both *b, int lap)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];

    fill_all(b, lap);
    enq_irecv(&b->lane, &b->in, b->other, 2, &requests[0]);
    enq_irecv(&b->lane, &b->long_in, b->other, 3, &requests[1]);
    enq_isend(&b->lane, &b->out, b->other, 2, &requests[2]);
    enq_isend(&b->lane, &b->long_out, b->other, 3, &requests[3]);
    if (lap % 2)
        enq_waitall(4, requests);
    else
        ENQ_OK(MPI_Waitall(4, requests, statuses));
    expect_all(b, lap);
}

static void receive_on_the_host(const struct both *b, int lap)
{
    unsigned char bytes[SHORT];
    int from = lap % 4 ? b->other : MPI_ANY_SOURCE;

    memset(bytes, 0, sizeof(bytes));
    ENQ_OK(MPI_Recv(bytes, SHORT, MPI_BYTE, from, 4, b->lane.comm,
                    MPI_STATUS_IGNORE));
    for (size_t i = 0; i < SHORT; i++)
        CHECK(bytes[i] == enq_byte(pattern(lap, b->other), i));
}

/* Staged: the CPU of the sender has to see that its stream has come there, and
 * not before it has. Now and then that takes time. */
static void send_to_the_host(struct both *b, int lap, MPI_Request *request)
{
    bool held = lap % HELD == 0;

    enq_fill(&b->in, pattern(lap, enq.rank));
    enq_wipe(&b->out);
    if (held) {
        __atomic_store_n(b->gate.word, 0, __ATOMIC_RELEASE);
        enq_gate_hold(&b->gate, b->lane.cu);
    }
    enq_kernel_copy(b->lane.cu, &b->out, &b->in);
    enq_isend(&b->lane, &b->out, b->other, 4, request);
    enq_gate_open(&b->gate);
}

static void to_the_host(struct both *b, int lap)
{
    MPI_Request request;

    send_to_the_host(b, lap, &request);
    receive_on_the_host(b, lap);
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    enq_sync(&b->lane);
}

static void every_way(void)
{
    struct both b;

    open_both(&b);
    for (int lap = 0; lap < enq.laps && enq.rank < 2; lap++) {
        ping_pong(&b, lap);
        cross(&b, lap);
        to_the_host(&b, lap);
    }
    close_both(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"every_way", 2, every_way},
        {0},
    };

    return enq_main(argc, argv, "enq d4", cases);
}
