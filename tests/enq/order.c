/* Messages of one pair in the order of the calls, on one stream. */
#include "tests/enq/enq.h"

/* Two messages of one tag, of such sizes; between them nothing, or work. */
static void two_in_order(const struct enq_lane *lane, size_t first,
                         size_t second, bool work)
{
    struct enq_buffer a, b, scratch;

    enq_buffer_open(&a, first);
    enq_buffer_open(&b, second);
    enq_buffer_open(&scratch, 4096);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_send(lane, &a, 1, 5);
        if (work)
            enq_kernel_set(lane->cu, &scratch, 3);
        enq_send(lane, &b, 1, 5);
    } else if (enq.rank == 1) {
        enq_recv(lane, &a, 0, 5, MPI_STATUS_IGNORE);
        if (work)
            enq_kernel_set(lane->cu, &scratch, 3);
        enq_recv(lane, &b, 0, 5, MPI_STATUS_IGNORE);
    }
    enq_sync(lane);
    if (enq.rank == 1) {
        enq_expect(&a, first, 1);
        enq_expect(&b, second, 2);
    }
    enq_buffer_close(&scratch);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

static void same_tag_order(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int work = 0; work < 2; work++) {
        for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++) {
            two_in_order(&lane, *size, ENQ_SMALL, work);
            two_in_order(&lane, ENQ_SMALL, *size, work);
        }
        two_in_order(&lane, ENQ_LARGE, ENQ_LARGE, work);
    }
    enq_lane_close(&lane);
}

static void crossing(const struct enq_lane *lane, size_t bytes)
{
    struct enq_buffer a, b;
    MPI_Request requests[2];

    enq_buffer_open(&a, bytes);
    enq_buffer_open(&b, bytes);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_isend(lane, &a, 1, 1, &requests[0]);
        enq_isend(lane, &b, 1, 2, &requests[1]);
    } else if (enq.rank == 1) {
        enq_irecv(lane, &b, 0, 2, &requests[0]);
        enq_irecv(lane, &a, 0, 1, &requests[1]);
    }
    if (enq.rank < 2) {
        enq_wait(&requests[0], MPI_STATUS_IGNORE);
        enq_wait(&requests[1], MPI_STATUS_IGNORE);
    }
    enq_sync(lane);
    if (enq.rank == 1) {
        enq_expect(&a, bytes, 1);
        enq_expect(&b, bytes, 2);
    }
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

static void tag_crossing(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++)
        crossing(&lane, *size);
    enq_lane_close(&lane);
}

/* Small ones only: large ones may wait for each other, as in MPI. */
static void tag_crossing_blocking(void)
{
    struct enq_lane lane;
    struct enq_buffer a, b;

    enq_lane_open(&lane);
    enq_buffer_open(&a, ENQ_SMALL);
    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_send(&lane, &a, 1, 1);
        enq_send(&lane, &b, 1, 2);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 2, MPI_STATUS_IGNORE);
        enq_recv(&lane, &a, 0, 1, MPI_STATUS_IGNORE);
    }
    enq_sync(&lane);
    if (enq.rank == 1) {
        enq_expect(&a, ENQ_SMALL, 1);
        enq_expect(&b, ENQ_SMALL, 2);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

/* K and the go message must run before a is matched. */
static void isend_lets_the_stream_go_on(void)
{
    struct enq_lane one, two;
    struct enq_buffer a, go, scratch;
    MPI_Request request;

    enq_lane_open(&one);
    if (enq.rank < 2)
        enq_lane_open_on(&two, one.cu);
    else
        enq_lane_open_as(&two, false);
    enq_buffer_open(&a, ENQ_LARGE);
    enq_buffer_open(&go, ENQ_SMALL);
    enq_buffer_open(&scratch, 4096);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&go, 2);
        enq_isend(&one, &a, 1, 1, &request);
        enq_kernel_set(one.cu, &scratch, 9);
        enq_send(&two, &go, 1, 1);
        enq_wait(&request, MPI_STATUS_IGNORE);
    } else if (enq.rank == 1) {
        enq_recv(&two, &go, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&two);
        enq_expect(&go, ENQ_SMALL, 2);
        enq_recv(&one, &a, 0, 1, MPI_STATUS_IGNORE);
    }
    enq_sync(&one);
    if (enq.rank == 1)
        enq_expect(&a, ENQ_LARGE, 1);
    ENQ_OK(MPI_Comm_free(&two.comm));
    if (enq.rank < 2)
        ENQ_OK(MPIX_Stream_free(&two.stream));
    enq_lane_close(&one);
    enq_buffer_close(&scratch);
    enq_buffer_close(&go);
    enq_buffer_close(&a);
}

