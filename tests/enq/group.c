/* Groups of enqueued calls: where they stand in the stream, how they match, and
 * that nothing in them stands for anything else in them. The matrix of all
 * together is group_matrix.c. */
#include "tests/enq/group.h"

static const size_t sizes[] = {0, SHORT, 40000, LONG};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

void group_open(const struct enq_lane *lane)
{
    ENQ_OK(MPIX_Stream_group_start(lane->stream));
}

void group_close(const struct enq_lane *lane)
{
    ENQ_OK(MPIX_Stream_group_end(lane->stream));
}

void exchange_open_kind(struct exchange *x, const struct enq_lane *lane,
                        size_t bytes, enum mgds_test_kind kind)
{
    *x = (struct exchange){.lane = lane,
                           .right = (enq.rank + 1) % enq.size,
                           .left = (enq.rank + enq.size - 1) % enq.size};
    enq_buffer_open_kind(&x->out, bytes, kind);
    enq_buffer_open_kind(&x->in, bytes, kind);
    enq_buffer_open_kind(&x->source, bytes, kind);
}

void exchange_open(struct exchange *x, const struct enq_lane *lane,
                   size_t bytes)
{
    exchange_open_kind(x, lane, bytes, MGDS_TEST_DEVICE);
}

void exchange_close(struct exchange *x)
{
    enq_buffer_close(&x->source);
    enq_buffer_close(&x->in);
    enq_buffer_close(&x->out);
}

void exchange_fill(struct exchange *x, unsigned message)
{
    enq_fill(&x->out, message);
    enq_wipe(&x->in);
}

void exchange_start(struct exchange *x)
{
    enq_irecv(x->lane, &x->in, x->left, TAG, &x->request[0]);
    enq_isend(x->lane, &x->out, x->right, TAG, &x->request[1]);
}

void exchange_wait(struct exchange *x)
{
    ENQ_OK(MPIX_Waitall_enqueue(2, x->request, x->status));
    CHECK(x->request[0] == MPI_REQUEST_NULL);
    CHECK(x->request[1] == MPI_REQUEST_NULL);
}

void exchange_expect(struct exchange *x, unsigned message)
{
    enq_expect(&x->in, x->in.bytes, message);
    enq_status_is(&x->status[0], x->left, TAG, x->in.bytes);
}

void exchange_begin(struct exchange *x, struct enq_lane *lane, size_t bytes)
{
    enq_lane_open(lane);
    exchange_open(x, lane, bytes);
    exchange_fill(x, 1);
}

void exchange_end(struct exchange *x, struct enq_lane *lane, unsigned message)
{
    enq_sync(lane);
    exchange_expect(x, message);
    exchange_close(x);
    enq_lane_close(lane);
}

/* All that the program puts on the stream before the end is ahead of it: what
 * it puts in the buffer of a send is sent, and a buffer that is received into
 * it finds as it was. */
static void take_effect(const struct enq_lane *lane, size_t bytes,
                        enum mgds_test_kind kind)
{
    struct enq_buffer kept;
    struct exchange x;

    exchange_open_kind(&x, lane, bytes, kind);
    enq_buffer_open(&kept, bytes);
    exchange_fill(&x, 1);
    enq_fill(&x.source, 2);
    group_open(lane);
    exchange_start(&x);
    exchange_wait(&x);
    enq_kernel_copy(lane->cu, &kept, &x.in);
    enq_kernel_copy(lane->cu, &x.out, &x.source);
    group_close(lane);
    enq_sync(lane);
    exchange_expect(&x, 2);
    enq_expect(&kept, 0, 0);
    enq_buffer_close(&kept);
    exchange_close(&x);
}

static void takes_effect_at_the_end(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int i = 0; i < SIZES; i++) {
        take_effect(&lane, sizes[i], MGDS_TEST_DEVICE);
        take_effect(&lane, sizes[i], MGDS_TEST_PINNED);
    }
    enq_lane_close(&lane);
}

/* What waits behind a group finds all of it done, and a group what was started
 * ahead of it. */
