/* Persistent requests: what is refused, fails, or is cancelled, and what is
 * told of it. */
#include <string.h>

#include "tests/enq/persist.h"

#define REFUSED(call, class) CHECK(enq_class(call) == (class))

/* No persistent requests of stream communicators. */
static void others_are_refused(void)
{
    MPI_Request plain, none = MPI_REQUEST_NULL;
    int word = 0;

    MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &plain);
    REFUSED(MPIX_Start_enqueue(NULL), MPI_ERR_ARG);
    REFUSED(MPIX_Start_enqueue(&none), MPI_ERR_REQUEST);
    REFUSED(MPIX_Start_enqueue(&plain), MPI_ERR_REQUEST);
    REFUSED(MPIX_Startall_enqueue(-1, &plain), MPI_ERR_COUNT);
    REFUSED(MPIX_Startall_enqueue(2, NULL), MPI_ERR_ARG);
    ENQ_OK(MPIX_Startall_enqueue(0, NULL));
    MPI_Request_free(&plain);
}

/* Active ones, alone or among others, of which none is started then. */
static void active_ones_are_refused(MPI_Request *active, MPI_Request *inactive)
{
    MPI_Request both[2] = {*inactive, *active};
    MPI_Status status[2];

    REFUSED(MPIX_Start_enqueue(active), MPI_ERR_REQUEST);
    REFUSED(MPI_Start(active), MPI_ERR_REQUEST);
    REFUSED(MPI_Startall(2, both), MPI_ERR_REQUEST);
    REFUSED(MPIX_Startall_enqueue(2, both), MPI_ERR_REQUEST);
    both[1] = *inactive;
    REFUSED(MPIX_Startall_enqueue(2, both), MPI_ERR_REQUEST);
    persist_rests(inactive);
    REFUSED(MPI_Cancel(inactive), MPI_ERR_REQUEST);
    both[0] = both[1] = *active;
    REFUSED(MPIX_Waitall_enqueue(2, both, status), MPI_ERR_REQUEST);
    persist_is_not_over(active);
}

static void inits_are_refused(MPI_Comm comm)
{
    MPI_Request none = MPI_REQUEST_NULL;
    char byte = 0;

    REFUSED(MPI_Recv_init(&byte, -1, MPI_BYTE, 0, 0, comm, &none),
            MPI_ERR_COUNT);
    REFUSED(MPI_Send_init(&byte, 1, MPI_BYTE, enq.size, 0, comm, &none),
            MPI_ERR_RANK);
    REFUSED(MPI_Send_init(&byte, 1, MPI_BYTE, 0, -5, comm, &none), MPI_ERR_TAG);
    REFUSED(MPI_Send_init(&byte, 1, MPI_BYTE, 0, 0, comm, NULL), MPI_ERR_ARG);
    CHECK(none == MPI_REQUEST_NULL);
}

/* In a process that gave no stream only the host starts them. */
static void streams_are_asked_for(const struct enq_buffer *b)
{
    struct enq_lane cpu;
    MPI_Request request;

    enq_lane_open_as(&cpu, false);
    enq_errors_count(cpu.comm);
    persist_send_init(&cpu, b, MPI_PROC_NULL, SEND, &request);
    REFUSED(MPIX_Start_enqueue(&request), MPI_ERR_OTHER);
    persist_rests(&request);
    ENQ_OK(MPI_Start(&request));
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    persist_drop(&request);
    enq_lane_close(&cpu);
}

