/* Groups: the calls that put what was collected, and what ends a group without
 * an end. */
#include <pthread.h>
#include <unistd.h>

#include "tests/enq/group.h"

enum { OTHER_TAG = 9 };

/* What a case has beside the group, for calls that flush. */
struct beside {
    const struct enq_lane *lane;
    MPI_Comm dup;
    MPI_Request request; /* persistent, and inactive */
    int word[2];
};

static void send_word(struct beside *b, MPI_Request *request)
{
    ENQ_OK(MPI_Isend(&b->word[0], 1, MPI_INT, enq.rank, OTHER_TAG,
                     b->lane->comm, request));
}

static void by_wait(struct beside *b)
{
    MPI_Request request[2];

    send_word(b, &request[0]);
    ENQ_OK(MPI_Irecv(&b->word[1], 1, MPI_INT, enq.rank, OTHER_TAG,
                     b->lane->comm, &request[1]));
    ENQ_OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
}

static void by_testall(struct beside *b)
{
    MPI_Request request[2];
    MPI_Status status[2];
    int flag = 0;

    send_word(b, &request[0]);
    ENQ_OK(MPI_Irecv(&b->word[1], 1, MPI_INT, enq.rank, OTHER_TAG,
                     b->lane->comm, &request[1]));
    while (!flag)
        ENQ_OK(MPI_Testall(2, request, &flag, status));
}

