/*
 * Requests with GPU memory behind them, in every completion call: alone, mixed
 * with host requests, freed, cancelled, peeked at. Two ranks or more: 0 sends,
 * 1 receives; alone a rank does both.
 */
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 3000, MANY = 40, TAG = 5 };

static MPI_Comm comm;
static int sender, receiver;

static int sends(void)
{
    return gpu_rank == 0;
}

static int receives(void)
{
    return gpu_rank == receiver;
}

/* count messages of BYTES bytes, number n with filling n, from GPU memory. */
static void send_all(int count)
{
    MPI_Request requests[MANY];
    char *out[MANY];

    if (!sends())
        return;
    for (int n = 0; n < count; n++) {
        out[n] = gpu_new(BYTES, n);
        MPI_Isend(out[n], BYTES, MPI_BYTE, receiver, TAG + n, comm,
                  &requests[n]);
    }
    MPI_Waitall(count, requests, gpu_ignored());
    for (int n = 0; n < count; n++)
        gpu_delete(out[n]);
}

struct inbox {
    char *in[MANY];
    char host[MANY][BYTES];
    MPI_Request requests[MANY];
};

/* Every third receive is into host memory. */
static int is_host(int n)
{
    return n % 3 == 2;
}

static void post(struct inbox *inbox, int count)
{
    for (int n = 0; n < count; n++) {
        inbox->in[n] = gpu_new(BYTES + 10, -1);
        MPI_Irecv(is_host(n) ? (void *)inbox->host[n] : inbox->in[n], BYTES,
                  MPI_BYTE, sender, TAG + n, comm, &inbox->requests[n]);
    }
}

static void check_one(struct inbox *inbox, int n, MPI_Status *status)
{
    CHECK(inbox->requests[n] == MPI_REQUEST_NULL);
    CHECK(status->MPI_SOURCE == sender && status->MPI_TAG == TAG + n);
    CHECK(gpu_bytes(status) == BYTES);
    if (is_host(n)) {
        for (int i = 0; i < BYTES; i++)
            CHECK((unsigned char)inbox->host[n][i] ==
                  (unsigned char)(n + i * 7));
    } else {
        CHECK(gpu_holds(inbox->in[n], 0, BYTES, n));
        CHECK(gpu_holds(inbox->in[n], BYTES, BYTES + 10, -1));
    }
    gpu_delete(inbox->in[n]);
}

static void by_waitall(struct inbox *inbox, int count)
{
    MPI_Status statuses[MANY];

    CHECK(MPI_Waitall(count, inbox->requests, statuses) == MPI_SUCCESS);
    for (int n = 0; n < count; n++)
        check_one(inbox, n, &statuses[n]);
}

static void by_testall(struct inbox *inbox, int count)
{
    MPI_Status statuses[MANY];
    int flag = 0;

    while (!flag) {
        for (int n = 0; n < count; n++)
            CHECK(inbox->requests[n] != MPI_REQUEST_NULL);
        CHECK(MPI_Testall(count, inbox->requests, &flag, statuses) ==
              MPI_SUCCESS);
    }
    for (int n = 0; n < count; n++)
        check_one(inbox, n, &statuses[n]);
}

static void by_waitany(struct inbox *inbox, int count)
{
    MPI_Status status;
    int n;

    for (int done = 0; done < count; done++) {
        CHECK(MPI_Waitany(count, inbox->requests, &n, &status) == MPI_SUCCESS);
        check_one(inbox, n, &status);
    }
    MPI_Waitany(count, inbox->requests, &n, &status);
    CHECK(n == MPI_UNDEFINED);
}

static void by_testany(struct inbox *inbox, int count)
{
    MPI_Status status;
    int n, flag;

    for (int done = 0; done < count; done += flag) {
        MPI_Testany(count, inbox->requests, &n, &flag, &status);
        if (flag)
            check_one(inbox, n, &status);
    }
}

static void by_some(struct inbox *inbox, int count, int wait)
{
    MPI_Status statuses[MANY];
    int indices[MANY];
    int some;

    for (int done = 0; done < count; done += some) {
        if (wait)
            MPI_Waitsome(count, inbox->requests, &some, indices, statuses);
        else
            MPI_Testsome(count, inbox->requests, &some, indices, statuses);
        CHECK(some >= wait && some <= count - done);
        for (int k = 0; k < some; k++)
            check_one(inbox, indices[k], &statuses[k]);
    }
}

