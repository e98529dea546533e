/* Groups: what is refused, and what goes wrong inside of one. */
#include <pthread.h>

#include "tests/enq/group.h"

static int end_in_thread_class;

static void *end_in_thread(void *stream)
{
    end_in_thread_class = enq_class(MPIX_Stream_group_end(*(int *)stream));
    return NULL;
}

static void in_thread(void *(*run)(void *), void *arg)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, run, arg) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

void group_refused(void)
{
    MPIX_Stream cpu = MPIX_STREAM_NULL, freed;
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, SHORT);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    ENQ_OK(MPIX_Stream_create(MPI_INFO_NULL, &cpu));
    CHECK(enq_class(MPIX_Stream_group_end(lane.stream)) == MPI_ERR_OTHER);
    CHECK(enq_class(MPIX_Stream_group_start(MPIX_STREAM_NULL)) ==
          MPI_ERR_OTHER);
    CHECK(enq_class(MPIX_Stream_group_end(MPIX_STREAM_NULL)) == MPI_ERR_OTHER);
    CHECK(enq_class(MPIX_Stream_group_start(cpu)) == MPI_ERR_OTHER);
    freed = cpu;
    ENQ_OK(MPIX_Stream_free(&cpu));
    CHECK(enq_class(MPIX_Stream_group_start(freed)) == MPI_ERR_OTHER);
    group_open(&lane);
    exchange_start(&x);
    in_thread(end_in_thread, &lane.stream);
    CHECK(end_in_thread_class == MPI_ERR_OTHER);
    exchange_wait(&x);
    group_close(&lane);
    CHECK(enq_class(MPIX_Stream_group_end(lane.stream)) == MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    exchange_end(&x, &lane, 1);
}

/* Nothing of a group goes into a capture: not at its end, which may come again
 * later, nor by a call that flushes. */
