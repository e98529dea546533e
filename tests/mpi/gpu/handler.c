/*
 * Error handlers that neither jump nor only look on: while a completion call
 * tells one of an error, it completes, frees or starts other requests, of the
 * same call or not. The call goes on with what is left, and all data arrive.
 */
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum {
    BYTES = 3000,
    COUNT = 5,
    WRONG = 2,
    TAG = 7,
    APART = COUNT,
    LAST = COUNT - 1
};

/* What the handler does, once, to which request. */
enum deed { WAITS, TESTS, FREES, DEEDS };

static struct {
    MPI_Request *victim;
    enum deed deed;
    int told;
} plan;

static MPI_Comm comm;

static void carry_out(void)
{
    int flag = 0;

    switch (plan.deed) {
    case WAITS:
        CHECK(!MPI_Wait(plan.victim, MPI_STATUS_IGNORE));
        break;
    case TESTS:
        while (!flag)
            CHECK(!MPI_Test(plan.victim, &flag, MPI_STATUS_IGNORE));
        break;
    default:
        CHECK(!MPI_Request_free(plan.victim));
    }
}

static void handle(MPI_Comm *where, int *code, ...)
{
    (void)where;
    (void)code;
    if (plan.told++ == 0 && plan.victim)
        carry_out();
}

static void set_handler(MPI_Comm on)
{
    MPI_Errhandler handler;

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(on, handler);
    MPI_Errhandler_free(&handler);
}

static void plan_it(MPI_Request *victim, enum deed deed)
{
    plan.victim = victim;
    plan.deed = deed;
    plan.told = 0;
}

/* Until nothing is left in the array. */

static int by_waitall(MPI_Request *requests)
{
    MPI_Status statuses[COUNT];

    return MPI_Waitall(COUNT, requests, statuses);
}

static int by_testall(MPI_Request *requests)
{
    MPI_Status statuses[COUNT];
    int flag = 0, rc = MPI_SUCCESS;

    while (!flag && rc == MPI_SUCCESS)
        rc = MPI_Testall(COUNT, requests, &flag, statuses);
    return rc;
}

static int by_some(MPI_Request *requests,
                   int (*call)(int, MPI_Request[], int *, int[], MPI_Status[]))
{
    MPI_Status statuses[COUNT];
    int done[COUNT];
    int met = MPI_SUCCESS, count = 0;

    while (count != MPI_UNDEFINED) {
        int rc = call(COUNT, requests, &count, done, statuses);

        met = rc != MPI_SUCCESS ? rc : met;
    }
    return met;
}

static int by_waitsome(MPI_Request *requests)
{
    return by_some(requests, MPI_Waitsome);
}

static int by_testsome(MPI_Request *requests)
{
    return by_some(requests, MPI_Testsome);
}

static int by_waitany(MPI_Request *requests)
{
    int met = MPI_SUCCESS, index = 0;

    while (index != MPI_UNDEFINED) {
        int rc = MPI_Waitany(COUNT, requests, &index, MPI_STATUS_IGNORE);

        met = rc != MPI_SUCCESS ? rc : met;
    }
    return met;
}

static int by_testany(MPI_Request *requests)
{
    int met = MPI_SUCCESS, index = 0, flag = 0;

    while (!flag || index != MPI_UNDEFINED) {
        int rc = MPI_Testany(COUNT, requests, &index, &flag, MPI_STATUS_IGNORE);

        met = rc != MPI_SUCCESS ? rc : met;
    }
    return met;
}

static int (*const ways[])(MPI_Request *) = {
    by_waitall, by_testall, by_waitsome, by_testsome, by_waitany, by_testany};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void send_all(MPI_Request *sends)
{
    static char out[COUNT][BYTES];

    for (int i = 0; i < COUNT; i++) {
        for (int k = 0; k < BYTES; k++)
            out[i][k] = (char)(i + k * 7);
        MPI_Isend(out[i], BYTES, MPI_BYTE, 0, TAG + i, comm, &sends[i]);
    }
}

/* What was freed arrives later than the call's end. */
static void expect_data(char *in, MPI_Request *sends)
{
    static const size_t step = BYTES;
    MPI_Request none;
    int flag;

    MPI_Waitall(COUNT, sends, gpu_ignored());
    for (int i = 0; i < COUNT; i++) {
        char last = 0;

        while (plan.deed == FREES && last != (char)(i + (BYTES / 2 - 1) * 7)) {
            MPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, TAG, comm, &none);
            MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
            gpu_read(&last, in + (size_t)i * step + BYTES / 2 - 1, 1);
        }
        CHECK(gpu_holds(in + (size_t)i * step, 0,
                        i == WRONG ? BYTES / 2 : BYTES, i));
    }
    CHECK(gpu_holds(in + WRONG * step, BYTES / 2, BYTES, -1));
}

