/* What else a process does meanwhile: objects that go early, threads, waits
 * that stand, other programs. */
#include "tests/enq/enq.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 64 };

/* Buffers whose freeing would wait for a stream that stands. */
static struct enq_buffer kept[KEPT];
static int kept_count;

static struct enq_buffer *keep(size_t bytes, enum mgds_test_kind kind)
{
    CHECK(kept_count < KEPT);
    enq_buffer_open_kind(&kept[kept_count], bytes, kind);
    return &kept[kept_count++];
}

static void kept_close(void)
{
    while (kept_count > 0)
        enq_buffer_close(&kept[--kept_count]);
}

/* While one stream of each process stands, everything is used for the first
 * time on another: sizes, datatypes, kinds of memory, a new communicator. */
static void exchange(const struct enq_lane *lane, size_t bytes,
                     enum mgds_test_kind kind)
{
    struct enq_buffer *out = keep(bytes, kind);
    struct enq_buffer *in = keep(bytes, kind);
    MPI_Request requests[2];
    int peer = 1 - enq.rank;

    enq_fill(out, (unsigned)enq.rank + 1);
    enq_irecv(lane, in, peer, 1, &requests[0]);
    enq_isend(lane, out, peer, 1, &requests[1]);
    enq_waitall(2, requests);
    enq_sync(lane);
    enq_expect(in, bytes, (unsigned)peer + 1);
}

static void nothing_waits_for_a_standing_stream(void)
{
    struct enq_lane standing, lane, late;
    struct enq_gate gate;

    enq_lane_open(&standing);
    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_gate_hold(&gate, standing.cu);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++)
        if (enq.rank < 2)
            exchange(&lane, *size, MGDS_TEST_DEVICE);
    if (enq.rank < 2)
        exchange(&lane, 70000, MGDS_TEST_HOST);
    enq_lane_open(&late);
    if (enq.rank < 2)
        exchange(&late, 3000, MGDS_TEST_DEVICE);
    CHECK(mgds_cu.cuStreamQuery(standing.cu) == CUDA_ERROR_NOT_READY);
    enq_gate_open(&gate);
    enq_lane_close(&late);
    enq_lane_close(&lane);
    enq_lane_close(&standing);
    enq_gate_free(&gate);
    kept_close();
}

/* The same behind a wait of our own: the receive that it stands for is served
 * last. */
static void nothing_waits_for_our_own_wait(void)
{
    struct enq_lane standing, lane;
    struct enq_buffer *served = NULL;

    enq_lane_open(&standing);
    served = keep(4096, MGDS_TEST_DEVICE);
    if (enq.rank < 2)
        enq_recv(&standing, served, 1 - enq.rank, 9, MPI_STATUS_IGNORE);
    enq_lane_open(&lane);
    for (const size_t *size = enq_sizes(); *size != ENQ_NO_SIZE; size++)
        if (enq.rank < 2)
            exchange(&lane, *size, MGDS_TEST_DEVICE);
    if (enq.rank < 2)
        CHECK(mgds_cu.cuStreamQuery(standing.cu) == CUDA_ERROR_NOT_READY);
    MPI_Barrier(MPI_COMM_WORLD); /* from here on it is served */
    if (enq.rank < 2) {
        struct enq_buffer *out = keep(4096, MGDS_TEST_HOST);

        enq_fill(out, (unsigned)enq.rank + 1);
        ENQ_OK(
            MPI_Send(out->at, 4096, MPI_BYTE, 1 - enq.rank, 9, standing.comm));
        enq_sync(&standing);
        enq_expect(served, 4096, (unsigned)(1 - enq.rank) + 1);
    }
    enq_lane_close(&lane);
    enq_lane_close(&standing);
    kept_close();
}

