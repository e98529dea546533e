/*
 * An error handler that leaves a completion call by longjmp, while messages
 * that came with the wrong one wait to be copied up: they are whole when they
 * are waited for, by the same thread or by another.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 3000, GOOD = 3, WRONG = 1, TAG = 4 };

static jmp_buf back;
static int jumps, calls;

static void jump(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    jumps++;
    longjmp(back, 1);
}

/* Truncation of a message to oneself is told to the world's or self's. */
static void set_handlers(void)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Errhandler_free(&handler);
}

static void *wait_for_good(void *arg)
{
    MPI_Request *requests = arg;

    for (int i = 0; i < GOOD; i++)
        if (i != WRONG)
            CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    return NULL;
}

static void in_another_thread(MPI_Request *requests)
{
    pthread_t thread;

    CHECK(pthread_create(&thread, NULL, wait_for_good, requests) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void leave_call(MPI_Request *requests)
{
    calls++;
    if (!setjmp(back))
        MPI_Waitall(GOOD, requests, gpu_ignored());
    CHECK(jumps == calls);
}

static void one_round(char *in, int threads)
{
    static MPI_Request requests[GOOD], sends[GOOD];
    static char out[BYTES];

    for (int i = 0; i < BYTES; i++)
        out[i] = (char)(6 + i * 7);
    gpu_fill(in, (size_t)GOOD * BYTES, -1);
    for (int i = 0; i < GOOD; i++) {
        MPI_Irecv(in + (size_t)i * BYTES, i == WRONG ? BYTES / 2 : BYTES,
                  MPI_BYTE, 0, TAG + i, MPI_COMM_SELF, &requests[i]);
        MPI_Isend(out, BYTES, MPI_BYTE, 0, TAG + i, MPI_COMM_SELF, &sends[i]);
    }
    leave_call(requests);
    if (threads > 1)
        in_another_thread(requests);
    else
        wait_for_good(requests);
    MPI_Waitall(GOOD, sends, gpu_ignored());
    for (int i = 0; i < GOOD; i++)
        if (i != WRONG)
            CHECK(gpu_holds(in + (size_t)i * BYTES, 0, BYTES, 6));
    CHECK(gpu_holds(in + (size_t)WRONG * BYTES, BYTES / 2, BYTES, -1));
}

int main(int argc, char **argv)
{
    char *in;

    /* calls by several threads, one at a time */
    gpu_begin_at(&argc, &argv, MPI_THREAD_SERIALIZED);
    set_handlers();
    in = gpu_new((size_t)GOOD * BYTES, -1);
    for (int round = 0; round < 4; round++)
        one_round(in, 1 + round % 2);
    gpu_delete(in);
    gpu_end("jump");
    return 0;
}
