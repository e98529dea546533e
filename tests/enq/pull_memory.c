/* Memory that long messages are copied out of: used again at once, freed and
 * allocated again, of every kind, at any offset. */
#include <stdlib.h>

#include "tests/enq/pull.h"

enum { TAG = 1 };

enum { AGAIN = 10, SOURCES = 4 };

/* The receiver's stream stands meanwhile, as long as the sender may still be in
 * its first calls. */
static void again_receive(const struct enq_lane *lane, struct pull_set *set,
                          unsigned *state)
{
    struct enq_gate gate;

    enq_gate_make(&gate);
    *state = *state * 1664525 + 1013904223;
    for (int i = 0; i < AGAIN; i++) {
        if (i == (int)(*state >> 16) % AGAIN)
            enq_gate_hold(&gate, lane->cu);
        enq_recv(lane, &set->buffer[i], 0, TAG, MPI_STATUS_IGNORE);
    }
    enq_hear(0);
    enq_gate_open(&gate);
    enq_sync(lane);
    for (int i = 0; i < AGAIN; i++)
        enq_expect(&set->buffer[i], set->buffer[i].bytes,
                   (unsigned)(i % SOURCES) + 1);
    enq_gate_free(&gate);
}

/* The stream writes the next message where the last one was. */
static void again_send(const struct enq_lane *lane, struct pull_set *sources,
                       struct enq_buffer *b, bool blocking)
{
    MPI_Request request;

    for (int i = 0; i < AGAIN; i++) {
        enq_kernel_copy(lane->cu, b, &sources->buffer[i % SOURCES]);
        if (blocking) {
            enq_send(lane, b, 1, TAG);
        } else {
            enq_isend(lane, b, 1, TAG, &request);
            enq_wait(&request, MPI_STATUS_IGNORE);
        }
    }
    enq_kernel_set(lane->cu, b, 0xdd);
    enq_tell(1);
    enq_sync(lane);
}

static void the_same_buffer_again(void)
{
    static const size_t sizes[] = {PULL_LIMIT, PULL_LONG, 300007};
    struct enq_lane lane;
    struct enq_buffer b;
    struct pull_set set;
    unsigned state = 5;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 3 + 3; lap++) {
        size_t bytes = sizes[lap % 3];

        enq_buffer_open(&b, bytes);
        pull_set_open(&set, enq.rank == 0 ? SOURCES : AGAIN, bytes);
        if (enq.rank == 0) {
            pull_set_fill(&set, 1);
            again_send(&lane, &set, &b, lap % 2);
        } else if (enq.rank == 1) {
            again_receive(&lane, &set, &state);
        }
        pull_set_close(&set);
        enq_buffer_close(&b);
    }
    enq_lane_close(&lane);
}

/* The same where the host waits, and writes the next message. */
static void the_same_buffer_again_by_the_host(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, PULL_LONG);
    for (int lap = 0; lap < enq.laps; lap++) {
        if (enq.rank == 0) {
            enq_fill(&b, (unsigned)lap + 1);
            enq_isend(&lane, &b, 1, TAG, &request);
            ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (enq.rank == 1) {
            enq_wipe(&b);
            enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
            enq_sync(&lane);
            enq_expect(&b, PULL_LONG, (unsigned)lap + 1);
        }
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* Sends a buffer so often that the receiver may well have learnt where it is,
 * and then leaves something else there. */
enum { OFTEN = 6 };

static void often(const struct enq_lane *lane, struct enq_buffer *b,
                  unsigned first)
{
    MPI_Status status;

    for (unsigned i = 0; i < OFTEN && enq.rank < 2; i++) {
        if (enq.rank == 0) {
            enq_fill(b, first + i);
            enq_send(lane, b, 1, TAG);
            enq_sync(lane);
        } else {
            enq_wipe(b);
            enq_recv(lane, b, 0, TAG, &status);
            enq_sync(lane);
            enq_status_is(&status, 0, TAG, b->bytes);
            enq_expect(b, b->bytes, first + i);
        }
    }
    if (enq.rank == 0)
        enq_wipe(b);
}

/* The next allocation is at the address of the first one that came behind the
 * last call of this, if that is free. A driver that gives addresses out in turn
 * goes on behind the last range that it gave. */
static void addresses_go_back(void)
{
    enum { UNIT = 2 << 20 };
    static CUdeviceptr place;
    CUdeviceptr hint = place;

    if (place)
        MGDS_CU(cuMemAddressFree(place, UNIT));
    MGDS_CU(cuMemAddressReserve(&place, UNIT, 0, hint, 0));
}

/* Another allocation at the same address, larger, smaller, or as large: of what
 * was there, nothing is seen. */
static void freed_and_allocated_again(void)
{
    static const size_t sizes[] = {3000000, 3000000, 70001, 3500000, 3000000};
    struct enq_lane lane;
    struct enq_buffer b;
    char *last = NULL;
    int same = 0;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 2 + 5; lap++) {
        addresses_go_back();
        enq_buffer_open_alone(&b, sizes[lap % 5]);
        same += b.memory.at == last;
        last = b.memory.at;
        often(&lane, &b, 1 + (unsigned)(lap * OFTEN));
        enq_buffer_close(&b);
    }
    enq_lane_close(&lane);
    if (enq.rank == 0)
        printf("an address came again %d times\n", same);
}

/* Several at a time, freed in another order than allocated, so that one has
 * the place of two, or two have the place of one. */
static void allocations_change_places(void)
{
    struct enq_lane lane;
    struct enq_buffer b[4];

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 5 + 2; lap++) {
        addresses_go_back();
        for (int i = 0; i < 4; i++) {
            enq_buffer_open_alone(&b[i], 2100000);
            often(&lane, &b[i], 1 + (unsigned)(lap * 100 + i * OFTEN));
        }
        for (int i = 0; i < 4; i++)
            enq_buffer_close(&b[(i * 3 + lap) % 4]);
        addresses_go_back();
        enq_buffer_open_alone(&b[0], 4300000);
        often(&lane, &b[0], 50 + (unsigned)lap * 100);
        enq_buffer_close(&b[0]);
    }
    enq_lane_close(&lane);
}