/* Everything is freed while the stream stands before it. */
static void early_destruction(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    MPI_Datatype type;
    MPI_Group group;
    CUstream last;

    enq_lane_open(&lane);
    MPI_Comm_group(lane.comm, &group);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 6000);
    if (enq.rank == 0)
        enq_fill(&b, 1);
    MPI_Type_vector(1000, 6, 6, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    enq_gate_hold(&gate, lane.cu);
    if (enq.rank == 0)
        ENQ_OK(MPIX_Send_enqueue(b.at, 1, type, 1, 1, lane.comm));
    else if (enq.rank == 1)
        ENQ_OK(MPIX_Recv_enqueue(b.at, 1, type, 0, 1, lane.comm,
                                 MPI_STATUS_IGNORE));
    MPI_Type_free(&type);
    MPI_Group_free(&group);
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    ENQ_OK(MPI_Comm_free(&lane.comm));
    MGDS_CU(cuStreamCreate(&last, CU_STREAM_NON_BLOCKING));
    enq_gate_open(&gate);
    MGDS_CU(cuStreamSynchronize(lane.cu));
    if (enq.rank == 1)
        enq_expect(&b, 6000, 1);
    MGDS_CU(cuStreamDestroy(lane.cu));
    MGDS_CU(cuStreamDestroy(last));
    MPI_Barrier(MPI_COMM_WORLD);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

/* The native stream goes with its work still pending, which CUDA allows. */
static void native_stream_goes_first(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    CUevent event;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 6000);
    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    enq_gate_hold(&gate, lane.cu);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    MGDS_CU(cuEventRecord(event, lane.cu));
    MGDS_CU(cuStreamDestroy(lane.cu));
    enq_gate_open(&gate);
    while (mgds_cu.cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        ENQ_OK(MPIX_Stream_progress(MPIX_STREAM_NULL));
    if (enq.rank == 1)
        enq_expect(&b, 6000, 1);
    ENQ_OK(MPI_Comm_free(&lane.comm));
    ENQ_OK(MPIX_Stream_free(&lane.stream));
    MPI_Barrier(MPI_COMM_WORLD);
    MGDS_CU(cuEventDestroy(event));
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

enum { MIXED = 15 };

/* Small, large, packed by a type, of device and host memory, all under one
 * tag: they keep their order, whatever way each goes. */
static MPI_Datatype mixed_type(int i, size_t bytes)
{
    int half = (int)bytes / 2;
    int lengths[2] = {half, half};
    int at[2] = {half, 0};
    MPI_Datatype type;

    if (i % 5 == 4)
        MPI_Type_indexed(2, lengths, at, MPI_BYTE, &type);
    else
        MPI_Type_contiguous((int)bytes, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void mixed_start(const struct enq_lane *lane, struct enq_buffer *b,
                        int i, MPI_Request *request)
{
    MPI_Datatype type = mixed_type(i, b->bytes);

    if (enq.rank == 0) {
        enq_fill(b, (unsigned)i + 1);
        ENQ_OK(MPIX_Isend_enqueue(b->at, 1, type, 1, 1, lane->comm, request));
    } else if (enq.rank == 1) {
        ENQ_OK(MPIX_Irecv_enqueue(b->at, 1, type, 0, 1, lane->comm, request));
    }
    MPI_Type_free(&type);
}

static void mixed_protocols_keep_order(void)
{
    static const size_t bytes[] = {8, 1 << 20, 4096, 70000};
    struct enq_lane lane;
    struct enq_buffer b[MIXED];
    MPI_Request requests[MIXED];

    enq_lane_open(&lane);
    for (int i = 0; i < MIXED; i++) {
        bool host = i % 3 == (enq.rank ? 1 : 2);

        enq_buffer_open_kind(&b[i], bytes[i % 4],
                             host ? MGDS_TEST_HOST : MGDS_TEST_DEVICE);
        mixed_start(&lane, &b[i], i, &requests[i]);
    }
    if (enq.rank < 2)
        enq_waitall(MIXED, requests);
    enq_sync(&lane);
    for (int i = 0; i < MIXED; i++) {
        if (enq.rank == 1)
            enq_expect(&b[i], b[i].bytes, (unsigned)i + 1);
    }
    enq_lane_close(&lane);
    for (int i = 0; i < MIXED; i++)
        enq_buffer_close(&b[i]);
}

/* Two host threads, each with a lane of its own or both with one. */
struct thread {
    struct enq_lane *lane;
    pthread_mutex_t *lock; /* of calls on a lane of both; NULL: its own */
    int *order;            /* next message number, under the lock */
    int tag;
    CUcontext ctx;
};

enum { THREAD_MESSAGES = 20 };

static void thread_message(struct thread *t, struct enq_buffer *b, int own)
{
    int number = own;

    if (t->lock) {
        pthread_mutex_lock(t->lock);
        number = (*t->order)++;
    }
    if (enq.rank == 0) {
        enq_fill(b, (unsigned)(t->tag * 1000 + number + 1));
        enq_send(t->lane, b, 1, t->tag);
    } else {
        enq_recv(t->lane, b, 0, t->tag, MPI_STATUS_IGNORE);
    }
    if (t->lock)
        pthread_mutex_unlock(t->lock);
    enq_sync(t->lane);
    if (enq.rank == 1)
        enq_expect(b, b->bytes, (unsigned)(t->tag * 1000 + number + 1));
}

static void *thread_run(void *arg)
{
    struct thread *t = arg;
    struct enq_buffer b;

    MGDS_CU(cuCtxSetCurrent(t->ctx));
    for (int i = 0; i < THREAD_MESSAGES; i++) {
        enq_buffer_open(&b, 30000);
        thread_message(t, &b, i);
        enq_buffer_close(&b);
    }
    return NULL;
}

static void threads_run(struct enq_lane *lanes, bool shared)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct thread t[2];
    pthread_t id[2];
    int order = 0;

    for (int i = 0; i < 2 && enq.rank < 2; i++) {
        t[i] = (struct thread){.lane = &lanes[shared ? 0 : i],
                               .lock = shared ? &lock : NULL,
                               .order = &order,
                               .tag = shared ? 3 : i + 1};
        MGDS_CU(cuCtxGetCurrent(&t[i].ctx));
        CHECK(pthread_create(&id[i], NULL, thread_run, &t[i]) == 0);
    }
    for (int i = 0; i < 2 && enq.rank < 2; i++)
        pthread_join(id[i], NULL);
}

/* Each frees its buffer while the other's message may be under way. */
static void threads(void)
{
    struct enq_lane lanes[2];

    if (enq_frees_alone())
        return;
    enq_lane_open(&lanes[0]);
    enq_lane_open(&lanes[1]);
    if (enq.level == MPI_THREAD_MULTIPLE)
        threads_run(lanes, false);
    if (enq.level >= MPI_THREAD_SERIALIZED)
        threads_run(lanes, true);
    enq_lane_close(&lanes[1]);
    enq_lane_close(&lanes[0]);
}

/* The kernel behind a blocking send overwrites its buffer; the one behind a
 * receive reads what came, as do the host and, by an event, other streams. */
static void buffer_reuse(void)
{
    struct enq_lane lane, other;
    struct enq_buffer a, copy, elsewhere;
    CUevent event;

    enq_lane_open(&lane);
    enq_lane_open(&other);
    enq_buffer_open(&a, ENQ_LARGE);
    enq_buffer_open(&copy, ENQ_LARGE);
    enq_buffer_open(&elsewhere, ENQ_LARGE);
    MGDS_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    if (enq.rank == 0) {
        enq_fill(&a, 1);
        enq_send(&lane, &a, 1, 1);
        enq_kernel_set(lane.cu, &a, 0x11);
        enq_sync(&lane);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &a, 0, 1, MPI_STATUS_IGNORE);
        enq_kernel_copy(lane.cu, &copy, &a);
        MGDS_CU(cuEventRecord(event, lane.cu));
        MGDS_CU(cuStreamWaitEvent(other.cu, event, 0));
        enq_kernel_copy(other.cu, &elsewhere, &a);
        while (mgds_cu.cuEventQuery(event) == CUDA_ERROR_NOT_READY)
            ENQ_OK(MPIX_Stream_progress(lane.stream));
        enq_expect(&a, ENQ_LARGE, 1);
        enq_expect(&copy, ENQ_LARGE, 1);
        enq_sync(&other);
        enq_expect(&elsewhere, ENQ_LARGE, 1);
    }
    enq_lane_close(&other);
    enq_lane_close(&lane);
    MGDS_CU(cuEventDestroy(event));
    enq_buffer_close(&elsewhere);
    enq_buffer_close(&copy);
    enq_buffer_close(&a);
}

/* A child that becomes another program, with operations under way. */
static void fork_and_exec(void)
{
    struct enq_lane lane;
    struct enq_gate gate;
    struct enq_buffer b;
    int status = -1;
    pid_t child;

    enq_lane_open(&lane);
    enq_gate_make(&gate);
    enq_buffer_open(&b, 4096);
    enq_gate_hold(&gate, lane.cu);
    if (enq.rank == 0) {
        enq_fill(&b, 1);
        enq_send(&lane, &b, 1, 1);
    } else if (enq.rank == 1) {
        enq_recv(&lane, &b, 0, 1, MPI_STATUS_IGNORE);
    }
    child = fork();
    if (child == 0) {
        unsetenv("LD_PRELOAD");
        execl("/bin/true", "true", (char *)NULL);
        _exit(9);
    }
    CHECK(child > 0);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    enq_gate_open(&gate);
    enq_sync(&lane);
    if (enq.rank == 1)
        enq_expect(&b, 4096, 1);
    enq_lane_close(&lane);
    enq_gate_free(&gate);
    enq_buffer_close(&b);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"case15_nothing_waits_for_a_standing_stream", 2,
         nothing_waits_for_a_standing_stream},
        {"case15_nothing_waits_for_our_own_wait", 2,
         nothing_waits_for_our_own_wait},
        {"case26_early_destruction", 2, early_destruction},
        {"case26_native_stream_goes_first", 2, native_stream_goes_first},
        {"case31_mixed_protocols_keep_order", 2, mixed_protocols_keep_order},
        {"case33_threads", 2, threads},
        {"case34_buffer_reuse", 2, buffer_reuse},
        {"case38_fork_and_exec", 2, fork_and_exec},
        {0},
    };

    return enq_main(argc, argv, "enq life", cases);
}