static void by_recv(struct beside *b)
{
    MPI_Request request;

    send_word(b, &request);
    ENQ_OK(MPI_Recv(&b->word[1], 1, MPI_INT, enq.rank, OTHER_TAG, b->lane->comm,
                    MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void by_send(struct beside *b)
{
    ENQ_OK(
        MPI_Send(&b->word[0], 1, MPI_INT, enq.rank, OTHER_TAG, b->lane->comm));
    ENQ_OK(MPI_Recv(&b->word[1], 1, MPI_INT, enq.rank, OTHER_TAG, b->lane->comm,
                    MPI_STATUS_IGNORE));
}

static void by_iprobe(struct beside *b)
{
    int flag = 1;

    ENQ_OK(MPI_Iprobe(enq.rank, OTHER_TAG, b->lane->comm, &flag,
                      MPI_STATUS_IGNORE));
    CHECK(!flag);
}

static void by_improbe(struct beside *b)
{
    MPI_Message message;
    int flag = 1;

    ENQ_OK(MPI_Improbe(enq.rank, OTHER_TAG, b->lane->comm, &flag, &message,
                       MPI_STATUS_IGNORE));
    CHECK(!flag);
}

static void by_request_free(struct beside *b)
{
    ENQ_OK(MPI_Request_free(&b->request));
}

static void by_synchronize(struct beside *b)
{
    ENQ_OK(MPIX_Stream_synchronize(b->lane->stream, 60));
}

static void by_comm_free(struct beside *b)
{
    ENQ_OK(MPI_Comm_free(&b->dup));
}

static void by_disconnect(struct beside *b)
{
    ENQ_OK(MPI_Comm_disconnect(&b->dup));
}

static void (*const calls[])(struct beside *) = {
    by_wait,    by_testall,      by_recv,        by_send,      by_iprobe,
    by_improbe, by_request_free, by_synchronize, by_comm_free, by_disconnect};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

static void open_beside(struct beside *b, const struct enq_lane *lane)
{
    *b = (struct beside){.lane = lane};
    ENQ_OK(MPI_Comm_dup(lane->comm, &b->dup));
    ENQ_OK(MPI_Recv_init(&b->word[1], 1, MPI_INT, MPI_PROC_NULL, 0, lane->comm,
                         &b->request));
}

static void close_beside(struct beside *b)
{
    if (b->dup != MPI_COMM_NULL)
        ENQ_OK(MPI_Comm_free(&b->dup));
    if (b->request != MPI_REQUEST_NULL)
        ENQ_OK(MPI_Request_free(&b->request));
}

/* What was collected is on the stream, so that the stream comes through with
 * no other call of ours; then the group collects on, to its end. */
static void flush_by(const struct enq_lane *lane, int call, size_t bytes)
{
    struct beside beside;
    struct exchange x;

    exchange_open(&x, lane, bytes);
    open_beside(&beside, lane);
    exchange_fill(&x, 1);
    group_open(lane);
    exchange_start(&x);
    exchange_wait(&x);
    calls[call](&beside);
    enq_sync(lane);
    exchange_expect(&x, 1);
    exchange_fill(&x, 2);
    enq_fill(&x.source, 3);
    exchange_start(&x);
    exchange_wait(&x);
    enq_kernel_copy(lane->cu, &x.out, &x.source);
    group_close(lane);
    enq_sync(lane);
    exchange_expect(&x, 3);
    close_beside(&beside);
    exchange_close(&x);
}

void group_flushes(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int call = 0; call < CALLS; call++) {
        flush_by(&lane, call, SHORT);
        flush_by(&lane, call, LONG);
    }
    enq_lane_close(&lane);
}

/* Requests of the group itself, of which the host asks inside of it. */
void group_goes_on(void)
{
    struct enq_lane lane;
    struct exchange x;
    int flag;

    enq_lane_open(&lane);
    exchange_open(&x, &lane, LONG);
    group_open(&lane);
    for (int lap = 0; lap < enq.laps; lap++) {
        exchange_fill(&x, (unsigned)lap + 1);
        exchange_start(&x);
        for (flag = 0; lap % 2 && !flag;)
            ENQ_OK(MPI_Test(&x.request[0], &flag, &x.status[0]));
        if (lap % 2 == 0)
            ENQ_OK(MPI_Wait(&x.request[0], &x.status[0]));
        ENQ_OK(MPI_Wait(&x.request[1], MPI_STATUS_IGNORE));
        exchange_expect(&x, (unsigned)lap + 1);
    }
    group_close(&lane);
    exchange_close(&x);
    enq_lane_close(&lane);
}

/* The communicator of what was collected, and of what is waited for next. */
void group_comm_goes(void)
{
    struct enq_lane lane, dup;
    struct exchange x;

    enq_lane_open(&lane);
    dup = lane;
    ENQ_OK(MPI_Comm_dup(lane.comm, &dup.comm));
    exchange_open(&x, &dup, LONG);
    exchange_fill(&x, 1);
    group_open(&lane);
    exchange_start(&x);
    ENQ_OK(MPI_Comm_free(&dup.comm));
    exchange_wait(&x);
    group_close(&lane);
    exchange_end(&x, &lane, 1);
}

/* With its stream's handle, however often it was started. */
void group_is_freed(void)
{
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, LONG);
    group_open(&lane);
    group_open(&lane);
    exchange_start(&x);
    exchange_wait(&x);
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    enq_sync(&lane);
    exchange_expect(&x, 1);
    exchange_fill(&x, 2);
    exchange_start(&x);
    exchange_wait(&x);
    enq_sync(&lane);
    lane.stream = enq_stream_of(lane.cu);
    exchange_end(&x, &lane, 2);
}

static void *leave_open(void *arg)
{
    struct exchange *x = arg;

    group_open(x->lane);
    exchange_start(x);
    exchange_wait(x);
    return NULL;
}

/* What it has collected goes on the stream. */
void group_thread_ends(void)
{
    struct enq_lane lane;
    struct exchange x;
    pthread_t thread;

    exchange_begin(&x, &lane, LONG);
    CHECK(pthread_create(&thread, NULL, leave_open, &x) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    exchange_end(&x, &lane, 1);
}

static struct exchange left[2];
static struct enq_lane left_lane;
static pthread_barrier_t begun;

static void leave(struct exchange *x)
{
    group_open(&left_lane);
    exchange_start(x);
    exchange_wait(x);
}

/* It never ends, and has a group open when MPI does. */
static void *stay(void *arg)
{
    leave(arg);
    pthread_barrier_wait(&begun);
    for (;;)
        pause();
    return NULL;
}

/* The last case: MPI_Finalize puts what is left on the stream, in whatever
 * thread, and waits for it. */
void group_left_open(void)
{
    pthread_t thread;

    enq_lane_open(&left_lane);
    for (int i = 0; i < 2; i++) {
        exchange_open(&left[i], &left_lane, SHORT);
        exchange_fill(&left[i], 1);
    }
    CHECK(pthread_barrier_init(&begun, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, stay, &left[1]) == 0);
    CHECK(pthread_detach(thread) == 0);
    pthread_barrier_wait(&begun);
    leave(&left[0]);
}
