/*
 * Receives into host memory of ranks that are sent headers (MPIX_GDS_DIRECT):
 * by argument,
 *   many       several at a time, of which some bring headers, by all calls
 *              that complete requests
 *   cancelled  a receive that is cancelled, among others
 *   short      messages that are longer than what was posted
 *   handed     a thread begins receives, another waits for them, while the
 *              first waits for others
 *   freed      receives whose requests are freed, and one whose status is asked
 *              for before it is completed
 *   nested     an error handler that MPI runs in a receive completes others
 *   handlers   error handlers that cancel, free or complete the very receive
 *              that failed, or another that is waited for
 *   instead    a handler that puts a send in the place of another receive
 *   replaced   long messages that are replaced while they are sent
 *   kept       receives too short for a header, behind a probe that has kept
 *              what they are to get
 *   tiny       a message by header, for memory that is too short for one
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

static void complete_by(int way, MPI_Request requests[MANY])
{
    MPI_Status statuses[MANY];
    int indices[MANY], left = MANY;

    while (left > 0) {
        int count = gpu_complete_some(way, MANY, requests, statuses, indices);

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

/* Half of it is there, and nothing behind that. What MPI brings of its own
 * messages is its affair. */
static void see_half(int i, int bytes, int rc)
{
    bool whole = kinds[i].gpu;

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

/* The last message comes behind all others. */
static void freed(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[MANY];
        MPI_Status status;
        int flag = 0;

        if (gpu_rank == 0) {
            send_all();
            MPI_Barrier(MPI_COMM_WORLD);
            continue;
        }
        begin(requests);
        for (int i = 1; i < MANY; i++)
            MPI_Request_free(&requests[i]);
        for (int i = 1; i < MANY; i++)
            CHECK(requests[i] == MPI_REQUEST_NULL);
        while (!flag)
            MPI_Request_get_status(requests[0], &flag, &status);
        see(0, &status);
        CHECK(requests[0] != MPI_REQUEST_NULL);
        memset(&status, 0, sizeof(status));
        MPI_Wait(&requests[0], &status);
        see(0, &status);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static MPI_Request inner[MANY];
static int handled;

static void complete_in_handler(MPI_Comm *comm, int *code, ...)
{
    CHECK(gpu_class(*code) == MPI_ERR_RANK);
    (void)comm;
    if (handled++ % 2)
        complete_each(handled % 4 == 0, inner);
    else
        complete_all(handled % 4 == 1, inner);
}

static void nested(void)
{
    MPI_Errhandler handler;

    if (gpu_rank == 0) {
        for (int round = 0; round < ROUNDS; round++)
            send_all();
        return;
    }
    MPI_Comm_create_errhandler(complete_in_handler, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    for (int round = 0; round < ROUNDS; round++) {
        begin(inner);
        CHECK(gpu_class(MPI_Recv(host, LONG, MPI_BYTE, 1, 0, MPI_COMM_SELF,
                                 MPI_STATUS_IGNORE)) == MPI_ERR_RANK);
        CHECK(handled == round + 1);
    }
    MPI_Errhandler_free(&handler);
}

static MPI_Request victim;
static void (*to_victim)(void); /* in the handler */
static int told;

static void cancel_victim(void)
{
    MPI_Cancel(&victim);
}

static void free_victim(void)
{
    MPI_Request_free(&victim);
}

static void wait_for_victim(void)
{
    MPI_Wait(&victim, MPI_STATUS_IGNORE);
}

static void cancel_and_wait(void)
{
    MPI_Status status;
    int flag;

    MPI_Cancel(&victim);
    MPI_Wait(&victim, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
}

static void hear_of_truncation(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    CHECK(gpu_class(*code) == MPI_ERR_TRUNCATE);
    told++;
    if (victim != MPI_REQUEST_NULL)
        to_victim();
}

static void wait_truncated(MPI_Request *request)
{
    int before = told;

    CHECK(gpu_class(MPI_Wait(request, MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(told == before + 1 && victim == MPI_REQUEST_NULL);
}

/* Another receive fails inside of a call below. */
static void fail_inside(void)
{
    MPI_Request other;

    to_victim = cancel_and_wait;
    MPI_Irecv(in[0], LONG, MPI_BYTE, 0, TAG + MANY, MPI_COMM_WORLD, &victim);
    MPI_Recv_init(in[1], HEADER, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &other);
    MPI_Start(&other);
    wait_truncated(&other);
    MPI_Request_free(&other);
}

/* The receive fails that the handler has to do with. */
static void fail_itself(void)
{
    MPI_Irecv(in[0], HEADER, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &victim);
    wait_truncated(&victim);
}

/* Another fails while it is waited for, and brings the handler to wait. */
static void fail_beside(void)
{
    MPI_Request other;

    to_victim = wait_for_victim;
    MPI_Irecv(in[0], LONG, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &victim);
    MPI_Irecv(in[1], HEADER, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &other);
    CHECK(MPI_Wait(&victim, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(victim == MPI_REQUEST_NULL);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    CHECK(other == MPI_REQUEST_NULL && in[0][LONG - 1] == byte_of(LONG - 1));
}

/* MPICH tells the errors of receives on other communicators to the handler of
 * this one, too. */
static void hear(void)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(hear_of_truncation, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
}

static void handlers(void)
{
    hear();
    for (int round = 0; round < ROUNDS; round++) {
        int way = round % 4;

        MPI_Barrier(MPI_COMM_WORLD);
        to_victim = way == 1 ? cancel_victim : free_victim;
        if (gpu_rank == 0) {
            MPI_Send(round % 8 < 4 ? host : gpu, HEADER * 2, MPI_BYTE, 1, TAG,
                     MPI_COMM_WORLD);
            if (way == 3)
                MPI_Send(gpu, LONG, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
        } else if (way == 0) {
            fail_inside();
        } else if (way == 3) {
            fail_beside();
        } else {
            fail_itself();
        }
    }
}

static MPI_Request pair[2];

static void put_send(void)
{
    victim = MPI_REQUEST_NULL;
    MPI_Wait(&pair[1], MPI_STATUS_IGNORE);
    MPI_Isend(host, SHORT, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &pair[1]);
}

static void complete_pair(void)
{
    in[1][LONG - 1] = 1;
    MPI_Irecv(in[0], HEADER, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &pair[0]);
    MPI_Irecv(in[1], LONG, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &pair[1]);
    victim = pair[1];
    CHECK(gpu_class(MPI_Waitall(2, pair, gpu_ignored())) == MPI_ERR_IN_STATUS);
    CHECK(pair[0] == MPI_REQUEST_NULL && pair[1] == MPI_REQUEST_NULL);
    CHECK(in[1][LONG - 1] == byte_of(LONG - 1));
}

static void instead(void)
{
    hear();
    to_victim = put_send;
    for (int round = 0; round < ROUNDS; round++) {
        if (gpu_rank == 1) {
            complete_pair();
            continue;
        }
        MPI_Send(host, HEADER * 2, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Send(gpu, LONG, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
        MPI_Recv(in[0], SHORT, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
}

static void replace(char *at, int way)
{
    MPI_Request request;
    int other = 1 - gpu_rank;

    if (way == 0) {
        MPI_Sendrecv_replace(at, LONG, MPI_BYTE, other, TAG, other, TAG,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Isendrecv_replace(at, LONG, MPI_BYTE, other, TAG, other, TAG,
                              MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* What comes first must not get into what is still to leave: of one rank, or of
 * the other. */
static void replaced(void)
{
    for (int round = 0; round < ROUNDS * 4; round++) {
        char own = (char)(2 * round + gpu_rank);
        char others = (char)(2 * round + 1 - gpu_rank);

        memset(in[0], own, LONG);
        replace(in[0], round % 2);
        for (int at = 0; at < LONG; at++)
            CHECK(in[0][at] == others);
    }
}

/* Short ones of one tag, and between them one as long as a header. */
static void kept(void)
{
    MPI_Request request;
    MPI_Status status;
    char words[2] = {5, 6};

    for (int round = 0; round < ROUNDS; round++) {
        if (gpu_rank == 0) {
            MPI_Send(&words[0], 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Send(host, HEADER, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
            MPI_Send(&words[1], 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            continue;
        }
        MPI_Probe(0, TAG + 1, MPI_COMM_WORLD, &status);
        CHECK(gpu_bytes(&status) == HEADER);
        memset(words, 0, sizeof(words));
        MPI_Recv(&words[0], 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &status);
        MPI_Irecv(&words[1], 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
        CHECK(words[0] == 5 && words[1] == 6);
        MPI_Recv(in[0], HEADER, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &status);
        CHECK(gpu_bytes(&status) == HEADER && in[0][1] == byte_of(1));
    }
}

/* Nobody takes the header: the sender goes on all the same. The first call of a
 * function looks at what it receives, however short. */
static void tiny(void)
{
    if (gpu_rank == 0)
        MPI_Send(host, 1, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(in[0], 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_rank == 0)
        MPI_Send(gpu, LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        CHECK(gpu_class(MPI_Recv(in[0], HEADER - 1, MPI_BYTE, 0, TAG,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE)) ==
              MPI_ERR_TRUNCATE);
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

int main(int argc, char **argv)
{
    static const struct gpu_way ways[] = {
        {"many", many},         {"cancelled", cancelled},
        {"short", shorter},     {"handed", handed},
        {"freed", freed},       {"nested", nested},
        {"handlers", handlers}, {"instead", instead},
        {"replaced", replaced}, {"kept", kept},
        {"tiny", tiny},         {0}};

    CHECK(argc == 2);
    gpu_begin_at(&argc, &argv,
                 strcmp(argv[1], "handed") ? MPI_THREAD_SINGLE
                                           : MPI_THREAD_MULTIPLE);
    CHECK(gpu_size == 2);
    gpu = gpu_new(LONG, 0);
    for (int at = 0; at < LONG; at++)
        host[at] = byte_of(at);
    gpu_meet(gpu, LONG);
    gpu_run_way(ways, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_delete(gpu);
    gpu_end("host");
    return 0;
}