static void by_waitsome(struct inbox *inbox, int count)
{
    by_some(inbox, count, 1);
}

static void by_testsome(struct inbox *inbox, int count)
{
    by_some(inbox, count, 0);
}

static void by_status(struct inbox *inbox, int count)
{
    for (int n = count - 1; n >= 0; n--) {
        MPI_Status status, again;
        int flag = 0;

        while (!flag)
            MPI_Request_get_status(inbox->requests[n], &flag, &status);
        CHECK(inbox->requests[n] != MPI_REQUEST_NULL);
        if (!is_host(n))
            CHECK(gpu_holds(inbox->in[n], 0, BYTES, n));
        CHECK(MPI_Test(&inbox->requests[n], &flag, &again) == MPI_SUCCESS);
        CHECK(flag && again.MPI_TAG == status.MPI_TAG);
        check_one(inbox, n, &again);
    }
}

static void by_ignoring(struct inbox *inbox, int count)
{
    MPI_Status status = {.MPI_TAG = 0};

    MPI_Waitall(count, inbox->requests, gpu_ignored());
    for (int n = 0; n < count; n++) {
        status.MPI_SOURCE = sender;
        status.MPI_TAG = TAG + n;
        MPI_Status_set_elements(&status, MPI_BYTE, BYTES);
        check_one(inbox, n, &status);
    }
}

static void every_call(void)
{
    static void (*const ways[])(struct inbox *, int) = {
        by_waitall,  by_testall,  by_waitany, by_testany,
        by_waitsome, by_testsome, by_status,  by_ignoring};
    static struct inbox inbox;

    for (int way = 0; way < (int)(sizeof(ways) / sizeof(*ways)); way++)
        for (int count = 1; count <= MANY; count += MANY - 1) {
            if (receives())
                post(&inbox, count);
            MPI_Barrier(comm);
            send_all(count);
            if (receives())
                ways[way](&inbox, count);
        }
}

/* Receives that were freed: only MPI_Finalize says that they are done. */
static struct {
    char *in;
    int seed;
} later[3];
static int later_count;
static char *freed_out;

static void expect_later(char *in, int seed)
{
    later[later_count].in = in;
    later[later_count++].seed = seed;
}

static void see_later(void)
{
    CHECK(later_count == 2 + receives());
    for (int n = 0; n < later_count; n++) {
        CHECK(gpu_holds(later[n].in, 0, BYTES, later[n].seed));
        gpu_delete(later[n].in);
    }
    gpu_delete(freed_out);
}

/* A freed receive still receives, a freed send still arrives. */
static void freed(void)
{
    char *in = gpu_new(BYTES, -1);
    char *out = gpu_new(BYTES, 3);
    MPI_Request request, last = MPI_REQUEST_NULL;
    int token = 0, got;

    if (receives()) {
        MPI_Irecv(in, BYTES, MPI_BYTE, sender, TAG, comm, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
    }
    MPI_Barrier(comm);
    if (sends()) {
        MPI_Isend(out, BYTES, MPI_BYTE, receiver, TAG, comm, &request);
        MPI_Request_free(&request);
        CHECK(request == MPI_REQUEST_NULL);
        MPI_Isend(&token, 1, MPI_INT, receiver, TAG + 1, comm, &last);
    }
    if (receives()) {
        MPI_Recv(&got, 1, MPI_INT, sender, TAG + 1, comm, MPI_STATUS_IGNORE);
        expect_later(in, 3);
    } else {
        gpu_delete(in);
    }
    MPI_Wait(&last, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    freed_out = out; /* nobody has said that it may be used again */
}

static void cancelled(void)
{
    char *in = gpu_new(BYTES, -1);
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    MPI_Irecv(in, BYTES, MPI_BYTE, gpu_rank, TAG + 77, comm, &request);
    MPI_Cancel(&request);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag && request == MPI_REQUEST_NULL);
    CHECK(gpu_holds(in, 0, BYTES, -1));
    gpu_delete(in);
}

static void persistent_round(char *out, char *in, MPI_Request requests[2],
                             int round)
{
    int length = BYTES - round * 100;
    MPI_Status statuses[2];
    int flag = 0;

    gpu_fill(out, BYTES, round);
    gpu_fill(in, BYTES, -1);
    CHECK(MPI_Wait(&requests[1], &statuses[1]) == MPI_SUCCESS); /* inactive */
    CHECK(gpu_bytes(&statuses[1]) == 0);
    MPI_Start(&requests[1]);
    if (round % 2) {
        MPI_Start(&requests[0]);
    } else {
        MPI_Send(out, length, MPI_BYTE, gpu_rank, TAG, MPI_COMM_SELF);
    }
    if (round % 3 == 0)
        while (!flag)
            MPI_Request_get_status(requests[1], &flag, &statuses[1]);
    if (round % 3 == 0)
        CHECK(gpu_holds(in, 0, (size_t)(round % 2 ? BYTES : length), round));
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS);
    length = round % 2 ? BYTES : length;
    CHECK(gpu_bytes(&statuses[1]) == length);
    CHECK(gpu_holds(in, 0, (size_t)length, round));
    CHECK(gpu_holds(in, (size_t)length, BYTES, -1));
}

