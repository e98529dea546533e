/*
 * Messages, and windows of messages, that are longer than what may be pinned
 * (MPIX_GDS_STAGE_POOL): no call waits for memory, and none fails. A run is of
 * any of the cases, on one host and on two; ranks from 2 on have no messages.
 */
#include "tests/enq/enq.h"

#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

enum { WINDOW = 20, LANES = 3, LONG_MIB = 64 };

/* The memory of what is sent is mapped by then, on one host. */
static void meet(const struct enq_lane *lane, struct enq_buffer *b)
{
    struct enq_buffer small;

    enq_buffer_open(&small, MIB);
    for (int i = 0; i < 2; i++) {
        if (enq.rank == 0)
            ENQ_OK(
                MPIX_Send_enqueue(b->at, (int)MIB, MPI_BYTE, 1, 0, lane->comm));
        else if (enq.rank == 1)
            enq_recv(lane, &small, 0, 0, MPI_STATUS_IGNORE);
        enq_sync(lane);
    }
    enq_buffer_close(&small);
}

static void send_window(const struct enq_lane *lane, const struct enq_buffer *b,
                        int to, MPI_Request requests[WINDOW])
{
    for (size_t i = 0; i < WINDOW; i++)
        ENQ_OK(MPIX_Isend_enqueue(b->at + i * MIB, (int)MIB, MPI_BYTE, to, 1,
                                  lane->comm, &requests[i]));
}

static void receive_window(const struct enq_lane *lane,
                           const struct enq_buffer *b, int from,
                           MPI_Request requests[WINDOW])
{
    for (size_t i = 0; i < WINDOW; i++)
        ENQ_OK(MPIX_Irecv_enqueue(b->at + i * MIB, (int)MIB, MPI_BYTE, from, 1,
                                  lane->comm, &requests[i]));
}

static unsigned char *host_memory(size_t bytes)
{
    unsigned char *memory = (unsigned char *)malloc(bytes);

    CHECK(memory);
    memset(memory, 0, bytes);
    return memory;
}

static void expect_bytes(const unsigned char *got, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        CHECK(got[i] == enq_byte(1, i));
}

static void receive_to_host(const struct enq_lane *lane, size_t bytes,
                            size_t count)
{
    unsigned char *got = host_memory(bytes * count);
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];

    for (size_t i = 0; i < count; i++)
        ENQ_OK(MPI_Irecv(got + i * bytes, (int)bytes, MPI_BYTE, 0, 1,
                         lane->comm, &requests[i]));
    enq_tell(0);
    ENQ_OK(MPI_Waitall((int)count, requests, statuses));
    expect_bytes(got, bytes * count);
    free(got);
}

/* Enqueued sends into receives of host memory that were all posted before. */
static void window_to_host(void)
{
    MPI_Request requests[WINDOW];
    struct enq_buffer b = {.bytes = 0};
    struct enq_lane lane;

    enq_lane_open(&lane);
    if (enq.rank == 0)
        enq_buffer_open(&b, WINDOW * MIB);
    meet(&lane, &b);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        send_window(&lane, &b, 1, requests);
        enq_waitall(WINDOW, requests);
    } else if (enq.rank == 1) {
        receive_to_host(&lane, MIB, WINDOW);
    }
    enq_lane_close(&lane);
    if (enq.rank == 0)
        enq_buffer_close(&b);
}

static void long_to_host(void)
{
    const size_t bytes = LONG_MIB * MIB;
    struct enq_buffer b = {.bytes = 0};
    struct enq_lane lane;

    enq_lane_open(&lane);
    if (enq.rank == 0)
        enq_buffer_open(&b, bytes);
    meet(&lane, &b);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        enq_send(&lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        receive_to_host(&lane, bytes, 1);
    }
    enq_lane_close(&lane);
    if (enq.rank == 0)
        enq_buffer_close(&b);
}

