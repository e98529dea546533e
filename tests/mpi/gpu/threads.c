/*
 * MPI_THREAD_MULTIPLE: every thread waits for receives and sends of its own,
 * into and from GPU memory, in different calls; and threads make the partitions
 * of one message ready.
 */
#include <pthread.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { THREADS = 4, ROUNDS = 25, BYTES = 4000, PARTS = 8, TAG = 100 };

static int next_rank, rank_before;

static void wait_for(int round, MPI_Request requests[2])
{
    MPI_Status statuses[2];
    int done = 0, flag, index;

    switch (round % 4) {
    case 0:
        MPI_Waitall(2, requests, statuses);
        break;
    case 1:
        MPI_Wait(&requests[0], &statuses[0]);
        MPI_Wait(&requests[1], &statuses[1]);
        break;
    case 2:
        MPI_Waitany(2, requests, &index, &statuses[0]);
        MPI_Waitany(2, requests, &index, &statuses[0]);
        break;
    default:
        for (; done < 2; done += flag && index != MPI_UNDEFINED)
            MPI_Testany(2, requests, &index, &flag, &statuses[0]);
    }
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
}

struct worker {
    pthread_t thread;
    int number;
    char *in, *out;
};

static void *exchange(void *arg)
{
    const struct worker *worker = arg;
    int tag = TAG + worker->number;
    char tiny[4] = "abc";

    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2], shared[2];

        MPI_Irecv(worker->in, BYTES, MPI_BYTE, rank_before, tag, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Isend(worker->out, BYTES, MPI_BYTE, next_rank, tag, MPI_COMM_WORLD,
                  &requests[1]);
        wait_for(round, requests);
        /* Complete at once: such sends share a handle. */
        MPI_Irecv(tiny, 4, MPI_BYTE, rank_before, tag, MPI_COMM_WORLD,
                  &shared[0]);
        MPI_Isend(worker->out, 4, MPI_BYTE, next_rank, tag, MPI_COMM_WORLD,
                  &shared[1]);
        wait_for(round, shared);
    }
    return NULL;
}

static void exchanges(void)
{
    struct worker workers[THREADS];

    for (int n = 0; n < THREADS; n++) {
        workers[n].number = n;
        workers[n].in = gpu_new(BYTES, -1);
        workers[n].out = gpu_new(BYTES, 10 * gpu_rank + n);
    }
    for (int n = 0; n < THREADS; n++)
        CHECK(!pthread_create(&workers[n].thread, NULL, exchange, &workers[n]));
    for (int n = 0; n < THREADS; n++) {
        pthread_join(workers[n].thread, NULL);
        CHECK(gpu_holds(workers[n].in, 0, BYTES, 10 * rank_before + n));
        gpu_delete(workers[n].in);
        gpu_delete(workers[n].out);
    }
}

struct readier {
    pthread_t thread;
    MPI_Request request;
    int first;
};

static void *ready(void *arg)
{
    const struct readier *readier = arg;

    MPI_Pready(readier->first, readier->request);
    MPI_Pready(readier->first + 1, readier->request);
    return NULL;
}

static void make_ready(MPI_Request request, int round)
{
    int list[PARTS / 2] = {7, 5, 4, 6};
    struct readier readiers[PARTS / 2];

    if (round % 2) {
        MPI_Pready_range(0, PARTS / 2 - 1, request);
        MPI_Pready_list(PARTS / 2, list, request);
        return;
    }
    for (int n = 0; n < PARTS / 2; n++) {
        readiers[n].request = request;
        readiers[n].first = 2 * n;
        CHECK(!pthread_create(&readiers[n].thread, NULL, ready, &readiers[n]));
    }
    for (int n = 0; n < PARTS / 2; n++)
        pthread_join(readiers[n].thread, NULL);
}

static void see_parts(MPI_Request request, const char *in, int seed)
{
    for (int p = PARTS - 1; p >= PARTS / 2; p--) {
        size_t from = (size_t)p * BYTES;
        int flag = 0;

        while (!flag)
            MPI_Parrived(request, p, &flag);
        CHECK(gpu_holds(in, from, from + BYTES, seed));
    }
}

static void partitions(void)
{
    const size_t all = (size_t)PARTS * BYTES;
    char *out = gpu_new(all, 0);
    char *in = gpu_new(all, -1);
    MPI_Request requests[2];

    MPI_Psend_init(out, PARTS, BYTES, MPI_BYTE, next_rank, TAG, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, PARTS, BYTES, MPI_BYTE, rank_before, TAG, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[1]);
    for (int round = 0; round < 6; round++) {
        gpu_fill(in, all, -1);
        MPI_Startall(2, requests);
        gpu_fill(out, all, round + gpu_rank);
        make_ready(requests[0], round);
        if (round % 3)
            see_parts(requests[1], in, round + rank_before);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(gpu_holds(in, 0, all, round + rank_before));
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    gpu_delete(out);
    gpu_delete(in);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    next_rank = (gpu_rank + 1) % gpu_size;
    rank_before = (gpu_rank + gpu_size - 1) % gpu_size;
    exchanges();
    partitions();
    gpu_end("threads");
    return 0;
}