/* What no call takes: the class, and nothing has changed. */
void persist_refused(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request active, inactive;

    enq_lane_open(&lane);
    enq_buffer_open(&b, SHORT);
    enq_errors_count(lane.comm);
    enq_errors_count(MPI_COMM_SELF);
    persist_recv_init(&lane, &b, enq.rank, &active);
    persist_send_init(&lane, &b, MPI_PROC_NULL, SEND, &inactive);
    others_are_refused();
    persist_start(&active);
    active_ones_are_refused(&active, &inactive);
    enq_send(&lane, &b, enq.rank, TAG);
    ENQ_OK(MPI_Wait(&active, MPI_STATUS_IGNORE));
    persist_drop(&active);
    persist_drop(&inactive);
    inits_are_refused(lane.comm);
    streams_are_asked_for(&b);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

void persist_captured(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, SHORT);
    MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN);
    persist_send_init(&lane, &b, MPI_PROC_NULL, SEND, &request);
    enq_capture_begin(&lane);
    CHECK(enq_class(MPIX_Start_enqueue(&request)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(enq_class(MPIX_Startall_enqueue(1, &request)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    enq_capture_end(&lane);
    persist_rests(&request);
    persist_start(&request);
    persist_hand_over(&request, MPI_STATUS_IGNORE);
    persist_drop(&request);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

static bool was_cancelled(const MPI_Status *status)
{
    int flag = 0;

    MPI_Test_cancelled(status, &flag);
    return flag;
}

/* By the host, again and again; and by a stream, which passes. */
static void cancel_in_time(const struct enq_lane *lane, MPI_Request *request,
                           bool enqueued)
{
    MPI_Status status;

    for (int lap = 0; lap < 3; lap++) {
        persist_start_by(request, enqueued);
        ENQ_OK(MPI_Cancel(request));
        if (lap < 2)
            ENQ_OK(MPI_Wait(request, &status));
        else
            persist_hand_over(request, &status);
        enq_sync(lane);
        CHECK(was_cancelled(&status));
    }
}

static void cancel_too_late(const struct enq_lane *lane,
                            const struct enq_buffer *b, MPI_Request *request,
                            bool enqueued)
{
    MPI_Status status;
    int flag = 0;

    persist_start_by(request, enqueued);
    enq_send(lane, b, enq.rank, TAG);
    while (!flag)
        ENQ_OK(MPI_Request_get_status(*request, &flag, &status));
    ENQ_OK(MPI_Cancel(request));
    ENQ_OK(MPI_Wait(request, &status));
    CHECK(!was_cancelled(&status));
    enq_status_is(&status, enq.rank, TAG, SHORT);
}

static void cancel(bool enqueued)
{
    struct enq_lane lane;
    struct enq_buffer from, to;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&from, SHORT);
    enq_buffer_open(&to, SHORT);
    enq_fill(&from, 6);
    persist_recv_init(&lane, &to, enq.rank, &request);
    cancel_in_time(&lane, &request, enqueued);
    enq_expect(&to, 0, 0);
    cancel_too_late(&lane, &from, &request, enqueued);
    enq_expect(&to, SHORT, 6);
    persist_drop(&request);
    enq_lane_close(&lane);
    enq_buffer_close(&to);
    enq_buffer_close(&from);
}

void persist_cancelled(void)
{
    cancel(true);
    cancel(false);
}

static void send_too_much(const struct enq_lane *lane,
                          const struct enq_buffer *b)
{
    MPI_Request sent;

    ENQ_OK(MPI_Isend(b->at, SHORT, MPI_BYTE, enq.rank, TAG, lane->comm, &sent));
    ENQ_OK(MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

/* By the stream, which goes on: its error bears the request's name. */
static void truncated_in_stream(const struct enq_lane *lane,
                                const struct enq_buffer *b,
                                MPI_Request *request)
{
    MPI_Request first;
    MPI_Status status;
    int code;

    persist_start(request);
    ENQ_OK(MPIX_Waitall_enqueue(1, request, &status));
    send_too_much(lane, b);
    REFUSED(MPIX_Stream_synchronize(lane->stream, 60), MPI_ERR_TRUNCATE);
    CHECK(enq_errors() == 1);
    REFUSED(status.MPI_ERROR, MPI_ERR_TRUNCATE);
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, &first));
    REFUSED(code, MPI_ERR_TRUNCATE);
    CHECK(first == *request);
}

/* An error of a generation is told as any other, and the next one starts. */
void persist_truncated(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, SHORT);
    enq_errors_count(lane.comm);
    ENQ_OK(MPI_Recv_init(b.at, SHORT / 2, MPI_BYTE, enq.rank, TAG, lane.comm,
                         &request));
    truncated_in_stream(&lane, &b, &request);
    ENQ_OK(MPI_Start(&request));
    send_too_much(&lane, &b);
    REFUSED(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    CHECK(enq_errors() == 2);
    persist_rests(&request);
    persist_drop(&request);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

void persist_transport(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;
    const char *way;

    enq_lane_open(&lane);
    enq_buffer_open_kind(&b, SHORT, MGDS_TEST_HOST);
    persist_recv_init(&lane, &b, enq.rank, &request);
    ENQ_OK(MPIX_Request_get_transport(request, &way, NULL, NULL));
    CHECK(strcmp(way, "none") == 0);
    persist_start(&request);
    ENQ_OK(MPIX_Request_get_transport(request, &way, NULL, NULL));
    CHECK(strcmp(way, "host") == 0);
    enq_send(&lane, &b, enq.rank, TAG);
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    persist_drop(&request);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}