void group_captured(void)
{
    struct enq_lane lane;
    struct exchange x;
    int flag;

    exchange_begin(&x, &lane, SHORT);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    enq_capture_begin(&lane);
    CHECK(enq_class(MPIX_Stream_group_start(lane.stream)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    enq_capture_end(&lane);
    group_open(&lane);
    exchange_start(&x);
    enq_capture_begin(&lane);
    CHECK(enq_class(MPIX_Isend_enqueue(x.out.at, SHORT, MPI_BYTE, x.right, TAG,
                                       lane.comm, &(MPI_Request){0})) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    ENQ_OK(MPI_Iprobe(enq.rank, TAG + 1, lane.comm, &flag, MPI_STATUS_IGNORE));
    CHECK(enq_class(MPIX_Stream_group_end(lane.stream)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    enq_capture_end(&lane);
    exchange_wait(&x);
    group_close(&lane);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    exchange_end(&x, &lane, 1);
}

static void refuse_some(const struct enq_lane *lane, struct exchange *x)
{
    MPI_Request none = (MPI_Request)0x12345678, request;
    MPI_Status status;

    CHECK(enq_class(MPIX_Isend_enqueue(x->out.at, SHORT, MPI_BYTE, enq.size,
                                       TAG, lane->comm, &request)) ==
          MPI_ERR_RANK);
    CHECK(enq_class(MPIX_Recv_enqueue(x->in.at, SHORT, MPI_BYTE, 0, -7,
                                      lane->comm, &status)) == MPI_ERR_TAG);
    CHECK(enq_class(MPIX_Send_enqueue(x->out.at, -1, MPI_BYTE, 0, TAG,
                                      lane->comm)) == MPI_ERR_COUNT);
    CHECK(enq_class(MPIX_Wait_enqueue(&none, &status)) == MPI_ERR_REQUEST);
}

/* Bad arguments are refused at the call; the others stand. */
void group_errors_inside(void)
{
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, SHORT);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    group_open(&lane);
    refuse_some(&lane, &x);
    exchange_start(&x);
    refuse_some(&lane, &x);
    exchange_wait(&x);
    refuse_some(&lane, &x);
    group_close(&lane);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    exchange_end(&x, &lane, 1);
}

/* An operation that fails is told as ever, and the others are done. */
void group_truncated(void)
{
    struct enq_lane lane;
    struct exchange x, y;
    int code;

    enq_lane_open(&lane);
    exchange_open(&x, &lane, SHORT);
    exchange_open(&y, &lane, LONG);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    exchange_fill(&x, 1);
    exchange_fill(&y, 2);
    group_open(&lane);
    ENQ_OK(MPIX_Irecv_enqueue(x.in.at, SHORT / 2, MPI_BYTE, x.left, TAG,
                              lane.comm, &x.request[0]));
    enq_isend(&lane, &x.out, x.right, TAG, &x.request[1]);
    exchange_start(&y);
    exchange_wait(&x);
    exchange_wait(&y);
    group_close(&lane);
    CHECK(enq_class(MPIX_Stream_synchronize(lane.stream, 60)) ==
          MPI_ERR_TRUNCATE);
    ENQ_OK(MPIX_Stream_get_error(lane.stream, &code, NULL));
    CHECK(enq_class(code) == MPI_ERR_TRUNCATE);
    CHECK(enq_class(x.status[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    exchange_expect(&y, 2);
    exchange_close(&y);
    exchange_close(&x);
    enq_lane_close(&lane);
}

/* The memory of a receive goes before the end, which says so; the others are
 * done. */
void group_freed_buffer(void)
{
    struct enq_buffer gone;
    MPI_Request request[2];
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, SHORT);
    enq_buffer_open_alone(&gone, SHORT);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    group_open(&lane);
    enq_irecv(&lane, &gone, enq.rank, TAG + 1, &request[0]);
    enq_isend(&lane, &x.out, enq.rank, TAG + 1, &request[1]);
    exchange_start(&x);
    enq_waitall(2, request);
    exchange_wait(&x);
    enq_buffer_close(&gone);
    CHECK(enq_class(MPIX_Stream_group_end(lane.stream)) == MPI_ERR_BUFFER);
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    exchange_end(&x, &lane, 1);
}

/* Two threads put on one stream, one of them in groups. */
struct thread {
    struct enq_lane lane;
    struct exchange x;
    bool groups;
};

static void *exchange_with_itself(void *arg)
{
    struct thread *thread = arg;

    for (int lap = 0; lap < 4 * enq.laps; lap++) {
        if (thread->groups)
            group_open(&thread->lane);
        exchange_start(&thread->x);
        exchange_wait(&thread->x);
        if (thread->groups)
            group_close(&thread->lane);
    }
    return NULL;
}

void group_beside_a_thread(void)
{
    struct thread thread[2] = {{.groups = true}, {.groups = false}};
    struct enq_lane lane;
    pthread_t id[2];

    if (enq.level < MPI_THREAD_MULTIPLE)
        return;
    enq_lane_open(&lane);
    for (int i = 0; i < 2; i++) {
        thread[i].lane = lane;
        ENQ_OK(MPI_Comm_dup(lane.comm, &thread[i].lane.comm));
        exchange_open(&thread[i].x, &thread[i].lane, i ? LONG : SHORT);
        exchange_fill(&thread[i].x, (unsigned)i + 1);
        thread[i].x.left = thread[i].x.right = enq.rank;
    }
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&id[i], NULL, exchange_with_itself, &thread[i]) ==
              0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(id[i], NULL) == 0);
    enq_sync(&lane);
    for (int i = 0; i < 2; i++) {
        exchange_expect(&thread[i].x, (unsigned)i + 1);
        exchange_close(&thread[i].x);
        ENQ_OK(MPI_Comm_free(&thread[i].lane.comm));
    }
    enq_lane_close(&lane);
}

static struct exchange *theirs;

/* A wait would stand on the stream ahead of what it is for; the host may wait,
 * and does behind the end. */
static void *wait_for_theirs(void *arg)
{
    MPI_Status status;

    (void)arg;
    CHECK(enq_class(MPIX_Wait_enqueue(&theirs->request[0], &status)) ==
          MPI_ERR_REQUEST);
    group_open(theirs->lane);
    CHECK(enq_class(MPIX_Waitall_enqueue(2, theirs->request, &status)) ==
          MPI_ERR_REQUEST);
    group_close(theirs->lane);
    return NULL;
}

void group_of_another_thread(void)
{
    struct enq_lane lane;
    struct exchange x;

    exchange_begin(&x, &lane, LONG);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    group_open(&lane);
    exchange_start(&x);
    theirs = &x;
    in_thread(wait_for_theirs, NULL);
    group_close(&lane);
    exchange_wait(&x);
    exchange_end(&x, &lane, 1);
}