/* The one that is too short is met before or after the victim. */
static void other_of_the_array(char *in, int way, enum deed deed, int victim)
{
    MPI_Request requests[COUNT], sends[COUNT];

    gpu_fill(in, (size_t)COUNT * BYTES, -1);
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(in + (size_t)i * BYTES, i == WRONG ? BYTES / 2 : BYTES,
                  MPI_BYTE, 0, TAG + i, comm, &requests[i]);
    plan_it(&requests[victim], deed);
    send_all(sends);
    CHECK(ways[way](requests) != MPI_SUCCESS);
    CHECK(plan.told >= 1);
    for (int i = 0; i < COUNT; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
    plan.victim = NULL;
    expect_data(in, sends);
}

/* A send out of GPU memory, or a receive, persistent but for the wrong one; the
 * last one is not started. */
static void make_kind(int i, char *sent, char *at, MPI_Request *request)
{
    if (i % 2)
        MPI_Isend(sent, BYTES, MPI_BYTE, 0, TAG + i, comm, request);
    else if (i == WRONG)
        MPI_Irecv(at, BYTES / 2, MPI_BYTE, 0, TAG + i, comm, request);
    else
        MPI_Recv_init(at, BYTES, MPI_BYTE, 0, TAG + i, comm, request);
    if (i % 2 == 0 && i != WRONG && i != LAST)
        MPI_Start(request);
}

static char kinds_host[COUNT][BYTES], kinds_out[BYTES];

static void expect_kinds(char *in, int freed)
{
    for (int i = 0; i < COUNT; i++) {
        if (i == LAST)
            CHECK(gpu_holds(in + (size_t)i * BYTES, 0, BYTES, -1));
        else if (i % 2)
            CHECK(memcmp(kinds_host[i], kinds_out, BYTES) == 0);
        else if (i != WRONG && i != freed)
            CHECK(gpu_holds(in + (size_t)i * BYTES, 0, BYTES, 3));
    }
}

static void other_kinds(char *in, int way, enum deed deed, int victim)
{
    MPI_Request requests[COUNT], others[COUNT];
    char *sent = gpu_new(BYTES, 3);

    for (int k = 0; k < BYTES; k++)
        kinds_out[k] = (char)(3 + k * 7);
    memset(kinds_host, 0, sizeof(kinds_host));
    gpu_fill(in, (size_t)COUNT * BYTES, -1);
    for (int i = 1; i < COUNT; i += 2)
        MPI_Irecv(kinds_host[i], BYTES, MPI_BYTE, 0, TAG + i, comm, &others[i]);
    for (int i = 0; i < COUNT; i++)
        make_kind(i, sent, in + (size_t)i * BYTES, &requests[i]);
    plan_it(&requests[victim], deed);
    for (int i = 0; i < LAST; i += 2)
        MPI_Isend(kinds_out, BYTES, MPI_BYTE, 0, TAG + i, comm, &others[i]);
    CHECK(ways[way](requests) != MPI_SUCCESS && plan.told >= 1);
    CHECK((requests[victim] == MPI_REQUEST_NULL) ==
          (victim % 2 || deed == FREES));
    plan.victim = NULL;
    MPI_Waitall(LAST, others, gpu_ignored());
    expect_kinds(in, deed == FREES ? victim : COUNT);
    for (int i = 0; i < COUNT; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    gpu_delete(sent);
}

/* A persistent receive apart from the call: the handler has its bytes. */
static void apart_from_the_call(char *in, int way, enum deed deed)
{
    MPI_Request requests[COUNT], sends[COUNT], apart, send;
    static char out[BYTES];

    for (int k = 0; k < BYTES; k++)
        out[k] = (char)(3 + k * 7);
    gpu_fill(in, (size_t)(COUNT + 1) * BYTES, -1);
    MPI_Recv_init(in + (size_t)APART * BYTES, BYTES, MPI_BYTE, 0, TAG + APART,
                  comm, &apart);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Start(&apart);
        for (int i = 0; i < COUNT; i++)
            MPI_Irecv(in + (size_t)i * BYTES, i == WRONG ? BYTES / 2 : BYTES,
                      MPI_BYTE, 0, TAG + i, comm, &requests[i]);
        plan_it(&apart, deed);
        MPI_Isend(out, BYTES, MPI_BYTE, 0, TAG + APART, comm, &send);
        send_all(sends);
        CHECK(ways[way](requests) != MPI_SUCCESS && plan.told >= 1);
        CHECK(gpu_holds(in + (size_t)APART * BYTES, 0, BYTES, 3));
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        expect_data(in, sends);
        gpu_fill(in, (size_t)(COUNT + 1) * BYTES, -1);
    }
    MPI_Request_free(&apart);
}

/* Errors of ours, of a buffer that is gone. The victim is a persistent receive
 * of the same call, whose bytes are up by then, or one apart from it. */
static void persistent(char *in, int way, enum deed deed, int victim)
{
    MPI_Request requests[COUNT + 1], send, apart;
    MPI_Status statuses[COUNT];
    char *gone = gpu_new(BYTES, -1);
    static char out[BYTES];
    int rc;

    for (int k = 0; k < BYTES; k++)
        out[k] = (char)(3 + k * 7);
    gpu_fill(in, (size_t)(COUNT + 1) * BYTES, -1);
    for (int i = 0; i <= COUNT; i++)
        MPI_Recv_init(i == WRONG ? gone : in + (size_t)i * BYTES, BYTES,
                      MPI_BYTE, 0, TAG + i, comm, &requests[i]);
    MPI_Startall(COUNT + 1, requests);
    gpu_delete(gone);
    apart = requests[APART];
    plan_it(victim == APART ? &apart : &requests[victim], deed);
    for (int i = 0; i <= COUNT; i++) {
        MPI_Isend(out, BYTES, MPI_BYTE, 0, TAG + i, comm, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    rc = way == 0 ? MPI_Waitall(COUNT, requests, statuses)
                  : by_some(requests, MPI_Waitsome);
    CHECK(gpu_class(rc) == MPI_ERR_IN_STATUS);
    CHECK(plan.told == 1);
    for (int i = 0; i < COUNT; i++)
        if (i != WRONG)
            CHECK(gpu_holds(in + (size_t)i * BYTES, 0, BYTES, 3));
    if (victim == APART)
        CHECK(gpu_holds(in + (size_t)APART * BYTES, 0, BYTES, 3));
    else
        MPI_Wait(&requests[APART], MPI_STATUS_IGNORE);
    for (int i = 0; i <= COUNT; i++)
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
}

/* A receive of the same call, complete like the one whose buffer is gone. */
static void freed_buffer(char *in, enum deed deed, int victim)
{
    MPI_Request requests[COUNT], sends[COUNT], apart;
    MPI_Status statuses[COUNT];
    char *gone = gpu_new(BYTES, -1);

    gpu_fill(in, (size_t)(COUNT + 1) * BYTES, -1);
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(i == WRONG ? gone : in + (size_t)i * BYTES, BYTES, MPI_BYTE,
                  0, TAG + i, comm, &requests[i]);
    MPI_Irecv(in + (size_t)APART * BYTES, BYTES, MPI_BYTE, 0, TAG + victim,
              comm, &apart);
    gpu_delete(gone);
    plan_it(&apart, deed == FREES ? WAITS : deed);
    send_all(sends);
    MPI_Waitall(COUNT, sends, gpu_ignored());
    send_all(sends);
    CHECK(gpu_class(MPI_Waitall(COUNT, requests, statuses)) ==
          MPI_ERR_IN_STATUS);
    CHECK(gpu_class(statuses[WRONG].MPI_ERROR) == MPI_ERR_BUFFER);
    CHECK(plan.told == 1 && apart == MPI_REQUEST_NULL);
    CHECK(gpu_holds(in + (size_t)APART * BYTES, 0, BYTES, victim));
    for (int i = 0; i < COUNT; i++)
        if (i != victim)
            MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG + i, comm, MPI_STATUS_IGNORE);
    MPI_Waitall(COUNT, sends, gpu_ignored());
}

int main(int argc, char **argv)
{
    char *in;

    /* Of several threads MPICH has a lock while it calls a handler, and asserts
       if that calls MPI. */
    gpu_begin_at(&argc, &argv, MPI_THREAD_SERIALIZED);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    /* Truncation of a message to oneself is told to the world's or self's. */
    set_handler(comm);
    set_handler(MPI_COMM_SELF);
    set_handler(MPI_COMM_WORLD);
    in = gpu_new((size_t)(COUNT + 1) * BYTES, -1);
    for (enum deed deed = 0; deed < DEEDS; deed++)
        for (int victim = 0; victim < COUNT; victim++) {
            for (int way = 0; way < WAYS && victim != WRONG; way++) {
                other_of_the_array(in, way, deed, victim);
                other_kinds(in, way, deed, victim);
            }
            freed_buffer(in, deed, victim);
        }
    for (int way = 0; way < WAYS; way++) {
        apart_from_the_call(in, way, WAITS);
        apart_from_the_call(in, way, TESTS);
    }
    for (int way = 0; way < 2; way++)
        for (int victim = 0; victim <= COUNT; victim++)
            if (victim != WRONG)
                persistent(in, way, victim == APART ? WAITS : FREES, victim);
    gpu_delete(in);
    plan_it(NULL, WAITS);
    MPI_Comm_free(&comm);
    gpu_end("handler");
    return 0;
}
