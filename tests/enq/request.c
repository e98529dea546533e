/* Requests of enqueued operations: freed, null, waited for by the host. */
#include "tests/enq/enq.h"

/* The operation runs all the same; a wait on a copied handle is refused. */
static void freed_before_the_stream_ran(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 65536);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_gate_hold(&gate, lane.cu);
        enq_isend(&lane, &b, 1, 1, &request);
        ENQ_OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
        enq_gate_open(&gate);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, 65536, 1);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* Of a receive as well: its bytes are there when the stream has ended. */
static void freed_receive(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 65536);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        enq_gate_hold(&gate, lane.cu);
        enq_irecv(&lane, &b, 0, 1, &request);
        ENQ_OK(MPI_Request_free(&request));
        CHECK(request == MPI_REQUEST_NULL);
        enq_gate_open(&gate);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
        enq_expect(&b, 65536, 1);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* What a wait has had is MPI's to refuse, too: it does not wait for it. */
static void refused_by_mpi(MPI_Request request)
{
    MPI_Request copy[2] = {request, request};
    MPI_Status status[2];
    int flag;

    CHECK(MPI_Wait(&copy[0], MPI_STATUS_IGNORE) != MPI_SUCCESS);
    copy[0] = request;
    CHECK(MPI_Test(&copy[0], &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    copy[0] = copy[1] = request;
    CHECK(MPI_Waitall(2, copy, status) != MPI_SUCCESS);
}

static void waited_for_twice(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request, copy;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 64);
    enq_errors_count(MPI_COMM_SELF);
    enq_errors_count(MPI_COMM_WORLD);
    enq_isend(&lane, &b, MPI_PROC_NULL, 1, &request);
    copy = request;
    enq_wait(&request, MPI_STATUS_IGNORE);
    CHECK(enq_class(MPIX_Wait_enqueue(&copy, MPI_STATUS_IGNORE)) ==
          MPI_ERR_REQUEST);
    refused_by_mpi(copy);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* Null requests among others, of two streams; one of MPI's is refused. */
static void null_and_mixed(void)
{
    struct enq_lane one, two;
    struct enq_buffer a, b;
    MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL,
                               MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[4];
    MPI_Request foreign;
    int count = 2 * enq.rank;

    enq_lane_open(&one);
    enq_lane_open(&two);
    enq_buffer_open(&a, 3000);
    enq_buffer_open(&b, 3000);
    ENQ_OK(MPIX_Wait_enqueue(&requests[0], &status[0]));
    enq_status_is(&status[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_isend(&one, &a, 1, 1, &requests[1]);
        enq_isend(&two, &b, 1, 1, &requests[3]);
    } else if (enq.rank == 1) {
        enq_irecv(&one, &a, 0, 1, &requests[1]);
        enq_irecv(&two, &b, 0, 1, &requests[3]);
    }
    ENQ_OK(MPIX_Waitall_enqueue(4, requests, status));
    enq_sync(&one);
    enq_status_is(&status[2], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (enq.rank == 1) {
        enq_status_is(&status[1], 0, 1, 3000);
        enq_status_is(&status[3], 0, 1, 3000);
        enq_expect(&a, 3000, 1);
        enq_expect(&b, 3000, 2);
    }
    enq_errors_count(MPI_COMM_SELF);
    MPI_Irecv(&count, 1, MPI_INT, enq.rank, 9, MPI_COMM_WORLD, &foreign);
    CHECK(enq_class(MPIX_Wait_enqueue(&foreign, &status[0])) ==
          MPI_ERR_REQUEST);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Send(&count, 1, MPI_INT, enq.rank, 9, MPI_COMM_WORLD);
    MPI_Wait(&foreign, MPI_STATUS_IGNORE);
    enq_lane_close(&two);
    enq_lane_close(&one);
    enq_buffer_close(&b);
    enq_buffer_close(&a);
}

/* Ways of the host to complete two requests. */
static void complete_by_wait(MPI_Request *requests, MPI_Status *status)
{
    ENQ_OK(MPI_Wait(&requests[0], &status[0]));
    ENQ_OK(MPI_Wait(&requests[1], &status[1]));
}

static void complete_by_test(MPI_Request *requests, MPI_Status *status)
{
    for (int i = 0; i < 2; i++)
        for (int flag = 0; !flag;)
            ENQ_OK(MPI_Test(&requests[i], &flag, &status[i]));
}

static void complete_by_waitall(MPI_Request *requests, MPI_Status *status)
{
    ENQ_OK(MPI_Waitall(2, requests, status));
}

static void complete_by_testsome(MPI_Request *requests, MPI_Status *status)
{
    MPI_Status done[2];
    int indices[2];
    int count;

    for (int left = 2; left > 0; left -= count) {
        ENQ_OK(MPI_Testsome(2, requests, &count, indices, done));
        CHECK(count != MPI_UNDEFINED);
        for (int i = 0; i < count; i++)
            status[indices[i]] = done[i];
    }
}

static void complete_by_waitany(MPI_Request *requests, MPI_Status *status)
{
    MPI_Status done;
    int index;

    for (int left = 2; left > 0; left--) {
        ENQ_OK(MPI_Waitany(2, requests, &index, &done));
        CHECK(index == 0 || index == 1);
        status[index] = done;
    }
}

static void complete_by_testall(MPI_Request *requests, MPI_Status *status)
{
    for (int flag = 0; !flag;)
        ENQ_OK(MPI_Testall(2, requests, &flag, status));
}

static void complete_by_testany(MPI_Request *requests, MPI_Status *status)
{
    MPI_Status done;
    int index, flag;

    for (int left = 2; left > 0; left -= flag) {
        ENQ_OK(MPI_Testany(2, requests, &index, &flag, &done));
        CHECK(!flag || index == 0 || index == 1);
        if (flag)
            status[index] = done;
    }
}

static void complete_by_waitsome(MPI_Request *requests, MPI_Status *status)
{
    MPI_Status done[2];
    int indices[2];
    int count;

    for (int left = 2; left > 0; left -= count) {
        ENQ_OK(MPI_Waitsome(2, requests, &count, indices, done));
        CHECK(count == 1 || count == 2);
        for (int i = 0; i < count; i++)
            status[indices[i]] = done[i];
    }
}

/* Asked for, which ends nothing; then ended. */
static void complete_by_get_status(MPI_Request *requests, MPI_Status *status)
{
    for (int i = 0; i < 2; i++)
        for (int flag = 0; !flag;)
            ENQ_OK(MPI_Request_get_status(requests[i], &flag, &status[i]));
    CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    complete_by_wait(requests, status);
}

static void host_completes(const struct enq_lane *lane,
                           void (*complete)(MPI_Request *, MPI_Status *))
{
    struct enq_buffer out, in;
    MPI_Request requests[2];
    MPI_Status status[2];

    enq_buffer_open(&out, 70000);
    enq_buffer_open(&in, 70000);
    if (enq.rank < 2) {
        enq_fill(&out, (unsigned)enq.rank + 1);
        enq_isend(lane, &out, 1 - enq.rank, 1, &requests[0]);
        enq_irecv(lane, &in, 1 - enq.rank, 1, &requests[1]);
        complete(requests, status);
        CHECK(requests[0] == MPI_REQUEST_NULL);
        CHECK(requests[1] == MPI_REQUEST_NULL);
        enq_status_is(&status[1], 1 - enq.rank, 1, 70000);
        enq_expect(&in, 70000, (unsigned)(1 - enq.rank) + 1);
    }
    enq_sync(lane);
    enq_buffer_close(&in);
    enq_buffer_close(&out);
}

static void host_completion(void)
{
    static void (*const ways[])(MPI_Request *, MPI_Status *) = {
        complete_by_wait,     complete_by_waitall,  complete_by_waitany,
        complete_by_waitsome, complete_by_test,     complete_by_testall,
        complete_by_testany,  complete_by_testsome, complete_by_get_status};
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        host_completes(&lane, ways[i]);
    enq_lane_close(&lane);
}

/* Waited for in another order than started; one is never waited for. */
static void wait_order(void)
{
    struct enq_lane lane;
    struct enq_buffer b[3];
    MPI_Request requests[3];

    enq_lane_open(&lane);
    for (int i = 0; i < 3; i++) {
        enq_buffer_open(&b[i], 65536);
        if (enq.rank == 0) {
            enq_fill(&b[i], (unsigned)i + 1);
            enq_isend(&lane, &b[i], 1, 1, &requests[i]);
        } else if (enq.rank == 1) {
            enq_irecv(&lane, &b[i], 0, 1, &requests[i]);
        }
    }
    if (enq.rank < 2) {
        enq_wait(&requests[2], MPI_STATUS_IGNORE);
        enq_wait(&requests[0], MPI_STATUS_IGNORE);
        if (enq.rank == 1)
            enq_wait(&requests[1], MPI_STATUS_IGNORE);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
    }
    for (int i = 0; i < 3; i++) {
        if (enq.rank == 1)
            enq_expect(&b[i], 65536, (unsigned)i + 1);
    }
    if (enq.rank == 0)
        ENQ_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    enq_lane_close(&lane);
    for (int i = 0; i < 3; i++)
        enq_buffer_close(&b[i]);
}

/* No wait, and the communicator goes: the stream's end is the operations' end,
 * and what was sent may be overwritten. */
static void never_waited_for(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_LARGE);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_isend(&lane, &b, 1, 1, &request);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    ENQ_OK(MPI_Comm_free(&lane.comm));
    if (enq.rank < 2)
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
    if (enq.rank == 0) {
        enq_wipe(&b);
        ENQ_OK(MPI_Request_free(&request));
    } else if (enq.rank == 1) {
        enq_expect(&b, ENQ_LARGE, 1);
    }
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    enq_sync(&lane);
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_buffer_close(&b);
}

/* A receive that nobody serves, before and after its stream has come to it;
 * then one that is matched. */
static void cancel_unmatched(const struct enq_lane *lane, bool reached)
{
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    enq_gate_make(&gate);
    enq_buffer_open(&b, 100);
    enq_gate_hold(&gate, lane->cu);
    if (reached)
        enq_gate_open(&gate);
    enq_irecv(lane, &b, MPI_ANY_SOURCE, 33, &request);
    if (reached)
        enq_sync(lane);
    ENQ_OK(MPI_Cancel(&request));
    enq_gate_open(&gate);
    ENQ_OK(MPIX_Wait_enqueue(&request, &status));
    enq_sync(lane);
    ENQ_OK(MPI_Test_cancelled(&status, &flag));
    CHECK(flag);
    enq_expect(&b, 0, 1);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

static void cancel_matched(const struct enq_lane *lane)
{
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;
    int flag = 1;

    enq_buffer_open(&b, 100);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(lane, &b, 1, 1);
        enq_hear(1);
    } else if (enq.rank == 1) {
        enq_irecv(lane, &b, 0, 1, &request);
        enq_wait(&request, MPI_STATUS_IGNORE);
        enq_sync(lane);
        enq_expect(&b, 100, 1);
        enq_wipe(&b);
        enq_tell(0);
    }
    if (enq.rank == 0) {
        enq_send(lane, &b, 1, 1);
        enq_sync(lane);
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_hear(0);
        enq_irecv(lane, &b, 0, 1, &request);
        ENQ_OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        while (!flag)
            ENQ_OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
        ENQ_OK(MPI_Cancel(&request));
        ENQ_OK(MPI_Wait(&request, &status));
        ENQ_OK(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag);
        enq_expect(&b, 100, 1);
    }
    enq_sync(lane);
    enq_buffer_close(&b);
}

/* A send is not taken back: it arrives. */
static void cancel_send(const struct enq_lane *lane)
{
    struct enq_buffer b;
    MPI_Request request;
    MPI_Status status;
    int flag = 1;

    enq_buffer_open(&b, 100);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_isend(lane, &b, 1, 1, &request);
        ENQ_OK(MPI_Cancel(&request));
        enq_wait(&request, &status);
        enq_sync(lane);
        ENQ_OK(MPI_Test_cancelled(&status, &flag));
        CHECK(!flag);
    } else if (enq.rank == 1) {
        enq_recv(lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(lane);
        enq_expect(&b, 100, 1);
    }
    enq_buffer_close(&b);
}

static void cancel(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    cancel_unmatched(&lane, false);
    cancel_unmatched(&lane, true);
    cancel_matched(&lane);
    cancel_send(&lane);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case21_freed_before_the_stream_ran", 2, freed_before_the_stream_ran},
        {"case21_freed_receive", 2, freed_receive},
        {"case21_waited_for_twice", 1, waited_for_twice},
        {"case22_null_and_mixed", 2, null_and_mixed},
        {"case23_host_completion", 2, host_completion},
        {"case25_wait_order", 2, wait_order},
        {"case25_never_waited_for", 2, never_waited_for},
        {"case30_cancel", 2, cancel},
        {0},
    };

    return enq_main(argc, argv, "enq request", cases);
}
