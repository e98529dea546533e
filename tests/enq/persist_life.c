/* Persistent requests: freed, left, outlived by what they were made of, and in
 * threads. */
#include <pthread.h>

#include "tests/enq/persist.h"

/* Freed while it is active, and while it is under way. */
void persist_freed(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b[3];
    MPI_Request request[3];

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    for (int i = 0; i < 3; i++)
        enq_buffer_open(&b[i], i == 1 ? SHORT : LONG);
    enq_gate_hold(&gate, lane.cu);
    for (int i = 0; i < 3 && enq.rank < 2; i++) {
        if (enq.rank == 0) {
            enq_fill(&b[i], (unsigned)i + 1);
            persist_send_init(&lane, &b[i], 1, SEND, &request[i]);
        } else {
            persist_recv_init(&lane, &b[i], 0, &request[i]);
        }
        persist_start(&request[i]);
        if (i == 1)
            persist_hand_over(&request[i], MPI_STATUS_IGNORE);
        if (i == 2)
            persist_is_not_over(&request[i]);
        persist_drop(&request[i]);
    }
    enq_gate_open(&gate);
    ENQ_OK(MPIX_Stream_synchronize(lane.stream, 60));
    for (int i = 0; i < 3 && enq.rank == 1; i++)
        enq_expect(&b[i], b[i].bytes, (unsigned)i + 1);
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    for (int i = 0; i < 3; i++)
        enq_buffer_close(&b[i]);
}

/* What the request was made with may be gone: datatype and communicator. */
void persist_made_of_what_is_gone(void)
{
    enum { ROWS = 64, WIDTH = 8, PITCH = 24 };
    unsigned char untouched[ROWS * PITCH], got[ROWS * PITCH];
    struct enq_buffer b;
    struct enq_lane lane, other;
    MPI_Datatype type;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int count;

    enq_lane_open(&lane);
    enq_lane_open(&other);
    enq_buffer_open(&b, sizeof(untouched));
    enq_read(&b, untouched, sizeof(untouched));
    MPI_Type_vector(ROWS, WIDTH, PITCH, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (enq.rank == 0)
        ENQ_OK(MPI_Bsend_init(b.at, 1, type, 1, TAG, lane.comm, &request));
    else if (enq.rank == 1)
        ENQ_OK(MPI_Recv_init(b.at, 1, type, 0, TAG, lane.comm, &request));
    MPI_Type_free(&type);
    MPI_Comm_free(&lane.comm);
    for (unsigned lap = 1; lap < 4 && enq.rank < 2; lap++) {
        if (enq.rank == 0)
            enq_fill(&b, lap);
        persist_start(&request);
        ENQ_OK(MPI_Wait(&request, &status));
        if (enq.rank == 1) {
            ENQ_OK(MPI_Get_count(&status, MPI_BYTE, &count));
            CHECK(count == ROWS * WIDTH);
        }
        enq_read(&b, got, sizeof(got));
        for (size_t i = 0; i < sizeof(got) && enq.rank == 1; i++)
            CHECK(got[i] ==
                  (i % PITCH < WIDTH ? enq_byte(lap, i) : untouched[i]));
    }
    if (enq.rank < 2)
        persist_drop(&request);
    MPI_Comm_dup(other.comm, &lane.comm); /* for close */
    enq_lane_close(&lane);
    enq_lane_close(&other);
    enq_buffer_close(&b);
}

/* Two threads, each with requests and a lane of its own, which start and
 * complete them in all ways that differ here. */
struct thread {
    struct enq_lane lane;
    CUcontext context;
    pthread_t id;
};

static void thread_lap(struct enq_buffer *b, MPI_Request *request, unsigned lap)
{
    bool enqueued = lap % 2, handed_over = lap / 2 % 2;

    if (enq.rank == 0)
        enq_fill(b, lap + 1);
    persist_start_by(request, enqueued);
    if (handed_over)
        persist_hand_over(request, MPI_STATUS_IGNORE);
    ENQ_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    if (enq.rank == 1)
        enq_expect(b, b->bytes, lap + 1);
}

static void *thread_run(void *arg)
{
    struct thread *thread = arg;
    struct enq_buffer b;
    MPI_Request request;

    MGDS_CU(cuCtxSetCurrent(thread->context));
    enq_buffer_open(&b, SHORT);
    if (enq.rank == 0)
        persist_send_init(&thread->lane, &b, 1, SEND, &request);
    else
        persist_recv_init(&thread->lane, &b, 0, &request);
    for (unsigned lap = 0; lap < (unsigned)enq.laps; lap++)
        thread_lap(&b, &request, lap);
    persist_drop(&request);
    enq_buffer_close(&b);
    return NULL;
}

void persist_threads(void)
{
    struct thread thread[2];

    if (enq.level < MPI_THREAD_MULTIPLE)
        return;
    for (int i = 0; i < 2; i++) {
        enq_lane_open(&thread[i].lane);
        MGDS_CU(cuCtxGetCurrent(&thread[i].context));
    }
    for (int i = 0; i < 2 && enq.rank < 2; i++)
        CHECK(pthread_create(&thread[i].id, NULL, thread_run, &thread[i]) == 0);
    for (int i = 0; i < 2 && enq.rank < 2; i++)
        pthread_join(thread[i].id, NULL);
    for (int i = 0; i < 2; i++)
        enq_lane_close(&thread[i].lane);
}

/* The last case: MPI_Finalize takes what the program leaves. */
void persist_left_behind(void)
{
    static struct enq_buffer b;
    static MPI_Request request[4];
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open(&b, SHORT);
    for (int i = 0; i < 3; i++)
        persist_send_init(&lane, &b, MPI_PROC_NULL, SEND, &request[i]);
    persist_recv_init(&lane, &b, enq.rank, &request[3]);
    ENQ_OK(MPIX_Startall_enqueue(3, &request[1]));
    persist_hand_over(&request[1], MPI_STATUS_IGNORE);
    enq_send(&lane, &b, enq.rank, TAG);
    persist_hand_over(&request[3], MPI_STATUS_IGNORE);
    enq_lane_close(&lane);
}
