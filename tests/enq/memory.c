/* Memory of every kind and of other devices and processes, and more operations
 * than any table holds. */
#include "tests/enq/enq.h"

#include <stdlib.h>
#include <string.h>

#include "osu-extensions/libcuda.h"

static void kinds_pair(const struct enq_lane *lane, enum mgds_test_kind from,
                       enum mgds_test_kind to)
{
    struct enq_buffer b;

    enq_buffer_open_kind(&b, 70001, enq.rank == 0 ? from : to);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    enq_sync(lane);
    if (enq.rank == 1)
        enq_expect(&b, 70001, 1);
    enq_buffer_close(&b);
}

static void memory_kinds(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int from = 0; from < MGDS_TEST_KINDS; from++)
        for (int to = 0; to < MGDS_TEST_KINDS; to++)
            kinds_pair(&lane, (enum mgds_test_kind)from,
                       (enum mgds_test_kind)to);
    enq_lane_close(&lane);
}

/* Allocated and freed on the stream that stands: no call must need the memory
 * to be there, and who copies beside the stream must not miss it. */
static void pass_memory_of_the_stream(const struct enq_lane *lane, size_t bytes)
{
    struct enq_gate gate;
    struct enq_buffer plain;
    CUdeviceptr ptr = 0;
    void *at;

    enq_gate_make(&gate);
    enq_buffer_open(&plain, bytes);
    if (enq.rank == 0)
        enq_fill(&plain, 1);
    enq_gate_hold(&gate, lane->cu);
    MGDS_CU(cuMemAllocAsync(&ptr, bytes, lane->cu));
    at = (void *)(uintptr_t)ptr;
    if (enq.rank == 0) {
        MGDS_CU(cuMemcpyAsync(ptr, (CUdeviceptr)(uintptr_t)plain.at, bytes,
                              lane->cu));
        ENQ_OK(MPIX_Send_enqueue(at, (int)bytes, MPI_BYTE, 1, 1, lane->comm));
    } else if (enq.rank == 1) {
        ENQ_OK(MPIX_Recv_enqueue(at, (int)bytes, MPI_BYTE, 0, 1, lane->comm,
                                 MPI_STATUS_IGNORE));
        MGDS_CU(cuMemcpyAsync((CUdeviceptr)(uintptr_t)plain.at, ptr, bytes,
                              lane->cu));
    }
    MGDS_CU(cuMemFreeAsync(ptr, lane->cu));
    enq_gate_open(&gate);
    enq_sync(lane);
    if (enq.rank == 1)
        enq_expect(&plain, bytes, 1);
    enq_gate_free(&gate);
    enq_buffer_close(&plain);
}

static void memory_of_the_stream(void)
{
    static const size_t sizes[] = {5000, 300007, 1200007};
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        pass_memory_of_the_stream(&lane, sizes[i]);
    enq_lane_close(&lane);
}

/* More operations under way than any fixed table holds, none of them posted
 * at the receiver before all were sent. */
static void many_operations(void)
{
    int count = enq.full ? 65536 : 5000;
    MPI_Request *requests = malloc((size_t)count * sizeof(*requests));
    struct enq_lane lane;
    struct enq_buffer all;

    CHECK(requests);
    enq_lane_open(&lane);
    enq_buffer_open(&all, (size_t)count * 8);
    if (enq.rank == 0)
        enq_fill(&all, 1);
    if (enq.rank == 1)
        enq_hear(0);
    for (int i = 0; i < count && enq.rank < 2; i++) {
        char *at = all.at + (size_t)i * 8;

        if (enq.rank == 0)
            ENQ_OK(MPIX_Isend_enqueue(at, 8, MPI_BYTE, 1, 1, lane.comm,
                                      &requests[i]));
        else
            ENQ_OK(MPIX_Irecv_enqueue(at, 8, MPI_BYTE, 0, 1, lane.comm,
                                      &requests[i]));
    }
    if (enq.rank == 0)
        enq_tell(1);
    if (enq.rank < 2)
        enq_waitall(count, requests);
    enq_sync(&lane);
    if (enq.rank == 1)
        enq_expect(&all, all.bytes, 1);
    enq_lane_close(&lane);
    enq_buffer_close(&all);
    free(requests);
}

