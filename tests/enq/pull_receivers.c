/* Long enqueued messages by who sends and who receives them: streams, hosts,
 * probes, nobody; and into which memory and datatype. */
#include <stdlib.h>

#include "tests/enq/pull.h"

enum { TAG = 1 };

/* One message. Ways of either end have a first half that calls, and a second
 * one, behind which the stream has ended and all is there. */
struct end {
    const struct enq_lane *lane, *other, *third;
    struct enq_buffer b, copy;
    struct enq_gate gate;
    MPI_Request request[2];
    MPI_Status status;
    bool no_status;
};

struct way {
    void (*start)(struct end *e); /* NULL: nothing */
    void (*finish)(struct end *e);
};

static void call_send(struct end *e)
{
    enq_send(e->lane, &e->b, 1, TAG);
}

static void call_isend(struct end *e)
{
    enq_isend(e->lane, &e->b, 1, TAG, &e->request[0]);
}

static void call_recv(struct end *e)
{
    enq_recv(e->lane, &e->b, 0, TAG, &e->status);
}

static void call_irecv(struct end *e)
{
    enq_irecv(e->lane, &e->b, 0, TAG, &e->request[0]);
}

static void call_plain_irecv(struct end *e)
{
    ENQ_OK(MPI_Irecv(e->b.at, (int)e->b.bytes, MPI_BYTE, 0, TAG, e->lane->comm,
                     &e->request[0]));
}

static void by_sync(struct end *e)
{
    enq_sync(e->lane);
}

static void by_stream_wait(struct end *e)
{
    enq_wait(&e->request[0], &e->status);
    enq_sync(e->lane);
}

static void by_host_wait(struct end *e)
{
    ENQ_OK(MPI_Wait(&e->request[0], &e->status));
}

static void by_host_test(struct end *e)
{
    for (int flag = 0; !flag;)
        ENQ_OK(MPI_Test(&e->request[0], &flag, &e->status));
}

static void by_nobody(struct end *e)
{
    ENQ_OK(MPI_Request_free(&e->request[0]));
    ENQ_OK(MPIX_Stream_synchronize(e->lane->stream, 60));
    e->no_status = true;
}

static void by_plain_recv(struct end *e)
{
    ENQ_OK(MPI_Recv(e->b.at, (int)e->b.bytes, MPI_BYTE, 0, TAG, e->lane->comm,
                    &e->status));
}

static void by_mprobe(struct end *e)
{
    MPI_Message message;

    ENQ_OK(MPI_Mprobe(0, TAG, e->lane->comm, &message, &e->status));
    enq_status_is(&e->status, 0, TAG, e->b.bytes);
    ENQ_OK(MPI_Mrecv(e->b.at, (int)e->b.bytes, MPI_BYTE, &message, &e->status));
}

static void by_improbe(struct end *e)
{
    MPI_Message message;

    for (int flag = 0; !flag;)
        ENQ_OK(MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, e->lane->comm, &flag,
                           &message, &e->status));
    ENQ_OK(MPI_Imrecv(e->b.at, (int)e->b.bytes, MPI_BYTE, &message,
                      &e->request[0]));
    ENQ_OK(MPI_Wait(&e->request[0], &e->status));
}

static void by_probe_and_stream(struct end *e)
{
    ENQ_OK(MPI_Probe(MPI_ANY_SOURCE, TAG, e->lane->comm, &e->status));
    enq_status_is(&e->status, 0, TAG, e->b.bytes);
    call_recv(e);
    by_sync(e);
}

/* The receive's own stream goes no further than the call. */
static void call_irecv_and_stand(struct end *e)
{
    enq_gate_make(&e->gate);
    call_irecv(e);
    enq_gate_hold(&e->gate, e->lane->cu);
}

/* What waits in the other stream, and in a third one behind that, sees it. */
static void by_other_stream(struct end *e)
{
    MPI_Status status[2];
    CUevent event;

    e->request[1] = e->request[0];
    enq_isend(e->other, &e->b, MPI_PROC_NULL, TAG, &e->request[0]);
    ENQ_OK(MPIX_Waitall_enqueue(2, e->request, status));
    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    MGDS_CU(cuEventRecord(event, e->other->cu));
    MGDS_CU(cuStreamWaitEvent(e->third->cu, event, 0));
    /* the driver copies pageable memory when it is called, not in order */
    if (e->b.memory.kind != MGDS_TEST_HOST)
        enq_kernel_copy(e->third->cu, &e->copy, &e->b);
    enq_sync(e->third);
    e->status = status[1];
    enq_expect(e->b.memory.kind != MGDS_TEST_HOST ? &e->copy : &e->b,
               e->b.bytes, 1);
    enq_gate_open(&e->gate);
    enq_sync(e->lane);
    enq_gate_free(&e->gate);
    MGDS_CU(cuEventDestroy(event));
}

static const struct way senders[] = {
    {call_send, by_sync},       {call_isend, by_stream_wait},
    {call_isend, by_host_wait}, {call_isend, by_host_test},
    {call_isend, by_nobody},
};
enum { SENDERS = 5 };

