/*
 * Calls while the program captures another stream in global mode, which forbids
 * every thread what may wait for the device, and is spoilt by it: what is made
 * for streams, communicators and messages, and what is given back, is our
 * affair. Each case is a run of its own, so that it meets nothing ready.
 */
#include "tests/enq/enq.h"

#include <pthread.h>
#include <semaphore.h>

#include "osu-extensions/libcuda.h"

/* A capture, by whichever thread; the driver's calls for it are ours alone. */
struct capture {
    CUstream stream;
    CUcontext context;
    pthread_t thread;
    sem_t begun, over;
};

static CUresult (*stream_begin)(CUstream, CUstreamCaptureMode);
static CUresult (*stream_end)(CUstream, CUgraph *);
static CUresult (*graph_nodes)(CUgraph, CUgraphNode *, size_t *);
static CUresult (*graph_destroy)(CUgraph);

static void *driver_call(const char *name, int version)
{
    void *found = mgds_libcuda_find(name, version);

    CHECK(found);
    return found;
}

static void capture_find(void)
{
    *(void **)&stream_begin = driver_call("cuStreamBeginCapture", 10010);
    *(void **)&stream_end = driver_call("cuStreamEndCapture", 10000);
    *(void **)&graph_nodes = driver_call("cuGraphGetNodes", 10000);
    *(void **)&graph_destroy = driver_call("cuGraphDestroy", 10000);
}

static void capture_begin(struct capture *capture)
{
    mgds_test_cu_check(
        stream_begin(capture->stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
        "cuStreamBeginCapture");
}

/* It is whole, and nothing of ours is in it. */
static void capture_end(struct capture *capture)
{
    CUgraph graph = NULL;
    size_t nodes = 1;

    mgds_test_cu_check(stream_end(capture->stream, &graph),
                       "cuStreamEndCapture");
    mgds_test_cu_check(graph_nodes(graph, NULL, &nodes), "cuGraphGetNodes");
    CHECK(nodes == 0);
    mgds_test_cu_check(graph_destroy(graph), "cuGraphDestroy");
}

static void *capture_beside(void *arg)
{
    struct capture *capture = arg;

    MGDS_CU(cuCtxSetCurrent(capture->context));
    capture_begin(capture);
    sem_post(&capture->begun);
    while (sem_wait(&capture->over) < 0)
        ;
    capture_end(capture);
    return NULL;
}

enum { BYTES = 300000, SHORT = 64, MANY = 8 };

/* One of each, so that every path is taken for the first time. */
struct buffers {
    struct enq_buffer out, in, plain_out, plain_in;
};

static void buffers_open(struct buffers *b)
{
    enq_buffer_open(&b->out, BYTES);
    enq_buffer_open(&b->in, BYTES);
    enq_buffer_open(&b->plain_out, BYTES);
    enq_buffer_open(&b->plain_in, BYTES);
    enq_fill(&b->out, 1);
    enq_fill(&b->plain_out, 2);
}

static void buffers_close(struct buffers *b)
{
    enq_expect(&b->in, BYTES, 1);
    enq_expect(&b->plain_in, BYTES, 2);
    enq_buffer_close(&b->plain_in);
    enq_buffer_close(&b->plain_out);
    enq_buffer_close(&b->in);
    enq_buffer_close(&b->out);
}

/* In the stream's order: short ones, which go by rings where there are any, and
 * all the rest of the buffer in one. */
static void talk_enqueued(const struct enq_lane *lane, struct buffers *b)
{
    int to = (enq.rank + 1) % enq.size;
    int from = (enq.rank + enq.size - 1) % enq.size;
    const size_t first = (size_t)MANY * SHORT; /* of the rest */
    int rest = BYTES - MANY * SHORT;
    MPI_Request requests[2 * MANY + 2], *request = requests;

    for (int i = 0; i < MANY; i++) {
        size_t at = (size_t)i * SHORT;

        ENQ_OK(MPIX_Irecv_enqueue(b->in.at + at, SHORT, MPI_BYTE, from, 1,
                                  lane->comm, request++));
        ENQ_OK(MPIX_Isend_enqueue(b->out.at + at, SHORT, MPI_BYTE, to, 1,
                                  lane->comm, request++));
    }
    ENQ_OK(MPIX_Irecv_enqueue(b->in.at + first, rest, MPI_BYTE, from, 2,
                              lane->comm, request));
    ENQ_OK(MPIX_Isend_enqueue(b->out.at + first, rest, MPI_BYTE, to, 2,
                              lane->comm, request + 1));
    enq_waitall(2 * MANY + 2, requests);
}

/* By plain calls: on the stream's communicator, and staged on the world. */
static void talk_plain(MPI_Comm comm, struct buffers *b, int at)
{
    int half = BYTES / 2;
    MPI_Request requests[2];

    ENQ_OK(MPI_Irecv(b->plain_in.at + at, half, MPI_BYTE,
                     (enq.rank + enq.size - 1) % enq.size, 3, comm,
                     &requests[0]));
    ENQ_OK(MPI_Isend(b->plain_out.at + at, half, MPI_BYTE,
                     (enq.rank + 1) % enq.size, 3, comm, &requests[1]));
    ENQ_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
}

/* From the first stream to the last thing that is given back. */
static void work(struct buffers *b)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    talk_enqueued(&lane, b);
    enq_sync(&lane);
    talk_plain(lane.comm, b, 0);
    talk_plain(MPI_COMM_WORLD, b, BYTES / 2);
    enq_lane_close(&lane);
}

