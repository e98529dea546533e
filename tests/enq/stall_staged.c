/*
 * Messages through pinned memory of which there is little
 * (MPIX_GDS_STAGE_POOL). What fails them: memory that is pinned when it is
 * needed; memory that a message holds which waits for another one; copies out
 * of it that only a new launch makes; calls that wait for it.
 */
#include <stdlib.h>

#include "tests/enq/stall.h"

enum { TAG = 1, LATER = 2, TIMES = 4 };

/* Bytes that may be pinned. */
static size_t pool(void)
{
    const char *text = getenv("MPIX_GDS_STAGE_POOL");

    if (!text)
        fprintf(stderr, "MPIX_GDS_STAGE_POOL must be set\n");
    CHECK(text);
    return strtoul(text, NULL, 10);
}

/* Four times as long as what there is. Both ends stand still, on the lane that
 * sends, or receives, too. */
static void longer_than_all(enum stall_way way, enum mgds_test_kind from,
                            enum mgds_test_kind to)
{
    const size_t bytes = TIMES * pool();
    struct enq_buffer out, in;
    MPI_Request request;
    struct stall s;

    stall_open(&s, way);
    enq_buffer_open_kind(&out, stall_sends() ? bytes : 1, from);
    enq_buffer_open_kind(&in, stall_receives() ? bytes : 1, to);
    if (enq.rank < 2)
        enq_gate_hold(&s.gate[0], s.lane[0].cu);
    if (stall_sends()) {
        enq_fill(&out, 1);
        enq_isend(&s.lane[0], &out, stall_to(), TAG, &request);
        if (!stall_receives())
            enq_wait(&request, MPI_STATUS_IGNORE);
    }
    if (stall_receives())
        enq_recv(&s.lane[0], &in, 0, TAG, MPI_STATUS_IGNORE);
    if (stall_sends() && stall_receives())
        enq_wait(&request, MPI_STATUS_IGNORE);
    if (enq.rank < 2) {
        stall_mark(&s, 0);
        stall_begin(&s);
        enq_gate_open(&s.gate[0]);
        stall_await(&s, 0, 1);
    }
    stall_end(&s);
    if (stall_receives()) {
        enq_sync(&s.lane[0]);
        enq_expect(&in, bytes, 1);
    }
    stall_close(&s);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

static void free_longer_to_gpu(void)
{
    longer_than_all(STALL_FREE, MGDS_TEST_PINNED, MGDS_TEST_DEVICE);
}

static void free_longer_from_gpu(void)
{
    longer_than_all(STALL_FREE, MGDS_TEST_DEVICE, MGDS_TEST_PINNED);
}

static void queues_longer_to_gpu(void)
{
    longer_than_all(STALL_QUEUES, MGDS_TEST_PINNED, MGDS_TEST_DEVICE);
}

static void queues_longer_from_gpu(void)
{
    longer_than_all(STALL_QUEUES, MGDS_TEST_DEVICE, MGDS_TEST_PINNED);
}

enum { ORDERS = 6 };
static const int orders[ORDERS][STALL_LANES] = {
    {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* Three messages, for each of which there is memory, but not for all if there
 * are 8 MiB. */
enum { THREE_BYTES = 5 << 20 };
struct three {
    struct stall stall;
    size_t bytes;
    struct enq_buffer out[STALL_LANES], in[STALL_LANES];
    MPI_Request sent[STALL_LANES];
};

static void three_open(struct three *t, enum stall_way way)
{
    stall_open(&t->stall, way);
    t->bytes = THREE_BYTES;
    for (int i = 0; i < STALL_LANES; i++) {
        enq_buffer_open_kind(&t->out[i], stall_sends() ? t->bytes : 1,
                             MGDS_TEST_PINNED);
        enq_buffer_open(&t->in[i], stall_receives() ? t->bytes : 1);
        if (stall_sends())
            enq_fill(&t->out[i], (unsigned)i + 1);
        t->sent[i] = MPI_REQUEST_NULL;
    }
}

static void three_close(struct three *t)
{
    for (int i = 0; i < STALL_LANES; i++) {
        ENQ_OK(MPI_Wait(&t->sent[i], MPI_STATUS_IGNORE));
        enq_sync(&t->stall.lane[i]);
        if (stall_receives())
            enq_expect(&t->in[i], t->bytes, (unsigned)i + 1);
        enq_buffer_close(&t->in[i]);
        enq_buffer_close(&t->out[i]);
    }
    stall_close(&t->stall);
}

static void three_send(struct three *t, const int order[])
{
    for (int k = 0; k < STALL_LANES; k++) {
        int i = order[k];

        enq_isend(&t->stall.lane[i], &t->out[i], stall_to(), TAG, &t->sent[i]);
    }
}

/* Each stream comes to its receive when its gate is opened. */
static void three_receive(struct three *t)
{
    for (int i = 0; i < STALL_LANES; i++) {
        enq_gate_hold(&t->stall.gate[i], t->stall.lane[i].cu);
        enq_recv(&t->stall.lane[i], &t->in[i], 0, TAG, MPI_STATUS_IGNORE);
        stall_mark(&t->stall, i);
    }
}

/* One after the other, each when the one before has its message. */
static void three_come(struct three *t, const int order[])
{
    for (int k = 0; k < STALL_LANES; k++) {
        enq_gate_open(&t->stall.gate[order[k]]);
        stall_await(&t->stall, order[k], 1);
    }
}

/* All at once, before anything was sent. */
static void three_stand(struct three *t)
{
    for (int i = 0; i < STALL_LANES; i++)
        enq_gate_open(&t->stall.gate[i]);
}

static void three_await(const struct three *t)
{
    for (int i = 0; i < STALL_LANES; i++)
        stall_await(&t->stall, i, 1);
}

static void wanted_in_order(enum stall_way way, const int order[])
{
    struct three t;

    three_open(&t, way);
    if (stall_sends() && stall_receives())
        three_send(&t, orders[0]);
    if (stall_receives()) {
        three_receive(&t);
        stall_begin(&t.stall);
        stall_tell(0);
        three_come(&t, order);
    } else if (stall_sends()) {
        stall_hear(1);
        three_send(&t, orders[0]);
    }
    stall_end(&t.stall);
    three_close(&t);
}

/* Streams stand for them when they are sent. */
static void three_come_late(struct three *t, const int order[])
{
    if (enq.rank == 1) {
        three_receive(t);
        three_stand(t);
        stall_begin(&t->stall);
        enq_tell(0);
        three_await(t);
    } else if (enq.rank == 0) {
        enq_hear(1);
        three_send(t, order);
    }
    stall_end(&t->stall);
}

static void sent_in_order(enum stall_way way, const int order[])
{
    struct three t;

    three_open(&t, way);
    three_come_late(&t, order);
    three_close(&t);
}

static void free_wanted_in_any_order(void)
{
    for (int i = 0; i < ORDERS; i++)
        wanted_in_order(STALL_FREE, orders[i]);
}

static void free_sent_in_any_order(void)
{
    for (int i = 0; i < ORDERS; i++)
        sent_in_order(STALL_FREE, orders[i]);
}

static void queues_wanted_in_any_order(void)
{
    for (int i = 0; i < ORDERS; i++)
        wanted_in_order(STALL_QUEUES, orders[i]);
}

static void queues_sent_in_any_order(void)
{
    for (int i = 0; i < ORDERS; i++)
        sent_in_order(STALL_QUEUES, orders[i]);
}

/* More receives on each stream than it has claims, of messages that come when
 * all is over. */
enum { MANY = 260, MANY_BYTES = 1 << 20 };

static void many_receive(const struct three *t, struct enq_buffer *b,
                         MPI_Request requests[])
{
    enq_buffer_open(b, MANY_BYTES);
    for (int i = 0; i < STALL_LANES * MANY; i++)
        ENQ_OK(MPIX_Irecv_enqueue(b->at, MANY_BYTES, MPI_BYTE, 0, LATER,
                                  t->stall.lane[i / MANY].comm, &requests[i]));
}

static void many_send(const struct three *t)
{
    for (int i = 0; i < STALL_LANES * MANY; i++)
        ENQ_OK(MPI_Send(NULL, 0, MPI_BYTE, 1, LATER,
                        t->stall.lane[i / MANY].comm));
}

static void queues_behind_many(void)
{
    static MPI_Request requests[STALL_LANES * MANY];
    struct enq_buffer b;
    struct three t;

    three_open(&t, STALL_QUEUES);
    if (enq.rank == 1)
        many_receive(&t, &b, requests);
    three_come_late(&t, orders[0]);
    if (enq.rank == 0)
        many_send(&t);
    if (enq.rank == 1) {
        for (int i = 0; i < STALL_LANES * MANY; i++)
            ENQ_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        enq_buffer_close(&b);
    }
    three_close(&t);
}

const struct enq_case stall_staged_cases[] = {
    {"free_longer_to_gpu", 1, free_longer_to_gpu},
    {"free_longer_from_gpu", 1, free_longer_from_gpu},
    {"queues_longer_to_gpu", 1, queues_longer_to_gpu},
    {"queues_longer_from_gpu", 1, queues_longer_from_gpu},
    {"free_wanted_in_any_order", 1, free_wanted_in_any_order},
    {"free_sent_in_any_order", 2, free_sent_in_any_order},
    {"queues_wanted_in_any_order", 1, queues_wanted_in_any_order},
    {"queues_sent_in_any_order", 2, queues_sent_in_any_order},
    {"queues_behind_many", 2, queues_behind_many},
    {0},
};