enum { AT_A_TIME = 128 };

/* Messages of one tag, of every other number from first on. Many at a time:
 * each takes two ways between the processes, and those of a busy machine are
 * long. */
static void receive_every_other(MPI_Comm comm, int first, int count)
{
    MPI_Request requests[AT_A_TIME];
    MPI_Status statuses[AT_A_TIME];
    unsigned char got[AT_A_TIME];
    int n;

    for (int i = first; i < count; i += 2 * n) {
        for (n = 0; n < AT_A_TIME && i + 2 * n < count; n++) {
            got[n] = (unsigned char)~enq_byte(1, (size_t)i + 2 * (size_t)n);
            ENQ_OK(
                MPI_Irecv(&got[n], 1, MPI_BYTE, 0, first, comm, &requests[n]));
        }
        ENQ_OK(MPI_Waitall(n, requests, statuses));
        for (int k = 0; k < n; k++)
            CHECK(got[k] == enq_byte(1, (size_t)i + 2 * (size_t)k));
    }
}

/* Far more messages than a receiver has asked for, from calls and streams. */
static void many_unexpected(void)
{
    const int count = enq.laps * 1311; /* 50 laps: 64 Ki */
    struct enq_lane lane;
    unsigned char byte;

    enq_lane_open_as(&lane, false);
    if (enq.rank == 0) {
        for (int i = 0; i < count; i++) {
            byte = enq_byte(1, (size_t)i);
            ENQ_OK(MPI_Send(&byte, 1, MPI_BYTE, 1, i % 2, lane.comm));
        }
        enq_tell(1);
    } else if (enq.rank == 1) {
        enq_hear(0);
        receive_every_other(lane.comm, 1, count);
        receive_every_other(lane.comm, 0, count);
    }
    enq_lane_close(&lane);
}

/* Memory that another process has given: R0 sends from R1's, and receives
 * into it. The driver's calls for that are this case's own. */
static CUresult (*ipc_get)(CUipcMemHandle *, CUdeviceptr);
static CUresult (*ipc_open)(CUdeviceptr *, CUipcMemHandle, unsigned);
static CUresult (*ipc_close)(CUdeviceptr);

static void *driver_call(const char *name, int version)
{
    void *found = mgds_libcuda_find(name, version);

    CHECK(found);
    return found;
}

static void ipc_find(void)
{
    *(void **)&ipc_get = driver_call("cuIpcGetMemHandle", 4010);
    *(void **)&ipc_open = driver_call("cuIpcOpenMemHandle", 11000);
    *(void **)&ipc_close = driver_call("cuIpcCloseMemHandle", 4010);
}

enum { SHARED = 70000 };

