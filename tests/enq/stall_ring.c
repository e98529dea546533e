/*
 * A message that lies in a ring, and that a host call receives. What fails
 * them: bytes that only a new launch or copy brings to where they belong; a
 * host call that waits for the driver before its receive is over.
 */
#include <string.h>

#include "tests/enq/stall.h"

enum { TAG = 1, BYTES = 5000, MESSAGE = 7 };

/* Whether memory is the driver's can be asked for while nothing comes through
 * only of what the program has at its start. */
static unsigned char bytes[BYTES];

struct ring {
    struct stall stall;
    const struct enq_lane *lane;
    struct enq_buffer out, in;
    void *at;
    MPI_Request sent, received;
};

static void ring_open(struct ring *r, enum stall_way way, int lane, bool gpu)
{
    stall_open(&r->stall, way);
    r->lane = &r->stall.lane[lane];
    r->sent = r->received = MPI_REQUEST_NULL;
    enq_buffer_open(&r->out, BYTES);
    enq_buffer_open(&r->in, BYTES);
    enq_fill(&r->out, MESSAGE);
    memset(bytes, 0, sizeof(bytes));
    r->at = gpu ? (void *)r->in.at : bytes;
}

/* The send is over at the latest when its receive is. */
static void ring_close(struct ring *r)
{
    ENQ_OK(MPI_Wait(&r->sent, MPI_STATUS_IGNORE));
    if (r->at == r->in.at && stall_receives())
        enq_expect(&r->in, BYTES, MESSAGE);
    stall_close(&r->stall);
    enq_buffer_close(&r->in);
    enq_buffer_close(&r->out);
}

static void bytes_check(const struct ring *r, MPI_Status *status)
{
    enq_status_is(status, 0, TAG, BYTES);
    for (size_t i = 0; r->at == bytes && i < BYTES; i++)
        CHECK(bytes[i] == enq_byte(MESSAGE, i));
}

/* In the ring, if there is one, when this returns. */
static void ring_send(struct ring *r)
{
    enq_isend(r->lane, &r->out, stall_to(), TAG, &r->sent);
    enq_sync(r->lane);
}

/* The receive is called when all stands, and the message is there. */
static void receive_of_what_is_there(enum stall_way way, int lane, bool gpu)
{
    MPI_Status status;
    struct ring r;

    ring_open(&r, way, lane, gpu);
    if (stall_sends()) {
        ring_send(&r);
        stall_tell(stall_to());
    }
    if (stall_receives()) {
        stall_hear(0);
        stall_begin(&r.stall);
        ENQ_OK(MPI_Recv(r.at, BYTES, MPI_BYTE, 0, TAG, r.lane->comm, &status));
        bytes_check(&r, &status);
    }
    stall_end(&r.stall);
    ring_close(&r);
}

/* The receive was called before, and the message comes when all stands. */
static void receive_of_what_comes(enum stall_way way, int lane, bool gpu)
{
    MPI_Status status;
    struct ring r;

    ring_open(&r, way, lane, gpu);
    if (enq.rank == 0) {
        enq_hear(1);
        ring_send(&r);
    } else if (enq.rank == 1) {
        ENQ_OK(MPI_Irecv(r.at, BYTES, MPI_BYTE, 0, TAG, r.lane->comm,
                         &r.received));
        stall_begin(&r.stall);
        enq_tell(0);
        ENQ_OK(MPI_Wait(&r.received, &status));
        bytes_check(&r, &status);
    }
    stall_end(&r.stall);
    ring_close(&r);
}

/* On the lane that stands, then on one that does not. */
static void free_there_to_host(void)
{
    receive_of_what_is_there(STALL_FREE, 0, false);
    receive_of_what_is_there(STALL_FREE, STALL_ASIDE, false);
}

static void free_comes_to_host(void)
{
    receive_of_what_comes(STALL_FREE, 0, false);
    receive_of_what_comes(STALL_FREE, STALL_ASIDE, false);
}

static void free_comes_to_gpu(void)
{
    receive_of_what_comes(STALL_FREE, 0, true);
}

static void free_comes_to_gpu_aside(void)
{
    receive_of_what_comes(STALL_FREE, STALL_ASIDE, true);
}

static void queues_there_to_host(void)
{
    receive_of_what_is_there(STALL_QUEUES, 0, false);
    receive_of_what_is_there(STALL_QUEUES, STALL_ASIDE, false);
}

static void queues_there_to_gpu(void)
{
    receive_of_what_is_there(STALL_QUEUES, 0, true);
}

static void queues_comes_to_host(void)
{
    receive_of_what_comes(STALL_QUEUES, 0, false);
    receive_of_what_comes(STALL_QUEUES, STALL_ASIDE, false);
}

static void queues_comes_to_gpu(void)
{
    receive_of_what_comes(STALL_QUEUES, 0, true);
}

static void queues_comes_to_gpu_aside(void)
{
    receive_of_what_comes(STALL_QUEUES, STALL_ASIDE, true);
}

const struct enq_case stall_ring_cases[] = {
    {"free_ring_there_to_host", 1, free_there_to_host},
    {"free_ring_comes_to_host", 2, free_comes_to_host},
    {"free_ring_comes_to_gpu", 2, free_comes_to_gpu},
    {"free_ring_aside_comes_to_gpu", 2, free_comes_to_gpu_aside},
    {"queues_ring_there_to_host", 1, queues_there_to_host},
    {"queues_ring_there_to_gpu", 1, queues_there_to_gpu},
    {"queues_ring_comes_to_host", 2, queues_comes_to_host},
    {"queues_ring_comes_to_gpu", 2, queues_comes_to_gpu},
    {"queues_ring_aside_comes_to_gpu", 2, queues_comes_to_gpu_aside},
    {0},
};
