/*
 * Windows of many receives into GPU memory, of several threads at once, in
 * every completion call: each has its bytes and no others when it is said to
 * be complete, and what goes wrong with one is told of that one alone.
 */
#include <pthread.h>
#include <stdlib.h>

#include "osu-extensions/libcuda.h"
#include "tests/mpi/gpu/gpu_case.h"

enum { THREADS = 3, LAPS = 16, MOST = 40, BACK = 16, LARGE = 1 << 20 };

enum way { WAITALL, TESTALL, WAITSOME, TESTSOME, WAITANY, TESTANY, WAIT, WAYS };

struct window {
    int count, wrong; /* which is too short for its message; -1: none */
    char *in[MOST];
    int bytes[MOST];
    MPI_Request requests[MOST], sends[MOST];
};

struct worker {
    pthread_t thread;
    unsigned seed;
    CUcontext context;
    MPI_Comm comm;
    char *out; /* of LARGE bytes and more */
    struct window window;
};

static unsigned below(struct worker *worker, unsigned limit)
{
    worker->seed = worker->seed * 1103515245u + 12345u;
    return (worker->seed >> 8) % limit;
}

static int some_bytes(struct worker *worker)
{
    static const int limits[] = {1, 100, 100, 9000, 70000, 300000, LARGE};

    return (int)below(worker, (unsigned)limits[below(worker, 7)]) + 2;
}

static void post(struct worker *worker, enum way way)
{
    struct window *window = &worker->window;

    window->count = 1 + (int)below(worker, MOST);
    window->wrong = -1;
    if (way <= TESTALL && below(worker, 3) == 0)
        window->wrong = (int)below(worker, (unsigned)window->count);
    for (int n = 0; n < window->count; n++) {
        int bytes = window->bytes[n] = some_bytes(worker);

        window->in[n] = gpu_new((size_t)bytes + BACK, -1);
        MPI_Irecv(window->in[n], bytes - (n == window->wrong), MPI_BYTE,
                  gpu_rank, n, worker->comm, &window->requests[n]);
    }
}

/* From the last on, so that what comes first is waited for last. */
static void send_all(struct worker *worker)
{
    struct window *window = &worker->window;

    for (int n = window->count - 1; n >= 0; n--)
        MPI_Isend(worker->out + n, window->bytes[n], MPI_BYTE, gpu_rank, n,
                  worker->comm, &window->sends[n]);
}

static void see(struct window *window, int n)
{
    size_t bytes = (size_t)window->bytes[n] - (n == window->wrong);

    CHECK(window->requests[n] == MPI_REQUEST_NULL);
    CHECK(gpu_holds(window->in[n], 0, bytes, 1 + 7 * n));
    CHECK(gpu_holds(window->in[n], bytes, bytes + BACK, -1));
    gpu_delete(window->in[n]);
}

static void complete_all(struct window *window, int waits)
{
    MPI_Status statuses[MOST];
    int flag = waits, rc;

    if (waits)
        rc = MPI_Waitall(window->count, window->requests, statuses);
    else
        do
            rc = MPI_Testall(window->count, window->requests, &flag, statuses);
        while (rc == MPI_SUCCESS && !flag);
    CHECK(gpu_class(rc) ==
          (window->wrong < 0 ? MPI_SUCCESS : MPI_ERR_IN_STATUS));
    for (int n = 0; n < window->count; n++) {
        if (window->wrong >= 0)
            CHECK(gpu_class(statuses[n].MPI_ERROR) ==
                  (n == window->wrong ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        see(window, n);
    }
}

static void complete_some(struct window *window, int waits)
{
    MPI_Status statuses[MOST];
    int indices[MOST], some;

    for (int done = 0; done < window->count; done += some) {
        if (waits)
            MPI_Waitsome(window->count, window->requests, &some, indices,
                         statuses);
        else
            MPI_Testsome(window->count, window->requests, &some, indices,
                         statuses);
        for (int k = 0; k < some; k++)
            see(window, indices[k]);
    }
}

static void complete_any(struct window *window, int waits)
{
    int n, flag = 1;

    for (int done = 0; done < window->count; done += flag) {
        if (waits)
            MPI_Waitany(window->count, window->requests, &n, MPI_STATUS_IGNORE);
        else
            MPI_Testany(window->count, window->requests, &n, &flag,
                        MPI_STATUS_IGNORE);
        if (flag)
            see(window, n);
    }
}

static void complete_each(struct window *window)
{
    for (int n = 0; n < window->count; n++) {
        CHECK(!MPI_Wait(&window->requests[n], MPI_STATUS_IGNORE));
        see(window, n);
    }
}

static void complete(struct window *window, enum way way)
{
    switch (way) {
    case WAITALL:
    case TESTALL:
        complete_all(window, way == WAITALL);
        break;
    case WAITSOME:
    case TESTSOME:
        complete_some(window, way == WAITSOME);
        break;
    case WAITANY:
    case TESTANY:
        complete_any(window, way == WAITANY);
        break;
    default:
        complete_each(window);
    }
}

static void *work(void *arg)
{
    struct worker *worker = arg;

    MGDS_CU(cuCtxSetCurrent(worker->context));
    for (int lap = 0; lap < LAPS; lap++) {
        enum way way = (enum way)below(worker, WAYS);

        post(worker, way);
        send_all(worker);
        complete(&worker->window, way);
        MPI_Waitall(worker->window.count, worker->window.sends, gpu_ignored());
    }
    return NULL;
}

static void begin(struct worker *worker, int number)
{
    size_t bytes = LARGE + BACK + MOST;

    worker->seed = (unsigned)number;
    MGDS_CU(cuDevicePrimaryCtxRetain(&worker->context, 0));
    MPI_Comm_dup(MPI_COMM_SELF, &worker->comm);
    gpu_count_errors(worker->comm);
    worker->out = malloc(bytes);
    CHECK(worker->out);
    for (size_t i = 0; i < bytes; i++)
        worker->out[i] = (char)(1 + i * 7);
}

int main(int argc, char **argv)
{
    static struct worker workers[THREADS];

    gpu_begin(&argc, &argv);
    gpu_count_errors(MPI_COMM_WORLD);
    gpu_count_errors(MPI_COMM_SELF);
    gpu_rank = 0;
    for (int n = 0; n < THREADS; n++)
        begin(&workers[n], n);
    for (int n = 0; n < THREADS; n++)
        CHECK(!pthread_create(&workers[n].thread, NULL, work, &workers[n]));
    for (int n = 0; n < THREADS; n++) {
        pthread_join(workers[n].thread, NULL);
        MPI_Comm_free(&workers[n].comm);
        free(workers[n].out);
    }
    gpu_end("windows");
    return 0;
}