/* R1 lends its memory and finds in it what R0 received there. */
static void lend(const struct enq_lane *lane)
{
    struct enq_buffer lent, plain;
    CUipcMemHandle handle;

    enq_buffer_open_alone(&lent, SHARED);
    enq_buffer_open(&plain, SHARED);
    enq_fill(&lent, 1);
    mgds_test_cu_check(ipc_get(&handle, (CUdeviceptr)(uintptr_t)lent.at),
                       "cuIpcGetMemHandle");
    MPI_Send(&handle, sizeof(handle), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    enq_recv(lane, &plain, 0, 1, MPI_STATUS_IGNORE);
    enq_sync(lane);
    enq_expect(&plain, SHARED, 1);
    enq_fill(&plain, 2);
    enq_send(lane, &plain, 0, 2);
    enq_sync(lane);
    enq_hear(0);
    enq_expect(&lent, SHARED, 2);
    enq_buffer_close(&plain);
    enq_buffer_close(&lent);
}

/* The handle is of the allocation, whose first bytes are the guard. Opened in
 * that context, whatever the lane's is. */
static void borrow(const struct enq_lane *lane, size_t guard, CUcontext in)
{
    CUipcMemHandle handle;
    CUdeviceptr base = 0;
    CUcontext own;
    void *at;

    MPI_Recv(&handle, sizeof(handle), MPI_BYTE, 1, 1, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MGDS_CU(cuCtxGetCurrent(&own));
    MGDS_CU(cuCtxSetCurrent(in));
    mgds_test_cu_check(ipc_open(&base, handle, 1), "cuIpcOpenMemHandle");
    MGDS_CU(cuCtxSetCurrent(own));
    at = (void *)(uintptr_t)(base + guard);
    ENQ_OK(MPIX_Send_enqueue(at, SHARED, MPI_BYTE, 1, 1, lane->comm));
    ENQ_OK(MPIX_Recv_enqueue(at, SHARED, MPI_BYTE, 1, 2, lane->comm,
                             MPI_STATUS_IGNORE));
    enq_sync(lane);
    enq_tell(1);
    mgds_test_cu_check(ipc_close(base), "cuIpcCloseMemHandle");
}

static void lend_to(const struct enq_lane *lane, CUcontext in)
{
    struct enq_buffer sample;

    enq_buffer_open_alone(&sample, 1);
    if (enq.rank == 0)
        borrow(lane, (size_t)(sample.at - sample.memory.at), in);
    else if (enq.rank == 1)
        lend(lane);
    enq_buffer_close(&sample);
}

/* R1's memory is on the other GPU, if there are two. R0 maps it in the context
 * of its own GPU, as far as that reaches it, or of the GPU where it lies, and
 * has streams of both. */
static void memory_of_another_process(void)
{
    struct enq_lane lane, other;
    CUcontext own;

    if (enq_split()) /* the driver refuses the handle */
        return;
    ipc_find();
    MGDS_CU(cuCtxGetCurrent(&own));
    enq_lane_open(&lane);
    enq_lane_open_other(&other);
    if (enq_other_reaches()) {
        lend_to(&lane, own);
        lend_to(&other, own);
    }
    lend_to(&lane, enq_other_context());
    lend_to(&other, enq_other_context());
    enq_lane_close(&other);
    enq_lane_close(&lane);
}

/* A stream of a device that is not the thread's, memory of either: the calls
 * leave the thread's context as it is. */
static void other_device_of(const struct enq_lane *lane, size_t bytes,
                            enum mgds_test_kind kind)
{
    struct enq_buffer b;
    CUcontext own, now;

    enq_buffer_open_kind(&b, bytes, kind);
    MGDS_CU(cuCtxGetCurrent(&own));
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    MGDS_CU(cuCtxGetCurrent(&now));
    CHECK(now == own);
    enq_sync(lane);
    if (enq.rank == 1)
        enq_expect(&b, bytes, 1);
    enq_buffer_close(&b);
}

static void other_device(void)
{
    struct enq_lane lane;

    enq_lane_open_other(&lane);
    for (int kind = 0; kind < MGDS_TEST_KINDS; kind++)
        for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++)
            other_device_of(&lane, *size, (enum mgds_test_kind)kind);
    enq_lane_close(&lane);
}

/* Whether there is less memory to stage messages in than usual. */
static bool is_short_of_memory(void)
{
    return getenv("MPIX_GDS_STAGE_POOL") != NULL;
}

/* The receiver is slow. A sender of staged messages, which no receive holds
 * back, has to wait for what it has sent in a run with little memory for them;
 * in others the receiver looks once.
 */
enum { AHEAD = 24, AHEAD_LOOKS = 8, AHEAD_BYTES = 1000003 };

static void send_ahead(const struct enq_lane *lane, struct enq_buffer *b)
{
    for (unsigned i = 0; i < AHEAD; i++) {
        enq_fill(b, i + 1);
        enq_send(lane, b, 1, 1);
        MGDS_CU(cuStreamSynchronize(lane->cu));
    }
}

static void receive_behind(const struct enq_lane *lane, struct enq_buffer *b)
{
    const int looks = is_short_of_memory() ? AHEAD_LOOKS : 1;

    for (unsigned i = 0; i < AHEAD; i++) {
        enq_recv(lane, b, 0, 1, MPI_STATUS_IGNORE);
        MGDS_CU(cuStreamSynchronize(lane->cu));
        for (int times = 0; times < looks; times++)
            enq_expect(b, AHEAD_BYTES, i + 1);
    }
}

static void sender_gets_ahead(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open(&b, AHEAD_BYTES);
    if (enq.rank == 0)
        send_ahead(&lane, &b);
    else if (enq.rank == 1)
        receive_behind(&lane, &b);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

/* Both ranks' streams stand behind a gate that the program opens only when all
 * is enqueued, more than there is memory for, while memory of another size is
 * idle: a call that gave that back would wait for the stream, for ever. */
enum { IDLE = 16, IDLE_BYTES = 1000003, BEHIND = 6, BEHIND_BYTES = 3000017 };

static void send_or_receive(const struct enq_lane *lane, struct enq_buffer b[],
                            int count)
{
    for (int i = 0; i < count; i++) {
        if (enq.rank == 0)
            enq_send(lane, &b[i], 1, i);
        else
            enq_recv(lane, &b[i], 0, i, MPI_STATUS_IGNORE);
    }
}

static void pass_all(const struct enq_lane *lane, size_t bytes, int count,
                     const struct enq_gate *gate)
{
    struct enq_buffer b[IDLE];

    for (int i = 0; i < count; i++) {
        enq_buffer_open(&b[i], bytes);
        if (enq.rank == 0)
            enq_fill(&b[i], (unsigned)i + 1);
    }
    if (gate)
        enq_gate_hold(gate, lane->cu);
    send_or_receive(lane, b, count);
    if (gate)
        enq_gate_open(gate);
    enq_sync(lane);
    for (int i = 0; i < count; i++) {
        if (enq.rank == 1)
            enq_expect(&b[i], bytes, (unsigned)i + 1);
        enq_buffer_close(&b[i]);
    }
}

static void behind_a_gate(void)
{
    struct enq_gate gate;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    if (enq.rank < 2) {
        pass_all(&lane, IDLE_BYTES, IDLE, NULL);
        pass_all(&lane, BEHIND_BYTES, BEHIND, &gate);
    }
    enq_lane_close(&lane);
    enq_gate_free(&gate);
}

/* Windows of more messages than there is memory for, then; a short message
 * answers each. */
enum { WINDOW = 64, WINDOWS = 2 };

static int window_bytes(void)
{
    return is_short_of_memory() ? 200001 : 20001;
}

static size_t window_total(void)
{
    return WINDOW * (size_t)window_bytes();
}

static void put_window(const struct enq_lane *lane, const struct enq_buffer *b,
                       bool send, MPI_Request requests[])
{
    for (int i = 0; i < WINDOW; i++) {
        char *at = b->at + (size_t)i * (size_t)window_bytes();

        if (send)
            ENQ_OK(MPIX_Isend_enqueue(at, window_bytes(), MPI_BYTE,
                                      1 - enq.rank, i, lane->comm,
                                      &requests[i]));
        else
            ENQ_OK(MPIX_Irecv_enqueue(at, window_bytes(), MPI_BYTE,
                                      1 - enq.rank, i, lane->comm,
                                      &requests[i]));
    }
}

static void send_windows(const struct enq_lane *lane, struct enq_buffer *b,
                         struct enq_buffer *answer)
{
    MPI_Request requests[WINDOW];

    enq_fill(b, 1);
    for (unsigned k = 0; k < WINDOWS; k++) {
        put_window(lane, b, true, requests);
        ENQ_OK(MPIX_Waitall_enqueue(WINDOW, requests, MPI_STATUSES_IGNORE));
        enq_recv(lane, answer, 1, 1, MPI_STATUS_IGNORE);
    }
    enq_sync(lane);
    enq_expect(answer, 8, 2);
}

static void receive_windows(const struct enq_lane *lane, struct enq_buffer *b,
                            struct enq_buffer *answer)
{
    MPI_Request requests[WINDOW];

    enq_fill(answer, 2);
    for (unsigned k = 0; k < WINDOWS; k++) {
        put_window(lane, b, false, requests);
        ENQ_OK(MPIX_Waitall_enqueue(WINDOW, requests, MPI_STATUSES_IGNORE));
        enq_send(lane, answer, 0, 1);
    }
    enq_sync(lane);
    enq_expect(b, window_total(), 1);
}

static void exchange_windows(const struct enq_lane *lane, struct enq_buffer *in,
                             struct enq_buffer *out)
{
    MPI_Request requests[2 * WINDOW];

    enq_fill(out, 3 + (unsigned)enq.rank);
    for (unsigned k = 0; k < WINDOWS; k++) {
        put_window(lane, in, false, requests);
        put_window(lane, out, true, &requests[WINDOW]);
        ENQ_OK(MPIX_Waitall_enqueue(2 * WINDOW, requests, MPI_STATUSES_IGNORE));
    }
    enq_sync(lane);
    enq_expect(in, window_total(), 4 - (unsigned)enq.rank);
}

typedef void windows_part(const struct enq_lane *lane, struct enq_buffer *b,
                          struct enq_buffer *other);

/* The part of each of two ranks. */
static void run_windows(windows_part *const parts[2], size_t other_bytes)
{
    struct enq_buffer b, other;
    struct enq_lane lane;

    enq_lane_open(&lane);
    enq_buffer_open(&b, window_total());
    enq_buffer_open(&other, other_bytes);
    if (enq.rank < 2)
        parts[enq.rank](&lane, &b, &other);
    enq_buffer_close(&other);
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

static void window_one_way(void)
{
    static windows_part *const parts[] = {send_windows, receive_windows};

    run_windows(parts, 8);
}

static void window_both_ways(void)
{
    static windows_part *const parts[] = {exchange_windows, exchange_windows};

    run_windows(parts, window_total());
}

/* Larger than all memory there is where it is staged, or not. */
static int large_bytes(void)
{
    return is_short_of_memory() ? 8 << 20 : 1 << 20;
}

static void receive_large(const struct enq_lane *lane, struct enq_buffer *b)
{
    enq_recv(lane, b, 0, 1, MPI_STATUS_IGNORE);
    ENQ_OK(MPIX_Stream_synchronize(lane->stream, 60));
    enq_expect(b, (size_t)large_bytes(), 1);
}

static void receiver_lacks_memory(void)
{
    struct enq_lane lane;
    struct enq_buffer b;

    enq_lane_open(&lane);
    enq_buffer_open_kind(&b, (size_t)large_bytes(),
                         enq.rank == 0 ? MGDS_TEST_HOST : MGDS_TEST_DEVICE);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        ENQ_OK(MPI_Ssend(b.at, large_bytes(), MPI_BYTE, 1, 1, lane.comm));
    } else if (enq.rank == 1) {
        receive_large(&lane, &b);
    }
    enq_buffer_close(&b);
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case35_memory_kinds", 2, memory_kinds},
        {"case35_memory_of_the_stream", 2, memory_of_the_stream},
        {"case35_memory_of_another_process", 2, memory_of_another_process},
        {"case36_many_operations", 2, many_operations},
        {"case36_many_unexpected", 2, many_unexpected},
        {"behind_a_gate", 2, behind_a_gate},
        {"case36_sender_gets_ahead", 2, sender_gets_ahead},
        {"case36_window_one_way", 2, window_one_way},
        {"case36_window_both_ways", 2, window_both_ways},
        {"case36_receiver_lacks_memory", 2, receiver_lacks_memory},
        {"case38_other_device", 2, other_device},
        {0},
    };

    return enq_main(argc, argv, "enq memory", cases);
}
