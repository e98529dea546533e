/*
 * Receives into host memory of ranks that are sent headers (MPIX_GDS_DIRECT):
 * by argument,
 *   many       several at a time, of which some bring headers, by all calls
 *              that complete requests
 *   cancelled  a receive that is cancelled, among others
 *   short      messages that are longer than what was posted
 *   handed     a thread begins receives, another waits for them, while the
 *              first waits for others
 * Two ranks. Rank 0 sends from GPU memory, and from its own.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum {
    LONG = 200000,
    SHORT = 48,
    HEADER = 160,
    TAG = 3,
    MANY = 6,
    ROUNDS = 24
};

/* By their index, in turn: how long a message is, and where it comes from. */
static const struct {
    int bytes;
    bool gpu;
} kinds[] = {{LONG, true},  {SHORT, false}, {HEADER, false},
             {LONG, false}, {LONG, true},   {0, false}};

static char *gpu;
static char host[LONG];
static char in[MANY][LONG];

static void begin(MPI_Request requests[MANY])
{
    memset(in, 1, sizeof(in));
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(in[i], kinds[i].bytes, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD,
                  &requests[i]);
}

/* The last that was begun comes first. */
static void send_all(void)
{
    for (int i = MANY - 1; i >= 0; i--)
        MPI_Send(kinds[i].gpu ? gpu : host, kinds[i].bytes, MPI_BYTE, 1,
                 TAG + i, MPI_COMM_WORLD);
}

static char byte_of(int at)
{
    return (char)(at * 7);
}

static void see(int i, const MPI_Status *status)
{
    CHECK(gpu_bytes((MPI_Status *)status) == kinds[i].bytes);
    CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == TAG + i);
    for (int at = 0; at < kinds[i].bytes; at++)
        CHECK(in[i][at] == byte_of(at));
}

/* Some calls complete one, or some, of them. */
static int complete_some(MPI_Request requests[MANY], int way,
                         MPI_Status statuses[MANY], int indices[MANY])
{
    int count = 0, flag = 0;

    if (way == 0) {
        MPI_Waitsome(MANY, requests, &count, indices, statuses);
    } else if (way == 1) {
        MPI_Testsome(MANY, requests, &count, indices, statuses);
    } else if (way == 2) {
        MPI_Waitany(MANY, requests, indices, statuses);
        count = 1;
    } else {
        MPI_Testany(MANY, requests, indices, &flag, statuses);
        count = flag;
    }
    return count;
}

static void complete_by(int way, MPI_Request requests[MANY])
{
    MPI_Status statuses[MANY];
    int indices[MANY], left = MANY;

    while (left > 0) {
        int count = complete_some(requests, way, statuses, indices);

        for (int k = 0; k < count; k++)
            see(indices[k], &statuses[k]);
        left -= count;
    }
}

static void complete_all(bool tests, MPI_Request requests[MANY])
{
    MPI_Status statuses[MANY];
    int flag = 0;

    if (!tests)
        MPI_Waitall(MANY, requests, statuses);
    while (tests && !flag)
        MPI_Testall(MANY, requests, &flag, statuses);
    for (int i = 0; i < MANY; i++)
        see(i, &statuses[i]);
}

static void complete_each(bool tests, MPI_Request requests[MANY])
{
    MPI_Status status;

    for (int i = 0; i < MANY; i++) {
        int flag = 0;

        while (tests && !flag)
            MPI_Test(&requests[i], &flag, &status);
        if (!tests)
            MPI_Wait(&requests[i], &status);
        see(i, &status);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
}

static void many(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[MANY];
        int way = round % 8;

        if (gpu_rank == 0) {
            send_all();
            continue;
        }
        begin(requests);
        if (way < 4)
            complete_by(way, requests);
        else if (way < 6)
            complete_all(way == 5, requests);
        else
            complete_each(way == 7, requests);
    }
}