static void waits_in_and_out(void)
{
    struct enq_lane lane;
    struct exchange x;

    enq_lane_open(&lane);
    for (int i = 0; i < SIZES; i++) {
        exchange_open(&x, &lane, sizes[i]);
        exchange_fill(&x, 1);
        group_open(&lane);
        exchange_start(&x);
        group_close(&lane);
        exchange_wait(&x);
        enq_sync(&lane);
        exchange_expect(&x, 1);
        exchange_fill(&x, 2);
        exchange_start(&x);
        group_open(&lane);
        exchange_wait(&x);
        group_close(&lane);
        enq_sync(&lane);
        exchange_expect(&x, 2);
        exchange_close(&x);
    }
    enq_lane_close(&lane);
}

enum { CALLS = 6 };

/* Of one tag: enqueued, ordinary, and so on. */
static void match(const struct enq_lane *lane, size_t bytes, bool grouped)
{
    struct exchange x[CALLS];
    MPI_Request plain[CALLS];
    MPI_Status status[CALLS];

    for (int i = 0; i < CALLS; i++) {
        exchange_open(&x[i], lane, bytes);
        exchange_fill(&x[i], (unsigned)i + 1);
    }
    if (grouped)
        group_open(lane);
    for (int i = 0; i < CALLS; i += 2) {
        exchange_start(&x[i]);
        ENQ_OK(MPI_Irecv(x[i + 1].in.at, (int)bytes, MPI_BYTE, x[i].left, TAG,
                         lane->comm, &plain[i]));
        ENQ_OK(MPI_Isend(x[i + 1].out.at, (int)bytes, MPI_BYTE, x[i].right, TAG,
                         lane->comm, &plain[i + 1]));
        exchange_wait(&x[i]);
    }
    if (grouped)
        group_close(lane);
    ENQ_OK(MPI_Waitall(CALLS, plain, status));
    enq_sync(lane);
    for (int i = 0; i < CALLS; i++)
        enq_expect(&x[i].in, bytes, (unsigned)i + 1);
    for (int i = 0; i < CALLS; i++)
        exchange_close(&x[i]);
}

/* At one end of each message, and at both. */
static void matches_in_order_of_calls(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int i = 0; i < SIZES; i++) {
        match(&lane, sizes[i], true);
        match(&lane, sizes[i], enq.rank % 2 == 0);
        match(&lane, sizes[i], enq.rank % 2 == 1);
    }
    enq_lane_close(&lane);
}

static void block(struct exchange *x, bool receive_first)
{
    if (receive_first)
        enq_recv(x->lane, &x->in, x->left, TAG, &x->status[0]);
    enq_send(x->lane, &x->out, x->right, TAG);
    if (!receive_first)
        enq_recv(x->lane, &x->in, x->left, TAG, &x->status[0]);
}

/* Blocking sends and receives that cross, in any order: with the others' or,
 * to itself, with its own. */
static void cross(const struct enq_lane *lane, size_t bytes, bool self)
{
    struct exchange x;

    exchange_open(&x, lane, bytes);
    if (self)
        x.left = x.right = enq.rank;
    for (int lap = 0; lap < 2 * enq.laps; lap++) {
        exchange_fill(&x, (unsigned)lap + 1);
        group_open(lane);
        block(&x, lap % 2 == 0);
        group_close(lane);
        enq_sync(lane);
        exchange_expect(&x, (unsigned)lap + 1);
    }
    exchange_close(&x);
}

static void cross_all_sizes(bool self)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int i = 0; i < SIZES; i++)
        cross(&lane, sizes[i], self);
    enq_lane_close(&lane);
}

static void blocking_calls_cross(void)
{
    cross_all_sizes(false);
}

static void blocking_calls_to_itself(void)
{
    cross_all_sizes(true);
}

/* All sizes at once, some by blocking calls, far ahead of the stream. */
static void mix(const struct enq_lane *lane, struct exchange *x, int lap)
{
    group_open(lane);
    for (int i = 0; i < SIZES; i++) {
        if ((i + lap) % 2)
            exchange_start(&x[i]);
        else
            block(&x[i], i % 2);
    }
    for (int i = 0; i < SIZES; i++)
        if ((i + lap) % 2)
            exchange_wait(&x[i]);
    group_close(lane);
}