enum { LIVE = PULL_MOST };

/* One message of each. */
static void from_all(const struct enq_lane *lane, struct pull_set *set,
                     unsigned first)
{
    if (enq.rank == 0)
        pull_set_fill(set, first);
    for (int i = 0; i < LIVE && enq.rank == 0; i++)
        enq_isend(lane, &set->buffer[i], 1, i, &set->request[i]);
    for (int i = 0; i < LIVE && enq.rank == 1; i++) {
        enq_wipe(&set->buffer[i]);
        enq_irecv(lane, &set->buffer[i], 0, i, &set->request[i]);
    }
    if (enq.rank < 2)
        enq_waitall(LIVE, set->request);
    enq_sync(lane);
    if (enq.rank == 1)
        pull_set_expect(set, first);
}

/* More allocations than a table of the receiver's may hold. */
static void many_allocations(void)
{
    struct enq_lane lane;
    struct pull_set set;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps / 10 + 1; lap++) {
        set.count = LIVE;
        for (int i = 0; i < LIVE; i++)
            enq_buffer_open_alone(&set.buffer[i], PULL_LIMIT + (size_t)i);
        for (int round = 0; round < 3; round++)
            from_all(&lane, &set, (unsigned)(round * LIVE) + 1);
        pull_set_close(&set);
    }
    enq_lane_close(&lane);
}

/* Memory that no other process can map is sent, too. */
static void kinds_of_memory(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    for (int from = 0; from < MGDS_TEST_KINDS; from++)
        for (int to = 0; to < MGDS_TEST_KINDS; to++) {
            enq_buffer_open_kind(&b, PULL_LONG,
                                 (enum mgds_test_kind)(enq.rank ? to : from));
            often(&lane, &b, 1 + (unsigned)(from * 100 + to * OFTEN));
            enq_buffer_close(&b);
        }
    enq_lane_close(&lane);
}

/* Memory of the process's other GPU, sent by the stream of the first one, and
 * by one of its own. */
static void memory_of_another_gpu(void)
{
    struct enq_lane own, other;
    struct enq_buffer b;

    enq_lane_open(&own);
    enq_lane_open_other(&other);
    enq_buffer_open_other(&b, PULL_LONG);
    for (int lap = 0; lap < enq.laps / 10 + 1; lap++) {
        often(&own, &b, 1 + (unsigned)lap * 100);
        often(&other, &b, 50 + (unsigned)lap * 100);
    }
    enq_lane_close(&other);
    enq_lane_close(&own);
    enq_buffer_close(&b);
}

/* Parts of one allocation, at offsets that divide nothing: sent from one,
 * received at another, and nothing beside it. */
static void part(const struct enq_lane *lane, struct enq_buffer *all,
                 size_t from, size_t to, size_t bytes)
{
    unsigned char *got;
    MPI_Request request;

    if (enq.rank == 0) {
        ENQ_OK(MPIX_Isend_enqueue(all->at + from, (int)bytes, MPI_BYTE, 1, TAG,
                                  lane->comm, &request));
        enq_wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    enq_wipe(all);
    ENQ_OK(MPIX_Recv_enqueue(all->at + to, (int)bytes, MPI_BYTE, 0, TAG,
                             lane->comm, MPI_STATUS_IGNORE));
    enq_sync(lane);
    got = malloc(all->bytes);
    CHECK(got);
    enq_read(all, got, all->bytes);
    for (size_t i = 0; i < all->bytes; i++)
        CHECK(got[i] == (i >= to && i < to + bytes ? enq_byte(1, i - to + from)
                                                   : enq_byte(0, 256 + i)));
    free(got);
}

static void parts_at_odd_offsets(void)
{
    static const size_t at[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 17, 255, 4095};
    static const size_t bytes[] = {PULL_LIMIT, PULL_LIMIT + 7, 33333,
                                   PULL_LONG};
    enum { PLACES = 12 };
    struct enq_lane lane;
    struct enq_buffer all;

    enq_lane_open(&lane);
    enq_buffer_open(&all, PULL_LONG + 4100);
    if (enq.rank == 0)
        enq_fill(&all, 1);
    for (int from = 0; from < PLACES && enq.rank < 2; from++)
        for (int to = 0; to < PLACES; to++)
            part(&lane, &all, at[from], at[to], bytes[(from + to) % 4]);
    enq_lane_close(&lane);
    enq_buffer_close(&all);
}

const struct enq_case pull_memory_cases[] = {
    {"the_same_buffer_again", 2, the_same_buffer_again},
    {"the_same_buffer_again_by_the_host", 2, the_same_buffer_again_by_the_host},
    {"freed_and_allocated_again", 2, freed_and_allocated_again},
    {"allocations_change_places", 2, allocations_change_places},
    {"many_allocations", 2, many_allocations},
    {"kinds_of_memory", 2, kinds_of_memory},
    {"memory_of_another_gpu", 2, memory_of_another_gpu},
    {"parts_at_odd_offsets", 2, parts_at_odd_offsets},
    {0},
};
