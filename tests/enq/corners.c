/* What a review found: waits that outlive what they wait for, plain receives
 * that a stream waits for, statuses and synchronous sends in stream order. */
#include <pthread.h>

#include "tests/enq/enq.h"

/* A plain receive, which the stream waits for: a short message. */
static void plain_receive_short(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 8192);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        CHECK(MPI_Send(b.at, 4096, MPI_BYTE, 1, 1, lane.comm) == 0);
    } else if (enq.rank == 1) {
        CHECK(MPI_Irecv(b.at, 8192, MPI_BYTE, 0, 1, lane.comm, &request) == 0);
        enq_wait(&request, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, 4096, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

enum { ROWS = 4, WIDTH = 300, PITCH = 1000 };

static void expect_rows(const struct enq_buffer *b)
{
    static unsigned char got[ROWS * PITCH];

    enq_read(b, got, sizeof(got));
    for (int i = 0; i < (ROWS - 1) * PITCH + WIDTH; i++) {
        bool inside = i % PITCH < WIDTH;

        CHECK(got[i] == enq_byte(inside, (size_t)i + (inside ? 0 : 256)));
    }
}

/* Likewise rows. */
static void plain_receive_strided(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;
    MPI_Datatype rows;

    enq_lane_open(&lane);
    enq_buffer_open(&b, (size_t)ROWS * PITCH);
    MPI_Type_vector(ROWS, WIDTH, PITCH, MPI_BYTE, &rows);
    MPI_Type_commit(&rows);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        CHECK(MPI_Send(b.at, 1, rows, 1, 1, lane.comm) == 0);
    } else if (enq.rank == 1) {
        CHECK(MPI_Irecv(b.at, 1, rows, 0, 1, lane.comm, &request) == 0);
        enq_wait(&request, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        expect_rows(&b);
    }
    MPI_Type_free(&rows);
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* The buffer of a receive is freed before its wait is called: an error, and
 * what comes after it on the stream goes on. */
static void wait_of_freed_buffer(void)
{
    struct enq_lane lane;
    struct enq_buffer lost, kept;
    MPI_Request request;
    int error = MPI_SUCCESS;

    enq_lane_open(&lane);
    enq_errors_count(lane.comm);
    enq_buffer_open_alone(&lost, 4096);
    enq_buffer_open(&kept, 4096);
    if (enq.rank == 0) {
        enq_fill(&kept, 1);
        enq_hear(1);
        enq_send(&lane, &kept, 1, 1);
        enq_send(&lane, &kept, 1, 2);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        enq_irecv(&lane, &lost, 0, 1, &request);
        enq_buffer_close(&lost);
        MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
        enq_tell(0);
        MPIX_Recv_enqueue(kept.at, 4096, MPI_BYTE, 0, 2, lane.comm,
                          MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&kept, 4096, 1);
        ENQ_OK(MPIX_Stream_get_error(lane.stream, &error, NULL));
        CHECK(error != MPI_SUCCESS);
    }
    if (enq.rank != 1)
        enq_buffer_close(&lost);
    enq_lane_close(&lane);
    enq_buffer_close(&kept);
}

/* A plain synchronous send is done when the receive's stream has come to it,
 * not before. */
static void ssend_waits_for_the_stream(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct enq_gate gate;
    MPI_Request request;
    int done = 0;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    enq_gate_make(&gate);
    if (enq.rank == 1) {
        enq_gate_hold(&gate, lane.cu);
        enq_irecv(&lane, &b, 0, 1, &request);
        enq_tell(0);
        enq_hear(0);
        enq_gate_open(&gate);
        enq_wait(&request, MPI_STATUS_IGNORE);
        enq_sync(&lane);
    } else if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        CHECK(MPI_Issend(b.at, 4096, MPI_BYTE, 1, 1, lane.comm, &request) == 0);
        for (int i = 0; i < 2000; i++)
            CHECK(MPI_Test(&request, &done, MPI_STATUS_IGNORE) == 0 && !done);
        enq_tell(1);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == 0);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* One status for two waits in a row: the stream passes the second one last. */
static void statuses_in_stream_order(void)
{
    struct enq_lane lane;
    struct enq_buffer a, b;
    MPI_Request requests[2];
    MPI_Status status;

    enq_lane_open(&lane);
    enq_buffer_open(&a, 100);
    enq_buffer_open(&b, 200);
    if (enq.rank == 1) {
        enq_irecv(&lane, &a, 0, 1, &requests[0]);
        enq_irecv(&lane, &b, 0, 2, &requests[1]);
        enq_wait(&requests[0], &status);
        enq_wait(&requests[1], &status);
        enq_tell(0);
        enq_sync(&lane);
        enq_status_is(&status, 0, 2, 200);
    } else if (enq.rank == 0) {
        enq_hear(1);
        enq_fill(&a, 1);
        enq_fill(&b, 2);
        enq_isend(&lane, &b, 1, 2, &requests[0]);
        enq_sync(&lane);
        enq_isend(&lane, &a, 1, 1, &requests[1]);
        enq_waitall(2, requests);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&a);
    enq_buffer_close(&b);
}

struct elsewhere {
    struct enq_lane *lane;
    struct enq_buffer *b;
    CUcontext ctx;
    int rc;
};

static void *send_elsewhere(void *arg)
{
    struct elsewhere *e = arg;

    MGDS_CU(cuCtxSetCurrent(e->ctx));
    e->rc = MPIX_Send_enqueue(e->b->at, 4096, MPI_BYTE, 1, 1, e->lane->comm);
    return NULL;
}

/* The per-thread stream is another one in another thread: refused there. */
static void per_thread_stream_has_one_thread(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    struct elsewhere e = {.lane = &lane, .b = &b};
    pthread_t thread;

    enq_lane_open_on(&lane, CU_STREAM_PER_THREAD);
    enq_errors_count(lane.comm);
    MGDS_CU(cuCtxGetCurrent(&e.ctx));
    enq_buffer_open(&b, 4096);
    if (enq.rank == 0) {
        pthread_create(&thread, NULL, send_elsewhere, &e);
        pthread_join(thread, NULL);
        CHECK(e.rc != MPI_SUCCESS && enq_errors() == 1);
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, 4096, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* A short send is done without its receiver, who comes later. */
static void synchronize_needs_no_receiver(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_SMALL);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_hear(0);
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b, ENQ_SMALL, 1);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
}

/* Requests freed, the stream synchronized: the bytes are there. */
static void synchronize_brings_freed_receives(void)
{
    struct enq_lane lane;
    struct enq_buffer b, copy;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_LARGE);
    enq_buffer_open(&copy, ENQ_LARGE);
    for (int i = 0; i < enq.laps; i++) {
        enq_wipe(&b);
        enq_wipe(&copy);
        if (enq.rank == 0) {
            enq_fill(&b, 1);
            enq_send(&lane, &b, 1, 1);
            enq_sync(&lane);
        } else if (enq.rank == 1) {
            enq_irecv(&lane, &b, 0, 1, &request);
            CHECK(MPI_Request_free(&request) == 0);
            ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
            enq_kernel_copy(lane.cu, &copy, &b);
            enq_sync(&lane);
            enq_expect(&copy, ENQ_LARGE, 1);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&b);
    enq_buffer_close(&copy);
}

/* The communicator freed as well. */
static void synchronize_after_comm_free(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request;

    enq_lane_open(&lane);
    enq_buffer_open(&b, 4096);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_hear(1);
        enq_isend(&lane, &b, 1, 1, &request);
        CHECK(MPI_Request_free(&request) == 0);
    } else if (enq.rank == 1) {
        enq_irecv(&lane, &b, 0, 1, &request);
        CHECK(MPI_Request_free(&request) == 0);
        enq_tell(0);
    }
    CHECK(MPI_Comm_free(&lane.comm) == 0);
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
    if (enq.rank == 1)
        enq_expect(&b, 4096, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPIX_Stream_free(&lane.stream) == 0);
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_buffer_close(&b);
}

/* An error of a request that was freed reaches the error handler. */
static void freed_requests_tell_their_errors(void)
{
    struct enq_lane lane;
    struct enq_buffer large;
    static char small[100];
    MPI_Request request;
    int flag;

    enq_lane_open(&lane);
    enq_errors_count(lane.comm);
    enq_buffer_open(&large, 8000);
    if (enq.rank == 0) {
        enq_fill(&large, 1);
        enq_hear(1);
        enq_send(&lane, &large, 1, 1);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        CHECK(MPI_Irecv(small, 100, MPI_BYTE, 0, 1, lane.comm, &request) == 0);
        CHECK(MPI_Request_free(&request) == 0);
        enq_tell(0);
        while (enq_errors() == 0)
            MPI_Iprobe(0, 5, lane.comm, &flag, MPI_STATUS_IGNORE);
    }
    enq_lane_close(&lane);
    enq_buffer_close(&large);
}

/* MPI_ERRORS_RETURN: the next call does its own work, synchronize tells. */
static void synchronize_returns_errors(void)
{
    struct enq_lane lane;
    struct enq_buffer large, small;

    enq_lane_open(&lane);
    ENQ_OK(MPI_Comm_set_errhandler(lane.comm, MPI_ERRORS_RETURN));
    enq_buffer_open(&large, 8000);
    enq_buffer_open(&small, 4000);
    if (enq.rank == 0) {
        enq_fill(&large, 1);
        enq_fill(&small, 2);
        enq_send(&lane, &large, 1, 1);
        enq_send(&lane, &small, 1, 2);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &small, 0, 1, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_recv(&lane, &small, 0, 2, MPI_STATUS_IGNORE);
        CHECK(enq_class(MPIX_Stream_synchronize(lane.stream, 30)) ==
              MPI_ERR_TRUNCATE);
        enq_expect(&small, 4000, 2);
        ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
    }
    enq_lane_close(&lane);
    enq_buffer_close(&large);
    enq_buffer_close(&small);
}

/* After MPI_Comm_free MPI_COMM_SELF's handler hears of it. */
static void errors_outlive_the_communicator(void)
{
    struct enq_lane lane;
    struct enq_buffer large;
    static char small[100];
    MPI_Request request;

    enq_lane_open(&lane);
    enq_errors_count(MPI_COMM_SELF);
    enq_buffer_open(&large, 8000);
    if (enq.rank == 0) {
        enq_fill(&large, 1);
        enq_hear(1);
        enq_send(&lane, &large, 1, 1);
    } else if (enq.rank == 1) {
        CHECK(MPI_Irecv(small, 100, MPI_BYTE, 0, 1, lane.comm, &request) == 0);
        CHECK(MPI_Request_free(&request) == 0);
    }
    ENQ_OK(MPI_Comm_free(&lane.comm));
    if (enq.rank == 1) {
        enq_tell(0);
        while (enq_errors() == 0)
            ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
    }
    enq_sync(&lane);
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_buffer_close(&large);
}

/* So does one of a request that the program still has. */
static void errors_of_requests_outlive_it(void)
{
    struct enq_lane lane;
    struct enq_buffer large;
    static char small[100];
    MPI_Request request = MPI_REQUEST_NULL;

    enq_lane_open(&lane);
    enq_errors_count(MPI_COMM_SELF);
    enq_buffer_open(&large, 8000);
    if (enq.rank == 1)
        CHECK(MPI_Irecv(small, 100, MPI_BYTE, 0, 1, lane.comm, &request) == 0);
    if (enq.rank == 0) {
        enq_fill(&large, 1);
        enq_send(&lane, &large, 1, 1);
    }
    ENQ_OK(MPI_Comm_free(&lane.comm));
    if (enq.rank == 1) {
        CHECK(enq_class(MPI_Wait(&request, MPI_STATUS_IGNORE)) ==
              MPI_ERR_TRUNCATE);
        CHECK(request == MPI_REQUEST_NULL && enq_errors() == 1);
    }
    enq_sync(&lane);
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_buffer_close(&large);
}

/* A message that a probe took out is received after that, also long ones. */
static void messages_outlive_it(void)
{
    struct enq_lane lane;
    struct enq_buffer b;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype pairs;
    MPI_Message message;
    MPI_Status status;

    enq_lane_open(&lane);
    enq_buffer_open(&b, ENQ_LARGE);
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        ENQ_OK(MPI_Isend(b.at, ENQ_LARGE, MPI_BYTE, 1, 1, lane.comm, &request));
    } else if (enq.rank == 1) {
        ENQ_OK(MPI_Mprobe(0, 1, lane.comm, &message, &status));
    }
    ENQ_OK(MPI_Comm_free(&lane.comm));
    if (enq.rank == 1) {
        ENQ_OK(MPI_Mrecv(b.at, ENQ_LARGE / 8, pairs, &message, &status));
        enq_status_is(&status, 0, 1, ENQ_LARGE);
        enq_expect(&b, ENQ_LARGE, 1);
    }
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Type_free(&pairs);
    enq_sync(&lane);
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"plain_receive_short", 2, plain_receive_short},
        {"plain_receive_strided", 2, plain_receive_strided},
        {"wait_of_freed_buffer", 2, wait_of_freed_buffer},
        {"ssend_waits_for_the_stream", 2, ssend_waits_for_the_stream},
        {"statuses_in_stream_order", 2, statuses_in_stream_order},
        {"per_thread_stream_has_one_thread", 2,
         per_thread_stream_has_one_thread},
        {"synchronize_needs_no_receiver", 2, synchronize_needs_no_receiver},
        {"synchronize_brings_freed_receives", 2,
         synchronize_brings_freed_receives},
        {"synchronize_after_comm_free", 2, synchronize_after_comm_free},
        {"freed_requests_tell_their_errors", 2,
         freed_requests_tell_their_errors},
        {"synchronize_returns_errors", 2, synchronize_returns_errors},
        {"errors_outlive_the_communicator", 2, errors_outlive_the_communicator},
        {"errors_of_requests_outlive_it", 2, errors_of_requests_outlive_it},
        {"messages_outlive_it", 2, messages_outlive_it},
        {0},
    };
    return enq_main(argc, argv, "enq corners", cases);
}