static void cancelled(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[MANY], lost;
        MPI_Status status;
        int flag = 0;

        if (gpu_rank == 0) {
            send_all();
            continue;
        }
        MPI_Irecv(host, LONG, MPI_BYTE, 0, TAG + MANY, MPI_COMM_WORLD, &lost);
        begin(requests);
        MPI_Cancel(&lost);
        while (round % 2 && !flag)
            MPI_Test(&lost, &flag, &status);
        if (!flag)
            MPI_Wait(&lost, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag && lost == MPI_REQUEST_NULL);
        complete_all(false, requests);
    }
}

/* Half of it is there, and nothing behind that. What MPI brings of a long one
 * is its own affair. */
static void see_half(int i, int bytes, int rc)
{
    bool whole = kinds[i].gpu || kinds[i].bytes < LONG;

    CHECK(gpu_class(rc) == MPI_ERR_TRUNCATE);
    for (int at = 0; at < bytes && whole; at++)
        CHECK(in[i][at] == byte_of(at));
    CHECK(in[i][bytes] == 1);
}

static void receive_half(int i, bool blocks)
{
    int bytes = kinds[i].bytes / 2;
    MPI_Request request;
    int rc;

    memset(in[i], 1, LONG);
    if (blocks) {
        rc = MPI_Recv(in[i], bytes, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(in[i], bytes, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD, &request);
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    see_half(i, bytes, rc);
}

static void shorter(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        if (gpu_rank == 0)
            send_all();
        for (int i = MANY - 1; i >= 0 && gpu_rank == 1; i--) {
            if (kinds[i].bytes > 0)
                receive_half(i, round % 2);
            else
                MPI_Recv(in[i], 0, MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
    }
}

static MPI_Request handed_over[MANY];
static pthread_barrier_t meeting;

static void *wait_for_others(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&meeting);
        complete_each(round % 2, handed_over);
        pthread_barrier_wait(&meeting);
    }
    return unused;
}

static void begin_for_other(void)
{
    char byte = 0;

    for (int round = 0; round < ROUNDS; round++) {
        begin(handed_over);
        pthread_barrier_wait(&meeting);
        MPI_Recv(&byte, 1, MPI_BYTE, 0, TAG + MANY, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        pthread_barrier_wait(&meeting);
    }
}

static void handed(void)
{
    pthread_t other;
    char byte = 1;

    for (int round = 0; round < ROUNDS && gpu_rank == 0; round++) {
        send_all();
        MPI_Send(&byte, 1, MPI_BYTE, 1, TAG + MANY, MPI_COMM_WORLD);
    }
    if (gpu_rank == 0)
        return;
    pthread_barrier_init(&meeting, NULL, 2);
    CHECK(pthread_create(&other, NULL, wait_for_others, NULL) == 0);
    begin_for_other();
    pthread_join(other, NULL);
    pthread_barrier_destroy(&meeting);
}

/* Ranks show that they can map by what they receive in GPU memory. */
static void meet(void)
{
    char *into = gpu_new(LONG, -1);

    for (int i = 0; i < 3; i++)
        MPI_Sendrecv(gpu, LONG, MPI_BYTE, 1 - gpu_rank, TAG, into, LONG,
                     MPI_BYTE, 1 - gpu_rank, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    gpu_delete(into);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"many", many},
                {"cancelled", cancelled},
                {"short", shorter},
                {"handed", handed}};

    CHECK(argc == 2);
    gpu_begin_at(&argc, &argv,
                 strcmp(argv[1], "handed") ? MPI_THREAD_SINGLE
                                           : MPI_THREAD_MULTIPLE);
    CHECK(gpu_size == 2);
    gpu = gpu_new(LONG, 0);
    for (int at = 0; at < LONG; at++)
        host[at] = byte_of(at);
    meet();
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (!strcmp(ways[i].name, argv[1]))
            ways[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_delete(gpu);
    gpu_end("host");
    return 0;
}