enum { BATCH = 5 };

struct ring {
    struct enq_lane lane;
    struct enq_buffer out[BATCH];
    struct enq_buffer in[BATCH];
    MPI_Request requests[2 * BATCH];
};

static unsigned ring_message(int rank, int lap)
{
    return (unsigned)(rank * 100000 + lap + 1);
}

static void ring_open(struct ring *ring, int lap)
{
    const size_t *sizes = enq_sizes();
    int count = 1; /* there is one at least */

    while (sizes[count] != ENQ_NO_SIZE)
        count++;
    for (int i = 0; i < BATCH; i++) {
        size_t bytes = sizes[(lap + i) % count];

        enq_buffer_open(&ring->out[i], bytes);
        enq_buffer_open(&ring->in[i], bytes);
        enq_fill(&ring->out[i], ring_message(enq.rank, lap + i));
    }
}

static void ring_close(struct ring *ring, int lap)
{
    int left = (enq.rank + enq.size - 1) % enq.size;

    enq_sync(&ring->lane);
    for (int i = 0; i < BATCH; i++) {
        enq_expect(&ring->in[i], ring->in[i].bytes,
                   ring_message(left, lap + i));
        enq_buffer_close(&ring->in[i]);
        enq_buffer_close(&ring->out[i]);
    }
}

/* One lap: the receive first; the wait names them in either order. */
static void ring_lap(struct ring *ring, int i)
{
    int right = (enq.rank + 1) % enq.size;
    int left = (enq.rank + enq.size - 1) % enq.size;
    int first = i % 2;
    MPI_Request *requests = &ring->requests[2 * (ptrdiff_t)i];

    enq_irecv(&ring->lane, &ring->in[i], left, 3, &requests[first]);
    enq_isend(&ring->lane, &ring->out[i], right, 3, &requests[1 - first]);
}

/* Each lap waits for itself, or all laps of a batch at its end. */
static void ring_laps(bool together)
{
    struct ring ring;

    enq_lane_open(&ring.lane);
    for (int lap = 0; lap < enq.laps; lap += BATCH) {
        ring_open(&ring, lap);
        for (int i = 0; i < BATCH; i++) {
            ring_lap(&ring, i);
            if (!together)
                enq_waitall(2, &ring.requests[2 * (ptrdiff_t)i]);
        }
        if (together)
            enq_waitall(2 * BATCH, ring.requests);
        ring_close(&ring, lap);
    }
    enq_lane_close(&ring.lane);
}

static void ring_waits_for_each_lap(void)
{
    ring_laps(false);
}

static void ring_waits_for_many_laps(void)
{
    ring_laps(true);
}

/* A plain call orders behind what was enqueued, in match order only: it does
 * not wait for the stream, which stands. */
static void plain_between_enqueues(void)
{
    struct enq_lane lane;
    struct enq_buffer a, b;
    struct enq_gate gate;
    MPI_Request first, second;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&a, 4096);
    enq_buffer_open_kind(&b, 4096, MGDS_TEST_HOST);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_gate_hold(&gate, lane.cu);
        enq_isend(&lane, &a, 1, 4, &first);
        ENQ_OK(MPI_Send(b.at, 4096, MPI_BYTE, 1, 4, lane.comm));
        enq_tell(1);
        enq_hear(1);
        enq_gate_open(&gate);
        enq_wait(&first, MPI_STATUS_IGNORE);
    } else if (enq.rank == 1) {
        enq_hear(0);
        enq_irecv(&lane, &a, 0, 4, &first);
        ENQ_OK(MPI_Irecv(b.at, 4096, MPI_BYTE, 0, 4, lane.comm, &second));
        enq_tell(0);
        enq_wait(&first, MPI_STATUS_IGNORE);
        ENQ_OK(MPI_Wait(&second, &status));
        enq_status_is(&status, 0, 4, 4096);
    }
    enq_sync(&lane);
    if (enq.rank == 1) {
        enq_expect(&a, 4096, 1);
        enq_expect(&b, 4096, 2);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case01_same_tag_order", 2, same_tag_order},
        {"case02_tag_crossing", 2, tag_crossing},
        {"case02_tag_crossing_blocking", 2, tag_crossing_blocking},
        {"case04_isend_lets_the_stream_go_on", 2, isend_lets_the_stream_go_on},
        {"case05_ring_waits_for_each_lap", 2, ring_waits_for_each_lap},
        {"case05_ring_waits_for_many_laps", 2, ring_waits_for_many_laps},
        {"case09_plain_between_enqueues", 2, plain_between_enqueues},
        {0},
    };

    return enq_main(argc, argv, "enq order", cases);
}