static void long_to_gpu(void)
{
    struct enq_buffer b;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open(&b, LONG_MIB * MIB);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, b.bytes, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* Shorter than what was sent: what has no place is left out. */
static void long_is_cut(void)
{
    const int most = 3 * (int)MIB + 5;
    struct enq_buffer b;
    struct enq_lane lane;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&b, LONG_MIB * MIB);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        MPIX_Recv_enqueue(b.at, most, MPI_BYTE, 0, 1, lane.comm,
                          MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, (size_t)most, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* All are called before any receive of them is. */
static void window_of_sends(void)
{
    MPI_Request requests[WINDOW];
    struct enq_buffer b;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open(&b, WINDOW * MIB);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        send_window(&lane, &b, 1, requests);
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_hear(0);
        receive_window(&lane, &b, 0, requests);
    }
    if (enq.rank < 2)
        enq_waitall(WINDOW, requests);
    enq_sync(&lane);
    if (enq.rank == 1)
        enq_expect(&b, WINDOW * MIB, 1);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static void cross(const struct enq_lane *lane, struct enq_buffer *out,
                  struct enq_buffer *in)
{
    MPI_Request sends[WINDOW], receives[WINDOW];
    int other = 1 - enq.rank;

    enq_fill(out, (unsigned)enq.rank + 1);
    send_window(lane, out, other, sends);
    receive_window(lane, in, other, receives);
    enq_waitall(WINDOW, receives);
    enq_waitall(WINDOW, sends);
    enq_sync(lane);
    enq_expect(in, WINDOW * MIB, (unsigned)other + 1);
}

/* Both ranks have all fragments for what comes, and all for what goes. */
static void windows_cross(void)
{
    struct enq_buffer out, in;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open(&out, WINDOW * MIB);
    enq_buffer_open(&in, WINDOW * MIB);
    if (enq.rank < 2)
        cross(&lane, &out, &in);
    enq_lane_close(&lane);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

enum { ORDERS = 6 };
static const int orders[ORDERS][LANES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* Streams that want fragments, in that order at one end, in another at the
 * other. */
static void streams_want(const int send_order[], const int receive_order[])
{
    struct enq_lane lane[LANES];
    struct enq_buffer b[LANES];

    for (int i = 0; i < LANES; i++) {
        enq_lane_open(&lane[i]);
        enq_buffer_open(&b[i], 5 * MIB);
        if (enq.rank == 0)
            enq_fill(&b[i], (unsigned)i + 1);
    }
    for (int k = 0; k < LANES; k++) {
        int i = enq.rank == 0 ? send_order[k] : receive_order[k];

        if (enq.rank == 0)
            enq_send(&lane[i], &b[i], 1, 1);
        else if (enq.rank == 1)
            enq_recv(&lane[i], &b[i], 0, 1, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < LANES; i++) {
        enq_sync(&lane[i]);
        if (enq.rank == 1)
            enq_expect(&b[i], 5 * MIB, (unsigned)i + 1);
    }
    for (int i = 0; i < LANES; i++) {
        enq_buffer_close(&b[i]);
        enq_lane_close(&lane[i]);
    }
}

static void streams_in_any_order(void)
{
    for (int i = 0; i < ORDERS; i++)
        streams_want(orders[0], orders[i]);
}

/* Every second block of 64 KiB: no kernel copies it out of where it is. */
static void window_with_gaps(void)
{
    MPI_Request requests[WINDOW];
    struct enq_buffer b;
    struct enq_lane lane;
    MPI_Datatype gaps;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 2 * MIB);
    ENQ_OK(MPI_Type_vector(16, 1 << 16, 1 << 17, MPI_BYTE, &gaps));
    ENQ_OK(MPI_Type_commit(&gaps));
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        for (int i = 0; i < WINDOW; i++)
            ENQ_OK(MPIX_Isend_enqueue(b.at, 1, gaps, 1, 1, lane.comm,
                                      &requests[i]));
        enq_tell(1);
        enq_waitall(WINDOW, requests);
    } else if (enq.rank == 1) {
        enq_hear(0);
        for (int i = 0; i < WINDOW; i++)
            ENQ_OK(MPIX_Recv_enqueue(b.at, 1, gaps, 0, 1, lane.comm,
                                     MPI_STATUS_IGNORE));
    }
    enq_sync(&lane);
    ENQ_OK(MPI_Type_free(&gaps));
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"window_to_host", 2, window_to_host},
        {"long_to_host", 2, long_to_host},
        {"long_to_gpu", 2, long_to_gpu},
        {"long_is_cut", 2, long_is_cut},
        {"window_of_sends", 2, window_of_sends},
        {"windows_cross", 2, windows_cross},
        {"streams_in_any_order", 2, streams_in_any_order},
        {"window_with_gaps", 2, window_with_gaps},
        {0},
    };

    return enq_main(argc, argv, "enq little", cases);
}