static void all_kinds_ahead_of_the_stream(void)
{
    struct exchange x[SIZES];
    struct enq_lane lane;
    struct enq_gate gate;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    for (int i = 0; i < SIZES; i++) {
        exchange_open(&x[i], &lane, sizes[i]);
        exchange_fill(&x[i], (unsigned)i + 1);
    }
    enq_gate_hold(&gate, lane.cu);
    for (int lap = 0; lap < enq.laps; lap++)
        mix(&lane, x, lap);
    enq_gate_open(&gate);
    enq_sync(&lane);
    for (int i = 0; i < SIZES; i++)
        exchange_expect(&x[i], (unsigned)i + 1);
    for (int i = 0; i < SIZES; i++)
        exchange_close(&x[i]);
    enq_gate_free(&gate);
    enq_lane_close(&lane);
}

/* The outermost end is the one. */
static void nested(void)
{
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, SHORT);
    enq_fill(&x.source, 2);
    group_open(&lane);
    group_open(&lane);
    exchange_start(&x);
    group_close(&lane);
    group_open(&lane);
    exchange_wait(&x);
    group_close(&lane);
    enq_kernel_copy(lane.cu, &x.out, &x.source);
    group_close(&lane);
    exchange_end(&x, &lane, 2);
}

/* Of two streams: each has its own end. A wait of one may be for the other's.
 */
static void of_two_streams(void)
{
    struct enq_lane a, b;
    struct exchange x, y;

    enq_lane_open(&a);
    enq_lane_open(&b);
    for (int i = 0; i < SIZES; i++) {
        exchange_open(&x, &a, sizes[i]);
        exchange_open(&y, &b, sizes[i]);
        exchange_fill(&x, 1);
        exchange_fill(&y, 2);
        enq_fill(&y.source, 3);
        group_open(&a);
        group_open(&b);
        exchange_start(&y);
        exchange_start(&x);
        exchange_wait(&x);
        group_close(&a);
        enq_sync(&a);
        exchange_expect(&x, 1);
        enq_kernel_copy(b.cu, &y.out, &y.source);
        group_open(&a);
        ENQ_OK(MPIX_Waitall_enqueue(1, &y.request[0], &y.status[0]));
        ENQ_OK(MPIX_Waitall_enqueue(1, &y.request[1], MPI_STATUSES_IGNORE));
        group_close(&b);
        group_close(&a);
        enq_sync(&b);
        enq_sync(&a);
        exchange_expect(&y, 3);
        exchange_close(&x);
        exchange_close(&y);
    }
    enq_lane_close(&b);
    enq_lane_close(&a);
}

