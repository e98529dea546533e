/*
 * Handles that go from one thread to another: MPI_THREAD_MULTIPLE, every thread
 * with messages of its own from and into GPU memory. MPICH gives a handle to
 * the next thread that asks for one before the call that completed it is back.
 * Every message says whose it is.
 *
 *   t1_handles RUNS
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { THREADS = 4, TOGETHER = 3, TAG = 10, MOST = 65536 + 64 };

/* Below and above what MPICH and its UCX send at once. */
static const int sizes[] = {64,    4096,  8128,  8192,  8256,
                            16320, 16448, 32768, 65472, MOST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

enum kind { ISEND, ISSEND, SEND, SSEND, PERSISTENT, SENDRECV, KINDS };

static atomic_int wrong;

struct worker {
    pthread_t thread;
    int number, runs;
    int run, bytes;
    char *out[TOGETHER], *in[TOGETHER]; /* on the GPU */
    uint32_t *host;
};

/* Until nothing is left. */

static void by_wait(MPI_Request *requests)
{
    for (int i = 0; i < TOGETHER; i++)
        CHECK(!MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

static void by_waitany(MPI_Request *requests)
{
    int index = 0;

    while (index != MPI_UNDEFINED)
        CHECK(!MPI_Waitany(TOGETHER, requests, &index, MPI_STATUS_IGNORE));
}

static void by_waitsome(MPI_Request *requests)
{
    int done[TOGETHER];
    int count = 0;

    while (count != MPI_UNDEFINED)
        CHECK(!MPI_Waitsome(TOGETHER, requests, &count, done, gpu_ignored()));
}

static void by_testall(MPI_Request *requests)
{
    int flag = 0;

    while (!flag) {
        CHECK(!MPI_Testall(TOGETHER, requests, &flag, gpu_ignored()));
        if (!flag)
            sched_yield();
    }
}

static void (*const ways[])(MPI_Request *) = {by_wait, by_waitany, by_waitsome,
                                              by_testall};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* What the words of a message are: other threads, and other messages that are
 * under way at the same time, have others, and so has the next run. */
static uint32_t first_word(const struct worker *worker, int k)
{
    return (uint32_t)((worker->run * TOGETHER + k) * THREADS + worker->number)
           << 12;
}

/* An answer's words are others than those of what it answers. */
static void fill(const struct worker *worker, bool answers)
{
    for (int k = 0; k < TOGETHER; k++) {
        uint32_t first = first_word(worker, k);

        for (int i = 0; i < worker->bytes / 4; i++)
            worker->host[i] = (answers ? ~first : first) + (uint32_t)i;
        gpu_write(worker->out[k], worker->host, (size_t)worker->bytes);
    }
}

static void see(const struct worker *worker, uint32_t first, const char *what)
{
    int bad = 0;

    for (int i = 0; i < worker->bytes / 4; i++)
        bad += worker->host[i] != first + (uint32_t)i;
    if (bad && atomic_fetch_add(&wrong, 1) < 3)
        fprintf(stderr,
                "%s of %d bytes: %d words wrong, first 0x%x, not 0x%x\n", what,
                worker->bytes, bad, worker->host[0], first);
}

static void see_gpu(const struct worker *worker, const char *gpu,
                    uint32_t first, const char *what)
{
    gpu_read(worker->host, gpu, (size_t)worker->bytes);
    see(worker, first, what);
}

/* The sender's half. */

static void start(const struct worker *worker, enum kind kind, int k,
                  MPI_Request *request)
{
    int tag = TAG + worker->number * TOGETHER + k;
    int peer = 1 - gpu_rank;

    if (kind == ISSEND) {
        MPI_Issend(worker->out[k], worker->bytes, MPI_BYTE, peer, tag,
                   MPI_COMM_WORLD, request);
    } else if (kind == PERSISTENT) {
        MPI_Send_init(worker->out[k], worker->bytes, MPI_BYTE, peer, tag,
                      MPI_COMM_WORLD, request);
        MPI_Start(request);
    } else {
        MPI_Isend(worker->out[k], worker->bytes, MPI_BYTE, peer, tag,
                  MPI_COMM_WORLD, request);
    }
}

static void send_requests(const struct worker *worker, enum kind kind, int way)
{
    MPI_Request requests[TOGETHER], kept[TOGETHER];

    for (int k = 0; k < TOGETHER; k++) {
        start(worker, kind, k, &requests[k]);
        kept[k] = requests[k];
    }
    ways[way](requests);
    for (int k = 0; k < TOGETHER && kind == PERSISTENT; k++)
        MPI_Request_free(&kept[k]);
}

static void send_one(const struct worker *worker, enum kind kind, int k)
{
    int tag = TAG + worker->number * TOGETHER + k;
    int peer = 1 - gpu_rank;

    if (kind == SENDRECV)
        MPI_Sendrecv(worker->out[k], worker->bytes, MPI_BYTE, peer, tag,
                     worker->in[k], worker->bytes, MPI_BYTE, peer, tag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (kind == SSEND)
        MPI_Ssend(worker->out[k], worker->bytes, MPI_BYTE, peer, tag,
                  MPI_COMM_WORLD);
    else
        MPI_Send(worker->out[k], worker->bytes, MPI_BYTE, peer, tag,
                 MPI_COMM_WORLD);
}

static void send(const struct worker *worker, enum kind kind, int way)
{
    if (kind == ISEND || kind == ISSEND || kind == PERSISTENT) {
        send_requests(worker, kind, way);
        return;
    }
    for (int k = 0; k < TOGETHER; k++) {
        send_one(worker, kind, k);
        if (kind == SENDRECV)
            see_gpu(worker, worker->in[k], ~first_word(worker, k),
                    "Sendrecv's answer");
    }
}

/* The receiver's: into host memory in turn, or into the GPU's by the same
 * completion calls. */

static void receive_on_host(const struct worker *worker)
{
    for (int k = 0; k < TOGETHER; k++) {
        MPI_Recv(worker->host, worker->bytes, MPI_BYTE, 1 - gpu_rank,
                 TAG + worker->number * TOGETHER + k, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        see(worker, first_word(worker, k), "a receive");
    }
}

static void receive_on_gpu(const struct worker *worker, int way)
{
    MPI_Request requests[TOGETHER];

    for (int k = 0; k < TOGETHER; k++)
        MPI_Irecv(worker->in[k], worker->bytes, MPI_BYTE, 1 - gpu_rank,
                  TAG + worker->number * TOGETHER + k, MPI_COMM_WORLD,
                  &requests[k]);
    ways[way](requests);
    for (int k = 0; k < TOGETHER; k++)
        see_gpu(worker, worker->in[k], first_word(worker, k), "an Irecv");
}

static void answer(const struct worker *worker)
{
    for (int k = 0; k < TOGETHER; k++) {
        int tag = TAG + worker->number * TOGETHER + k;

        MPI_Sendrecv(worker->out[k], worker->bytes, MPI_BYTE, 1 - gpu_rank, tag,
                     worker->in[k], worker->bytes, MPI_BYTE, 1 - gpu_rank, tag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        see_gpu(worker, worker->in[k], first_word(worker, k),
                "Sendrecv's receive");
    }
}

static void receive(const struct worker *worker, enum kind kind, int way)
{
    if (kind == SENDRECV)
        answer(worker);
    else if (way == worker->run % WAYS)
        receive_on_gpu(worker, way);
    else
        receive_on_host(worker);
}

/* Every second run all threads make the same calls, else each has others. */
static void run(struct worker *worker)
{
    int skew = worker->run % 2 ? worker->number : 0;
    bool sends = (worker->run / 2) % 2 == gpu_rank;

    worker->bytes = sizes[(worker->run + skew) % SIZES];
    fill(worker, !sends);
    for (int i = 0; i < KINDS * WAYS; i++) {
        enum kind kind = (enum kind)((i + skew) % KINDS);
        int way = (i / KINDS + skew) % WAYS;

        if (sends)
            send(worker, kind, way);
        else
            receive(worker, kind, way);
    }
}

static CUcontext context;

static void *work(void *arg)
{
    struct worker *worker = arg;

    MGDS_CU(cuCtxSetCurrent(context));
    for (; worker->run < worker->runs; worker->run++)
        run(worker);
    return NULL;
}

static void open_context(void)
{
    int count;

    MGDS_CU(cuDeviceGetCount(&count));
    MGDS_CU(cuDevicePrimaryCtxRetain(&context, gpu_rank % count));
}

static void open_worker(struct worker *worker, int number, int runs)
{
    *worker = (struct worker){.number = number, .runs = runs};
    worker->host = malloc(MOST);
    CHECK(worker->host);
    for (int k = 0; k < TOGETHER; k++) {
        worker->out[k] = gpu_new(MOST, -1);
        worker->in[k] = gpu_new(MOST, -1);
    }
}

static void close_worker(struct worker *worker)
{
    for (int k = 0; k < TOGETHER; k++) {
        gpu_delete(worker->out[k]);
        gpu_delete(worker->in[k]);
    }
    free(worker->host);
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS];
    int runs = argc > 1 ? atoi(argv[1]) : 1;

    gpu_begin(&argc, &argv);
    CHECK(gpu_size == 2);
    open_context();
    for (int n = 0; n < THREADS; n++)
        open_worker(&workers[n], n, runs);
    for (int n = 0; n < THREADS; n++)
        CHECK(!pthread_create(&workers[n].thread, NULL, work, &workers[n]));
    for (int n = 0; n < THREADS; n++)
        pthread_join(workers[n].thread, NULL);
    for (int n = 0; n < THREADS; n++)
        close_worker(&workers[n]);
    printf("rank %d: %d messages wrong\n", gpu_rank, atomic_load(&wrong));
    CHECK(atomic_load(&wrong) == 0);
    gpu_end("t1_handles");
    return 0;
}
