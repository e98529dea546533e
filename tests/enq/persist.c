/* Persistent requests: what each kind of start and of completion promises. The
 * matrix of all together is persist_matrix.c. */
#include "tests/enq/persist.h"

#include <stdlib.h>

typedef int init_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                    MPI_Request *);
static init_fn *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Rsend_init,
                                 MPI_Bsend_init};

void persist_send_init(const struct enq_lane *lane, const struct enq_buffer *b,
                       int to, int kind, MPI_Request *request)
{
    ENQ_OK(inits[kind](b->at, (int)b->bytes, MPI_BYTE, to, TAG, lane->comm,
                       request));
    CHECK(*request != MPI_REQUEST_NULL);
}

void persist_recv_init(const struct enq_lane *lane, struct enq_buffer *b,
                       int from, MPI_Request *request)
{
    ENQ_OK(MPI_Recv_init(b->at, (int)b->bytes, MPI_BYTE, from, TAG, lane->comm,
                         request));
    CHECK(*request != MPI_REQUEST_NULL);
}

/* The handle stays. */
void persist_start_by(MPI_Request *request, bool enqueued)
{
    const MPI_Request before = *request;

    ENQ_OK(enqueued ? MPIX_Start_enqueue(request) : MPI_Start(request));
    CHECK(*request == before);
}

void persist_start(MPI_Request *request)
{
    persist_start_by(request, true);
}

void persist_hand_over(MPI_Request *request, MPI_Status *status)
{
    const MPI_Request before = *request;

    ENQ_OK(MPIX_Wait_enqueue(request, status));
    CHECK(*request == before);
}

void persist_drop(MPI_Request *request)
{
    ENQ_OK(MPI_Request_free(request));
    CHECK(*request == MPI_REQUEST_NULL);
}