/* The receiver calls before the sender does, or when the sender's stream has
 * come to its call: then its waits are called first. */
static void message(struct end *e, const struct way *send,
                    const struct way *recv, bool late)
{
    if (enq.rank == 0) {
        enq_fill(&e->b, 1);
        if (!late)
            enq_hear(1);
        send->start(e);
        if (late)
            enq_tell(1);
        send->finish(e);
        enq_fill(&e->b, 2); /* it is the program's again */
    } else if (enq.rank == 1) {
        if (late)
            enq_hear(0);
        if (recv->start)
            recv->start(e);
        if (!late)
            enq_tell(0);
        recv->finish(e);
        if (!e->no_status)
            enq_status_is(&e->status, 0, TAG, e->b.bytes);
        enq_expect(&e->b, e->b.bytes, 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void messages(struct end *e, const struct way *recv,
                     enum mgds_test_kind kind, size_t bytes)
{
    for (int i = 0; i < 2 * SENDERS; i++) {
        e->no_status = false;
        enq_buffer_open_kind(&e->b, bytes,
                             enq.rank == 1 ? kind : MGDS_TEST_DEVICE);
        enq_buffer_open(&e->copy, bytes);
        message(e, &senders[i / 2], recv, i % 2);
        enq_buffer_close(&e->copy);
        enq_buffer_close(&e->b);
    }
}

static void received(const struct way *recv)
{
    static const size_t sizes[] = {PULL_LIMIT, PULL_LONG, ENQ_LARGE};
    struct enq_lane lane, other, third;
    struct end e = {.lane = &lane, .other = &other, .third = &third};

    enq_lane_open(&lane);
    enq_lane_open(&other);
    enq_lane_open(&third);
    for (int i = 0; i < 3; i++)
        messages(&e, recv, MGDS_TEST_DEVICE, sizes[i]);
    messages(&e, recv, MGDS_TEST_PINNED, PULL_LONG);
    messages(&e, recv, MGDS_TEST_HOST, PULL_LONG);
    messages(&e, recv, MGDS_TEST_MANAGED, PULL_LONG);
    enq_lane_close(&third);
    enq_lane_close(&other);
    enq_lane_close(&lane);
}

static void receive_by_the_stream(void)
{
    received(&(struct way){call_recv, by_sync});
    received(&(struct way){call_irecv, by_stream_wait});
}

static void receive_by_host_wait(void)
{
    received(&(struct way){call_irecv, by_host_wait});
}

static void receive_by_host_test(void)
{
    received(&(struct way){call_irecv, by_host_test});
}

static void receive_by_nobody(void)
{
    received(&(struct way){call_irecv, by_nobody});
}

static void receive_by_another_stream(void)
{
    received(&(struct way){call_irecv_and_stand, by_other_stream});
}

static void plain_receive(void)
{
    received(&(struct way){NULL, by_plain_recv});
    received(&(struct way){call_plain_irecv, by_host_test});
}

static void plain_receive_the_stream_waits_for(void)
{
    received(&(struct way){call_plain_irecv, by_stream_wait});
}

static void receive_by_matched_probe(void)
{
    received(&(struct way){NULL, by_mprobe});
    received(&(struct way){NULL, by_improbe});
}

static void receive_after_probe(void)
{
    received(&(struct way){NULL, by_probe_and_stream});
}

/*
 * Datatypes of one element, of a buffer of SPAN bytes: rows with gaps, many
 * small ones, without a gap behind a displacement, without a gap in pieces.
 */
enum { SPAN = 160000 };

struct piece {
    int at, bytes, step, count;
};

static const struct piece pieces[] = {{0, 20000, 40000, 4},
                                      {0, 8, 16, 10000},
                                      {50003, 70001, 70001, 1},
                                      {0, 40000, 40000, 4}};
enum { PIECES = 4 };

static MPI_Datatype type_of(const struct piece *p)
{
    MPI_Datatype rows, type;
    MPI_Aint at = p->at;

    MPI_Type_vector(p->count, p->bytes, p->step, MPI_BYTE, &rows);
    MPI_Type_create_hindexed_block(1, 1, &at, rows, &type);
    MPI_Type_free(&rows);
    MPI_Type_commit(&type);
    return type;
}

static int bytes_of(const struct piece *p)
{
    return p->bytes * p->count;
}

/* Where byte i of a message is, by the type. */
static int place_of(const struct piece *p, int i)
{
    return p->at + i / p->bytes * p->step + i % p->bytes;
}

/* What the type names is the message as its sender's type laid it out; the rest
 * is untouched. */
static void expect_pieces(const struct enq_buffer *b, const struct piece *to,
                          const struct piece *from)
{
    unsigned char *want = malloc(SPAN), *got = malloc(SPAN);

    CHECK(want && got);
    for (size_t i = 0; i < SPAN; i++)
        want[i] = enq_byte(0, 256 + i);
    for (int i = 0; i < bytes_of(from) && i < bytes_of(to); i++)
        want[place_of(to, i)] = enq_byte(1, (size_t)place_of(from, i));
    enq_read(b, got, SPAN);
    for (int i = 0; i < SPAN; i++)
        CHECK(got[i] == want[i]);
    free(got);
    free(want);
}

static void type_recv(const struct enq_lane *lane, struct enq_buffer *b,
                      MPI_Datatype type, bool enqueued)
{
    if (enqueued)
        ENQ_OK(MPIX_Recv_enqueue(b->at, 1, type, 0, TAG, lane->comm,
                                 MPI_STATUS_IGNORE));
    else
        ENQ_OK(MPI_Recv(b->at, 1, type, 0, TAG, lane->comm, MPI_STATUS_IGNORE));
}

/* A message that is longer than the receive's type is an error of its own, so
 * only those that fit. */
static void typed(const struct enq_lane *lane, const struct piece *from,
                  const struct piece *to, bool enqueued)
{
    MPI_Datatype type = type_of(enq.rank == 0 ? from : to);
    bool fits = bytes_of(from) <= bytes_of(to);
    struct enq_buffer b;

    enq_buffer_open(&b, SPAN);
    if (enq.rank == 0 && fits) {
        enq_fill(&b, 1);
        ENQ_OK(MPIX_Send_enqueue(b.at, 1, type, 1, TAG, lane->comm));
        enq_kernel_set(lane->cu, &b, 0xdd);
    } else if (enq.rank == 1 && fits) {
        type_recv(lane, &b, type, enqueued);
    }
    enq_sync(lane);
    if (enq.rank == 1 && fits)
        expect_pieces(&b, to, from);
    enq_buffer_close(&b);
    MPI_Type_free(&type);
}

static void datatypes(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int from = 0; from < PIECES; from++)
        for (int to = 0; to < PIECES; to++) {
            typed(&lane, &pieces[from], &pieces[to], true);
            typed(&lane, &pieces[from], &pieces[to], false);
        }
    enq_lane_close(&lane);
}

/* Returns whether it was cancelled. */
static bool cancel_it(const struct enq_lane *lane, MPI_Request *request,
                      bool by_stream)
{
    MPI_Status status;
    int flag = -1;

    ENQ_OK(MPI_Cancel(request));
    if (by_stream)
        enq_wait(request, &status);
    else
        ENQ_OK(MPI_Wait(request, &status));
    enq_sync(lane);
    ENQ_OK(MPI_Test_cancelled(&status, &flag));
    if (!flag)
        enq_status_is(&status, 0, TAG, PULL_LONG);
    return flag;
}

/* Cancelled before anything is sent; or meanwhile, when either may be: what was
 * cancelled is untouched, and the message is the next receive's. */
static void cancelled(void)
{
    struct enq_lane lane;
    struct enq_buffer first, second;
    MPI_Request request;

    enq_lane_open(&lane);
    for (int lap = 0; lap < enq.laps; lap++) {
        bool early = lap % 2;
        bool gone;

        enq_buffer_open(&first, PULL_LONG);
        enq_buffer_open(&second, PULL_LONG);
        if (enq.rank == 0) {
            enq_fill(&first, 1);
            if (early)
                enq_hear(1);
            enq_send(&lane, &first, 1, TAG);
        } else if (enq.rank == 1) {
            enq_irecv(&lane, &first, early ? MPI_ANY_SOURCE : 0, TAG, &request);
            gone = cancel_it(&lane, &request, lap / 2 % 2);
            CHECK(gone || !early);
            if (early)
                enq_tell(0);
            if (gone)
                enq_recv(&lane, &second, 0, TAG, MPI_STATUS_IGNORE);
            enq_sync(&lane);
            enq_expect(&first, gone ? 0 : PULL_LONG, 1);
            enq_expect(&second, gone ? PULL_LONG : 0, 1);
        }
        enq_sync(&lane);
        enq_buffer_close(&second);
        enq_buffer_close(&first);
    }
    enq_lane_close(&lane);
}

/* A send that cannot be taken back arrives. */
static void cancelled_send_arrives(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;
    int flag = -1;

    enq_lane_open(&lane);
    enq_buffer_open(&b, PULL_LONG);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_isend(&lane, &b, 1, TAG, &request);
        ENQ_OK(MPI_Cancel(&request));
        enq_wait(&request, &status);
        enq_sync(&lane);
        ENQ_OK(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, TAG, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, PULL_LONG, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

const struct enq_case pull_receiver_cases[] = {
    {"receive_by_the_stream", 2, receive_by_the_stream},
    {"receive_by_host_wait", 2, receive_by_host_wait},
    {"receive_by_host_test", 2, receive_by_host_test},
    {"receive_by_nobody", 2, receive_by_nobody},
    {"receive_by_another_stream", 2, receive_by_another_stream},
    {"plain_receive", 2, plain_receive},
    {"plain_receive_the_stream_waits_for", 2,
     plain_receive_the_stream_waits_for},
    {"receive_by_matched_probe", 2, receive_by_matched_probe},
    {"receive_after_probe", 2, receive_after_probe},
    {"datatypes", 2, datatypes},
    {"cancelled", 2, cancelled},
    {"cancelled_send_arrives", 2, cancelled_send_arrives},
    {0},
};