/* MPICH gives a handle out again once its request is gone. */
static void freed_handles_come_back(void)
{
    enum { ROUNDS = 300 };
    char *in = gpu_new(BYTES, -1), *out = gpu_new(BYTES, 8);
    MPI_Request seen[ROUNDS], request;
    int again = 0;

    for (int i = 0; i < ROUNDS; i++) {
        MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &request);
        seen[i] = request;
        for (int k = 0; k < i; k++)
            again += seen[k] == request;
        MPI_Request_free(&request);
        MPI_Send(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF);
    }
    CHECK(again > ROUNDS / 2);
    expect_later(in, 8);
    gpu_delete(out);
}

/* To itself, so that each round is one rank's. */
static void persistent(void)
{
    char *out = gpu_new(BYTES, 0);
    char *in = gpu_new(BYTES, -1);
    MPI_Request requests[2];

    MPI_Send_init(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &requests[0]);
    MPI_Recv_init(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF, &requests[1]);
    gpu_rank = 0;
    for (int round = 1; round < 8; round++)
        persistent_round(out, in, requests, round);
    MPI_Comm_rank(MPI_COMM_WORLD, &gpu_rank);
    /* Freed while active: the receive still receives. */
    gpu_fill(in, BYTES, -1);
    MPI_Start(&requests[1]);
    MPI_Request_free(&requests[1]);
    MPI_Request_free(&requests[0]);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    MPI_Send(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_SELF);
    expect_later(in, 7);
    gpu_delete(out);
}

static void isendrecv(void)
{
    int next = (gpu_rank + 1) % gpu_size;
    int before = (gpu_rank + gpu_size - 1) % gpu_size;
    char *out = gpu_new(BYTES, gpu_rank);
    char *in = gpu_new(BYTES, -1);
    MPI_Request request;
    MPI_Status status;

    MPI_Isendrecv(out, BYTES - 8, MPI_BYTE, next, TAG, in, BYTES, MPI_BYTE,
                  before, TAG, comm, &request);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(gpu_bytes(&status) == BYTES - 8 && status.MPI_SOURCE == before);
    CHECK(gpu_holds(in, 0, BYTES - 8, before));
    CHECK(gpu_holds(in, BYTES - 8, BYTES, -1));
    MPI_Isendrecv_replace(out, BYTES, MPI_BYTE, next, TAG, before, TAG, comm,
                          &request);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(gpu_bytes(&status) == BYTES);
    CHECK(gpu_holds(out, 0, BYTES, before));
    gpu_delete(out);
    gpu_delete(in);
}

int main(int argc, char **argv)
{
    gpu_begin(&argc, &argv);
    comm = MPI_COMM_WORLD;
    receiver = gpu_size > 1;
    every_call();
    freed();
    freed_handles_come_back();
    cancelled();
    persistent();
    isendrecv();
    MPI_Finalize();
    see_later();
    gpu_end("requests");
    return 0;
}
