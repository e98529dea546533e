/* Streams and communicators of cases, stalls, and calls that must succeed. */
#include "tests/enq/enq.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_WORD = 77 };

static atomic_int errors;

MPIX_Stream enq_stream_of(CUstream cu)
{
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Info info;

    ENQ_OK(MPI_Info_create(&info));
    ENQ_OK(MPI_Info_set(info, "type", "cudaStream_t"));
    ENQ_OK(MPIX_Info_set_hex(info, "value", &cu, sizeof(void *)));
    ENQ_OK(MPIX_Stream_create(info, &stream));
    ENQ_OK(MPI_Info_free(&info));
    CHECK(stream != MPIX_STREAM_NULL);
    return stream;
}

/* Streams that the driver owns. */
static bool ours(CUstream cu)
{
    return cu && cu != CU_STREAM_LEGACY && cu != CU_STREAM_PER_THREAD;
}

void enq_lane_open_on(struct enq_lane *lane, CUstream cu)
{
    lane->cu = cu;
    lane->stream = enq_stream_of(cu);
    ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, lane->stream, &lane->comm));
    enq_lane_warm(lane);
}

void enq_lane_open_as(struct enq_lane *lane, bool gpu)
{
    CUstream cu;

    if (gpu) {
        MGDS_CU(cuStreamCreate(&cu, CU_STREAM_NON_BLOCKING));
        enq_lane_open_on(lane, cu);
        return;
    }
    lane->cu = NULL;
    lane->stream = MPIX_STREAM_NULL;
    ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, lane->stream, &lane->comm));
    enq_lane_warm(lane);
}

void enq_lane_open(struct enq_lane *lane)
{
    enq_lane_open_as(lane, true);
}

static int count_devices(void)
{
    int devices = 0;

    MGDS_CU(cuDeviceGetCount(&devices));
    return devices;
}

/* Between ranks of one GPU nothing is pulled. */
bool enq_frees_alone(void)
{
    const char *trigger = getenv("MPIX_GDS_TRIGGER");
    int devices = count_devices();
    bool alone = devices > 1 && enq.size > devices &&
                 (!trigger || strcmp(trigger, "auto") == 0);

    if (alone && enq.rank == 0)
        puts("not run: ranks share a GPU, and only the driver copies for them");
    return alone;
}

static int other_device(void)
{
    return (enq.device + 1) % count_devices();
}

/* Held until the end of the process. */
CUcontext enq_other_context(void)
{
    static _Atomic(CUcontext) other;
    CUcontext ctx = atomic_load(&other);

    if (ctx)
        return ctx;
    MGDS_CU(cuDevicePrimaryCtxRetain(&ctx, other_device()));
    atomic_store(&other, ctx);
    return ctx;
}

bool enq_other_reaches(void)
{
    int there = 0, back = 0, other = other_device();

    MGDS_CU(cuDeviceCanAccessPeer(&there, enq.device, other));
    MGDS_CU(cuDeviceCanAccessPeer(&back, other, enq.device));
    return other == enq.device || (there && back);
}

void enq_lane_open_other(struct enq_lane *lane)
{
    CUcontext own;
    CUstream cu;

    MGDS_CU(cuCtxGetCurrent(&own));
    MGDS_CU(cuCtxSetCurrent(enq_other_context()));
    MGDS_CU(cuStreamCreate(&cu, CU_STREAM_NON_BLOCKING));
    MGDS_CU(cuCtxSetCurrent(own));
    enq_lane_open_on(lane, cu);
}

/* While a capture of the program's forbids what may wait, too. */
void enq_sync(const struct enq_lane *lane)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

    MGDS_CU(cuThreadExchangeStreamCaptureMode(&mode));
    MGDS_CU(cuStreamSynchronize(lane->cu));
    MGDS_CU(cuThreadExchangeStreamCaptureMode(&mode));
}

void enq_lane_close(struct enq_lane *lane)
{
    bool gpu = lane->stream != MPIX_STREAM_NULL;

    if (gpu)
        enq_sync(lane);
    ENQ_OK(MPI_Comm_free(&lane->comm));
    if (!gpu)
        return;
    ENQ_OK(MPIX_Stream_free(&lane->stream));
    CHECK(lane->stream == MPIX_STREAM_NULL);
    if (ours(lane->cu))
        MGDS_CU(cuStreamDestroy(lane->cu));
}

