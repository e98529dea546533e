/*
 * MPI_THREAD_MULTIPLE: threads whose very first intercepted calls race, each
 * talking to its twin on the other rank.
 */
#include <mpi.h>
#include <pthread.h>

#include "tests/lib/mpi_check.h"

enum { THREADS = 4, LAPS = 200 };

static int rank;
static pthread_barrier_t together;

static void *talk(void *arg)
{
    int id = (int)(intptr_t)arg, peer = 1 - rank;

    pthread_barrier_wait(&together);
    for (int lap = 0; lap < LAPS; lap++) {
        MPI_Request request;
        int out = id * LAPS + lap, in = -1;

        MPI_Irecv(&in, 1, MPI_INT, peer, id, MPI_COMM_WORLD, &request);
        MPI_Send(&out, 1, MPI_INT, peer, id, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(in == out);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    int provided, size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(provided == MPI_THREAD_MULTIPLE && size == 2);
    pthread_barrier_init(&together, NULL, THREADS);
    for (intptr_t id = 0; id < THREADS; id++)
        CHECK(!pthread_create(&threads[id], NULL, talk, (void *)id));
    for (int id = 0; id < THREADS; id++)
        pthread_join(threads[id], NULL);
    MPI_Finalize();
    if (rank == 0)
        puts("threads: all well");
    return 0;
}