void persist_is_not_over(MPI_Request *request)
{
    int flag = 1;

    ENQ_OK(MPI_Test(request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    flag = 1;
    ENQ_OK(MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
}

/* An inactive one gives an empty status, once nothing of it is under way. */
void persist_rests(MPI_Request *request)
{
    const MPI_Request before = *request;
    MPI_Status status;

    ENQ_OK(MPI_Wait(request, &status));
    CHECK(*request == before);
    enq_status_is(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

/* Many generations ahead of the stream; each finds what the stream put there,
 * whatever the sender put there since. */
static void run_ahead(const struct enq_lane *lane, size_t bytes, int kind)
{
    enum { LAPS = 12 };
    struct enq_buffer b, kept[LAPS];
    MPI_Status status[LAPS];
    struct enq_gate gate;
    MPI_Request request;

    enq_gate_make(&gate);
    enq_buffer_open(&b, bytes);
    enq_gate_hold(&gate, lane->cu);
    if (enq.rank == 0)
        persist_send_init(lane, &b, 1, kind, &request);
    else
        persist_recv_init(lane, &b, 0, &request);
    for (int i = 0; i < LAPS; i++) {
        enq_buffer_open(&kept[i], bytes);
        if (enq.rank == 0)
            enq_kernel_set(lane->cu, &b, (unsigned char)(i + 1));
        persist_start(&request);
        persist_hand_over(&request, &status[i]);
        if (enq.rank == 1)
            enq_kernel_copy(lane->cu, &kept[i], &b);
    }
    persist_is_not_over(&request);
    enq_gate_open(&gate);
    persist_rests(&request);
    enq_sync(lane);
    for (int i = 0; i < LAPS && enq.rank == 1; i++) {
        unsigned char *got = malloc(bytes);

        enq_status_is(&status[i], 0, TAG, bytes);
        enq_read(&kept[i], got, bytes);
        for (size_t at = 0; at < bytes; at++)
            CHECK(got[at] == i + 1);
        free(got);
    }
    persist_drop(&request);
    for (int i = 0; i < LAPS; i++)
        enq_buffer_close(&kept[i]);
    enq_buffer_close(&b);
    enq_gate_free(&gate);
}

static void generations(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int kind = 0; kind < KINDS && enq.rank < 2; kind++) {
        if (kind == RSEND) /* of which no start knows that it was received */
            continue;
        run_ahead(&lane, SHORT, kind);
        run_ahead(&lane, LONG, kind);
    }
    enq_lane_close(&lane);
}

/* MPI_Start waits until the streams are through, MPI_Test does not; then the
 * buffer is the program's. */
static void host_start_behind_a_stream(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, LONG);
    if (enq.rank == 0) {
        persist_send_init(&lane, &b, 1, SEND, &request);
        enq_fill(&b, 1);
        persist_start(&request);
        persist_hand_over(&request, MPI_STATUS_IGNORE);
        persist_rests(&request);
        enq_fill(&b, 2);
        ENQ_OK(MPI_Start(&request));
        ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        persist_drop(&request);
    } else if (enq.rank == 1) {
        persist_recv_init(&lane, &b, 0, &request);
        enq_gate_hold(&gate, lane.cu);
        persist_start(&request);
        persist_hand_over(&request, &status);
        persist_is_not_over(&request);
        enq_gate_open(&gate);
        ENQ_OK(MPI_Start(&request));
        enq_status_is(&status, 0, TAG, LONG);
        ENQ_OK(MPI_Wait(&request, &status));
        enq_status_is(&status, 0, TAG, LONG);
        enq_expect(&b, LONG, 2);
        persist_drop(&request);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

enum { PARTS = 5 };

/* The first alone, the middle by a Startall of either kind, the last by the
 * host. */
static void send_parts(const struct enq_lane *lane, struct enq_buffer *b,
                       MPI_Request *request, bool enqueued)
{
    for (int i = 0; i < PARTS; i++) {
        enq_fill(&b[i], (unsigned)i + 1);
        persist_send_init(lane, &b[i], 1, SEND, &request[i]);
    }
    persist_start(&request[0]);
    ENQ_OK(enqueued ? MPIX_Startall_enqueue(3, &request[1])
                    : MPI_Startall(3, &request[1]));
    ENQ_OK(MPI_Start(&request[4]));
}

static void receive_parts(const struct enq_lane *lane, struct enq_buffer *b,
                          MPI_Request *request, bool enqueued)
{
    for (int i = 0; i < PARTS; i++)
        persist_recv_init(lane, &b[i], 0, &request[i]);
    ENQ_OK(enqueued ? MPIX_Startall_enqueue(4, request)
                    : MPI_Startall(4, request));
    persist_start(&request[4]);
}

static void complete_parts(struct enq_buffer *b, MPI_Request *request)
{
    MPI_Status status[PARTS];

    ENQ_OK(MPI_Waitall(PARTS, request, status));
    for (int i = 0; i < PARTS; i++) {
        persist_drop(&request[i]);
        if (enq.rank == 0)
            continue;
        enq_status_is(&status[i], 0, TAG, b[i].bytes);
        enq_expect(&b[i], b[i].bytes, (unsigned)i + 1);
    }
}

/* Startall takes its places in the order of the array, and stands in one order
 * with other calls. */
static void order(bool enqueued)
{
    struct enq_buffer b[PARTS];
    MPI_Request request[PARTS];
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int i = 0; i < PARTS; i++)
        enq_buffer_open(&b[i], i % 2 ? SHORT : LONG);
    if (enq.rank == 0)
        send_parts(&lane, b, request, enqueued);
    else if (enq.rank == 1)
        receive_parts(&lane, b, request, enqueued);
    if (enq.rank < 2)
        complete_parts(b, request);
    enq_lane_close(&lane);
    for (int i = 0; i < PARTS; i++)
        enq_buffer_close(&b[i]);
}

static void starts_in_order(void)
{
    order(true);
    order(false);
}

/* A receiver that comes only when the sender has looked at its send. */
static void receive_when_told(const struct enq_lane *lane, struct enq_buffer *b)
{
    enq_hear(0);
    enq_recv(lane, b, 0, TAG, MPI_STATUS_IGNORE);
    enq_sync(lane);
    enq_expect(b, b->bytes, 7);
}

/* Done without its receiver, long or not, in host memory or not. */
static void buffered(void)
{
    static const size_t sizes[] = {SHORT, LONG};
    static const enum mgds_test_kind kinds[] = {MGDS_TEST_DEVICE,
                                                MGDS_TEST_HOST};
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int i = 0; i < 8 && enq.rank < 2; i++) {
        struct enq_buffer b;
        MPI_Request request;
        bool enqueued = i & 1;

        enq_buffer_open_kind(&b, sizes[i >> 1 & 1], kinds[i >> 2]);
        if (enq.rank == 0) {
            persist_send_init(&lane, &b, 1, BSEND, &request);
            enq_fill(&b, 7);
            persist_start_by(&request, enqueued);
            ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            enq_wipe(&b);
            enq_tell(1);
            persist_drop(&request);
        } else {
            receive_when_told(&lane, &b);
        }
        enq_buffer_close(&b);
    }
    enq_lane_close(&lane);
}

/* A synchronous one is not, however short. */
static void synchronous(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, SHORT);
    for (int enqueued = 0; enqueued < 2 && enq.rank < 2; enqueued++) {
        if (enq.rank == 0) {
            persist_send_init(&lane, &b, 1, SSEND, &request);
            enq_fill(&b, 7);
            persist_start_by(&request, enqueued);
            persist_is_not_over(&request);
            enq_tell(1);
            ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            persist_drop(&request);
        } else {
            receive_when_told(&lane, &b);
        }
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* An array of everything: a null, one of MPI's, an inactive one, one that is
 * under way, and one that is active. */
enum { NOTHING, PLAIN, INACTIVE, UNDER_WAY, ACTIVE, ALL };

/* A stream stands at its start, and nothing else is active. */
static void one_is_under_way(MPI_Request *request)
{
    MPI_Status status[ALL];
    int flag = 1, index, count, indices[ALL];

    ENQ_OK(MPI_Testall(ALL, request, &flag, status));
    CHECK(!flag);
    flag = 1;
    ENQ_OK(MPI_Testany(ALL, request, &index, &flag, status));
    CHECK(!flag);
    ENQ_OK(MPI_Testsome(ALL, request, &count, indices, status));
    CHECK(count == 0);
}

/* MPI's own is complete, the others do not keep it. */
static void a_plain_one_is_complete(MPI_Request *request)
{
    MPI_Status status;
    int index, word = -1;

    MPI_Irecv(&word, 1, MPI_INT, enq.rank, 9, MPI_COMM_WORLD, &request[PLAIN]);
    MPI_Send(&enq.rank, 1, MPI_INT, enq.rank, 9, MPI_COMM_WORLD);
    ENQ_OK(MPI_Waitany(ALL, request, &index, &status));
    CHECK(index == PLAIN && word == enq.rank);
    CHECK(request[PLAIN] == MPI_REQUEST_NULL);
}

static void two_are_complete(MPI_Request *request)
{
    MPI_Status status[ALL];
    int count, indices[ALL];

    for (int left = 2; left > 0; left -= count) {
        ENQ_OK(MPI_Waitsome(ALL, request, &count, indices, status));
        for (int i = 0; i < count; i++)
            CHECK(indices[i] == INACTIVE || indices[i] == ACTIVE);
    }
}

static void none_is_active(MPI_Request *request)
{
    MPI_Status status[ALL];
    int index, count, indices[ALL];

    ENQ_OK(MPI_Waitsome(ALL, request, &count, indices, status));
    CHECK(count == MPI_UNDEFINED);
    ENQ_OK(MPI_Waitany(ALL, request, &index, status));
    CHECK(index == MPI_UNDEFINED);
    ENQ_OK(MPI_Waitall(ALL, request, status));
    for (int i = 0; i < ALL; i++)
        enq_status_is(&status[i], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
}

static void in_arrays(void)
{
    MPI_Request request[ALL] = {
        [NOTHING] = MPI_REQUEST_NULL, [PLAIN] = MPI_REQUEST_NULL};
    struct enq_buffer from, to;
    struct enq_lane lane;
    struct enq_gate gate;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&from, SHORT);
    enq_buffer_open(&to, SHORT);
    enq_fill(&from, 5);
    persist_send_init(&lane, &from, MPI_PROC_NULL, SEND, &request[INACTIVE]);
    persist_send_init(&lane, &from, enq.rank, SEND, &request[UNDER_WAY]);
    persist_recv_init(&lane, &to, enq.rank, &request[ACTIVE]);
    enq_gate_hold(&gate, lane.cu);
    persist_start(&request[UNDER_WAY]);
    persist_hand_over(&request[UNDER_WAY], MPI_STATUS_IGNORE);
    one_is_under_way(request);
    persist_start(&request[ACTIVE]);
    a_plain_one_is_complete(request);
    enq_gate_open(&gate);
    ENQ_OK(MPI_Start(&request[INACTIVE]));
    two_are_complete(request);
    none_is_active(request);
    enq_expect(&to, SHORT, 5);
    for (int i = INACTIVE; i < ALL; i++)
        persist_drop(&request[i]);
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&to);
    enq_buffer_close(&from);
}

/* Requests of MPI's beside ours in one Startall. */
static void started_together(void)
{
    struct enq_lane lane;
    struct enq_buffer b[2];
    MPI_Request request[4];
    MPI_Status status[4];
    int words[2] = {0, 40 + enq.rank};

    enq_lane_open(&lane);
    enq_buffer_open(&b[0], SHORT);
    enq_buffer_open(&b[1], SHORT);
    enq_fill(&b[1], 3);
    MPI_Recv_init(&words[0], 1, MPI_INT, enq.rank, 9, MPI_COMM_WORLD,
                  &request[0]);
    persist_recv_init(&lane, &b[0], enq.rank, &request[1]);
    persist_send_init(&lane, &b[1], enq.rank, SSEND, &request[2]);
    MPI_Send_init(&words[1], 1, MPI_INT, enq.rank, 9, MPI_COMM_WORLD,
                  &request[3]);
    for (int lap = 0; lap < 3; lap++) {
        words[0] = 0;
        enq_wipe(&b[0]);
        ENQ_OK(MPI_Startall(4, request));
        ENQ_OK(MPI_Waitall(4, request, status));
        CHECK(words[0] == words[1]);
        enq_expect(&b[0], SHORT, 3);
    }
    for (int i = 0; i < 4; i++)
        persist_drop(&request[i]);
    enq_lane_close(&lane);
    enq_buffer_close(&b[1]);
    enq_buffer_close(&b[0]);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"persist_generations", 2, generations},
        {"persist_host_start", 2, host_start_behind_a_stream},
        {"persist_order", 2, starts_in_order},
        {"persist_freed", 2, persist_freed},
        {"persist_buffered", 2, buffered},
        {"persist_synchronous", 2, synchronous},
        {"persist_made_of_what_is_gone", 2, persist_made_of_what_is_gone},
        {"persist_refused", 1, persist_refused},
        {"persist_captured", 1, persist_captured},
        {"persist_cancelled", 1, persist_cancelled},
        {"persist_in_arrays", 1, in_arrays},
        {"persist_started_together", 1, started_together},
        {"persist_truncated", 1, persist_truncated},
        {"persist_transport", 1, persist_transport},
        {"persist_threads", 2, persist_threads},
        {"persist_left_behind", 1, persist_left_behind},
        {0},
    };

    return enq_main(argc, argv, "enq persist", cases);
}