static void from_any_source(void)
{
    struct enq_lane lane;
    struct exchange x;

    enq_lane_open(&lane);
    for (int i = 0; i < SIZES; i++) {
        exchange_open(&x, &lane, sizes[i]);
        for (int lap = 0; lap < enq.laps; lap++) {
            exchange_fill(&x, (unsigned)lap + 1);
            group_open(&lane);
            enq_irecv(&lane, &x.in, MPI_ANY_SOURCE, MPI_ANY_TAG, &x.request[0]);
            enq_isend(&lane, &x.out, x.right, TAG, &x.request[1]);
            exchange_wait(&x);
            group_close(&lane);
            enq_sync(&lane);
            exchange_expect(&x, (unsigned)lap + 1);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        exchange_close(&x);
    }
    enq_lane_close(&lane);
}

/* Far more than a ring has room for. */
static void more_than_a_ring(void)
{
    enum { MANY = 700, BYTES = 4096 };
    static MPI_Request request[2 * MANY];
    struct enq_buffer out, in;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open(&out, BYTES);
    enq_buffer_open(&in, (size_t)MANY * BYTES);
    enq_fill(&out, 1);
    group_open(&lane);
    for (int i = 0; i < MANY; i++) {
        ENQ_OK(MPIX_Irecv_enqueue(in.at + (size_t)i * BYTES, BYTES, MPI_BYTE,
                                  (enq.rank + enq.size - 1) % enq.size, TAG,
                                  lane.comm, &request[(size_t)2 * (size_t)i]));
        enq_isend(&lane, &out, (enq.rank + 1) % enq.size, TAG,
                  &request[(size_t)2 * (size_t)i + 1]);
    }
    enq_waitall(2 * MANY, request);
    group_close(&lane);
    enq_sync(&lane);
    for (int i = 0; i < MANY; i++) {
        unsigned char got[BYTES];
        struct enq_buffer one = in;

        one.at += (size_t)i * BYTES;
        enq_read(&one, got, BYTES);
        for (size_t at = 0; at < BYTES; at++)
            CHECK(got[at] == enq_byte(1, at));
    }
    enq_buffer_close(&in);
    enq_buffer_close(&out);
    enq_lane_close(&lane);
}

static void start_persistent(struct exchange *x, bool together)
{
    if (together) {
        ENQ_OK(MPIX_Startall_enqueue(2, x->request));
        return;
    }
    ENQ_OK(MPIX_Start_enqueue(&x->request[0]));
    ENQ_OK(MPIX_Start_enqueue(&x->request[1]));
}

/* Generations, each in a group of its own, ahead of the stream. */
static void persistent(void)
{
    struct enq_buffer kept[4];
    struct enq_lane lane;
    struct exchange x;

    enq_lane_open(&lane);
    for (int i = 0; i < SIZES; i++) {
        exchange_open(&x, &lane, sizes[i]);
        ENQ_OK(MPI_Recv_init(x.in.at, (int)sizes[i], MPI_BYTE, x.left, TAG,
                             lane.comm, &x.request[0]));
        ENQ_OK(MPI_Send_init(x.out.at, (int)sizes[i], MPI_BYTE, x.right, TAG,
                             lane.comm, &x.request[1]));
        for (int lap = 0; lap < 4; lap++) {
            enq_buffer_open(&kept[lap], sizes[i]);
            enq_kernel_set(lane.cu, &x.out, (unsigned char)lap);
            group_open(&lane);
            start_persistent(&x, lap % 2);
            ENQ_OK(MPIX_Waitall_enqueue(2, x.request, x.status));
            group_close(&lane);
            enq_kernel_copy(lane.cu, &kept[lap], &x.in);
        }
        enq_sync(&lane);
        for (int lap = 0; lap < 4; lap++) {
            unsigned char first = (unsigned char)lap;

            if (sizes[i] > 0)
                enq_read(&kept[lap], &first, 1);
            CHECK(first == lap);
            enq_buffer_close(&kept[lap]);
        }
        ENQ_OK(MPI_Request_free(&x.request[0]));
        ENQ_OK(MPI_Request_free(&x.request[1]));
        exchange_close(&x);
    }
    enq_lane_close(&lane);
}

static void of_nobody(void)
{
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, SHORT);
    group_open(&lane);
    group_close(&lane);
    group_open(&lane);
    x.left = x.right = MPI_PROC_NULL;
    exchange_start(&x);
    exchange_wait(&x);
    block(&x, true);
    group_close(&lane);
    enq_sync(&lane);
    enq_status_is(&x.status[0], MPI_PROC_NULL, MPI_ANY_TAG, 0);
    enq_expect(&x.in, 0, 0);
    exchange_close(&x);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"takes_effect_at_the_end", 1, takes_effect_at_the_end},
        {"waits_in_and_out", 1, waits_in_and_out},
        {"matches_in_order_of_calls", 1, matches_in_order_of_calls},
        {"blocking_calls_cross", 1, blocking_calls_cross},
        {"blocking_calls_to_itself", 1, blocking_calls_to_itself},
        {"all_kinds_ahead_of_the_stream", 1, all_kinds_ahead_of_the_stream},
        {"nested", 1, nested},
        {"of_two_streams", 1, of_two_streams},
        {"from_any_source", 1, from_any_source},
        {"more_than_a_ring", 1, more_than_a_ring},
        {"persistent", 1, persistent},
        {"of_nobody", 1, of_nobody},
        {"flushes", 1, group_flushes},
        {"goes_on", 1, group_goes_on},
        {"refused", 1, group_refused},
        {"captured", 1, group_captured},
        {"errors_inside", 1, group_errors_inside},
        {"truncated", 1, group_truncated},
        {"freed_buffer", 1, group_freed_buffer},
        {"of_another_thread", 1, group_of_another_thread},
        {"beside_a_thread", 1, group_beside_a_thread},
        {"comm_goes", 1, group_comm_goes},
        {"is_freed", 1, group_is_freed},
        {"thread_ends", 1, group_thread_ends},
        {"left_open", 1, group_left_open},
        {0},
    };

    return enq_main(argc, argv, "enq group", cases);
}