static void nothing_more(void)
{
}

static void finalize(void)
{
    ENQ_OK(MPI_Finalize());
}

static void capture_around_work(void (*then)(void))
{
    struct capture capture;
    struct buffers b;

    capture_find();
    buffers_open(&b);
    MGDS_CU(cuStreamCreate(&capture.stream, CU_STREAM_NON_BLOCKING));
    capture_begin(&capture);
    work(&b);
    then();
    capture_end(&capture);
    MGDS_CU(cuStreamDestroy(capture.stream));
    buffers_close(&b);
}

static void capture_by_this_thread(void)
{
    capture_around_work(nothing_more);
}

/* MPI ends inside of it. */
static void capture_over_finalize(void)
{
    capture_around_work(finalize);
}

static void capture_by_another_thread(void)
{
    struct capture capture;
    struct buffers b;

    capture_find();
    buffers_open(&b);
    MGDS_CU(cuCtxGetCurrent(&capture.context));
    MGDS_CU(cuStreamCreate(&capture.stream, CU_STREAM_NON_BLOCKING));
    sem_init(&capture.begun, 0, 0);
    sem_init(&capture.over, 0, 0);
    CHECK(!pthread_create(&capture.thread, NULL, capture_beside, &capture));
    while (sem_wait(&capture.begun) < 0)
        ;
    work(&b);
    sem_post(&capture.over);
    CHECK(!pthread_join(capture.thread, NULL));
    MGDS_CU(cuStreamDestroy(capture.stream));
    buffers_close(&b);
}

/* Operations that stand when it begins go on in it, and in the end memory is
 * given back. */
static void capture_over_operations(void)
{
    struct capture capture;
    struct enq_lane lane;
    struct enq_gate gate;
    struct buffers b;

    capture_find();
    buffers_open(&b);
    enq_gate_make(&gate);
    MGDS_CU(cuStreamCreate(&capture.stream, CU_STREAM_NON_BLOCKING));
    enq_lane_open(&lane);
    enq_gate_hold(&gate, lane.cu);
    talk_enqueued(&lane, &b);
    capture_begin(&capture);
    enq_gate_open(&gate);
    enq_sync(&lane);
    talk_plain(lane.comm, &b, 0);
    talk_plain(MPI_COMM_WORLD, &b, BYTES / 2);
    enq_lane_close(&lane);
    capture_end(&capture);
    MGDS_CU(cuStreamDestroy(capture.stream));
    enq_gate_free(&gate);
    buffers_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"by_this_thread", 1, capture_by_this_thread},
        {"by_another_thread", 1, capture_by_another_thread},
        {"over_operations", 1, capture_over_operations},
        {"over_finalize", 1, capture_over_finalize},
        {0},
    };

    return enq_main(argc, argv, "enq capture", cases);
}