void enq_capture_begin(const struct enq_lane *lane)
{
    MGDS_CU(
        cuStreamBeginCapture(lane->cu, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

size_t enq_capture_end(const struct enq_lane *lane)
{
    size_t nodes;
    CUgraph graph;

    MGDS_CU(cuStreamEndCapture(lane->cu, &graph));
    MGDS_CU(cuGraphGetNodes(graph, NULL, &nodes));
    MGDS_CU(cuGraphDestroy(graph));
    return nodes;
}

void enq_gate_make(struct enq_gate *gate)
{
    void *at;

    MGDS_CU(cuMemHostAlloc(&at, sizeof(*gate->word), 0));
    gate->word = at;
    __atomic_store_n(gate->word, 0, __ATOMIC_RELEASE);
}

void enq_gate_hold(const struct enq_gate *gate, CUstream cu)
{
    MGDS_CU(cuStreamWaitValue32(cu, (CUdeviceptr)(uintptr_t)gate->word, 1,
                                CU_STREAM_WAIT_VALUE_GEQ));
}

void enq_gate_open(const struct enq_gate *gate)
{
    __atomic_store_n(gate->word, 1, __ATOMIC_RELEASE);
}

void enq_gate_free(struct enq_gate *gate)
{
    MGDS_CU(cuMemFreeHost(gate->word));
}

void enq_send(const struct enq_lane *lane, const struct enq_buffer *b, int to,
              int tag)
{
    ENQ_OK(
        MPIX_Send_enqueue(b->at, (int)b->bytes, MPI_BYTE, to, tag, lane->comm));
}

void enq_recv(const struct enq_lane *lane, struct enq_buffer *b, int from,
              int tag, MPI_Status *status)
{
    ENQ_OK(MPIX_Recv_enqueue(b->at, (int)b->bytes, MPI_BYTE, from, tag,
                             lane->comm, status));
}

void enq_isend(const struct enq_lane *lane, const struct enq_buffer *b, int to,
               int tag, MPI_Request *request)
{
    ENQ_OK(MPIX_Isend_enqueue(b->at, (int)b->bytes, MPI_BYTE, to, tag,
                              lane->comm, request));
    CHECK(*request != MPI_REQUEST_NULL);
}

void enq_irecv(const struct enq_lane *lane, struct enq_buffer *b, int from,
               int tag, MPI_Request *request)
{
    ENQ_OK(MPIX_Irecv_enqueue(b->at, (int)b->bytes, MPI_BYTE, from, tag,
                              lane->comm, request));
    CHECK(*request != MPI_REQUEST_NULL);
}

void enq_wait(MPI_Request *request, MPI_Status *status)
{
    ENQ_OK(MPIX_Wait_enqueue(request, status));
    CHECK(*request == MPI_REQUEST_NULL);
}

/* MPI_STATUSES_IGNORE, which gcc takes for an array too short. */
static MPI_Status *ignored(void)
{
    return MPI_STATUSES_IGNORE;
}

void enq_waitall(int count, MPI_Request *requests)
{
    ENQ_OK(MPIX_Waitall_enqueue(count, requests, ignored()));
    for (int i = 0; i < count; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

void enq_tell(int to)
{
    MPI_Ssend(NULL, 0, MPI_BYTE, to, TAG_WORD, MPI_COMM_WORLD);
}

void enq_hear(int from)
{
    MPI_Recv(NULL, 0, MPI_BYTE, from, TAG_WORD, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

void enq_status_is(MPI_Status *status, int source, int tag, size_t bytes)
{
    int count = -1;

    ENQ_OK(MPI_Get_count(status, MPI_BYTE, &count));
    if (status->MPI_SOURCE != source || status->MPI_TAG != tag ||
        count != (int)bytes)
        fprintf(stderr, "rank %d: status: source %d, tag %d, %d bytes\n",
                enq.rank, status->MPI_SOURCE, status->MPI_TAG, count);
    CHECK(status->MPI_SOURCE == source);
    CHECK(status->MPI_TAG == tag);
    CHECK(count == (int)bytes);
}

int enq_class(int code)
{
    int class = -1;

    MPI_Error_class(code, &class);
    return class;
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    atomic_fetch_add(&errors, 1);
}

void enq_errors_count(MPI_Comm comm)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    atomic_store(&errors, 0);
}

int enq_errors(void)
{
    return atomic_load(&errors);
}
