/*
 * A request of the program's own making (MPIX_Grequest_start) that makes
 * progress only when MPI is asked about it, in one MPI_Waitall with receives
 * whose messages are sent only then. By argument,
 *   host    receives into host memory, of which the first is complete at once
 *   gpu     the same into GPU memory
 *   failed  the same as host, beside a short receive that fails meanwhile
 * Two ranks. Rank 0 sends once the request of rank 1 has made its progress.
 */
#include <stdbool.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum {
    LONG = 200000,
    SHORT = 16,
    TAG = 3,
    MADE = 9, /* the tag that says so */
    POLLS = 3,
    RECEIVES = 3,
    ASKED = RECEIVES, /* places in the array */
    FAILED,
    ALL,
    ROUNDS = 3
};

static char *gpu, *into[RECEIVES];
static char in[RECEIVES][LONG], small[SHORT];

static MPI_Request asked;
static int polls;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int let_go(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static int poll(void *state, MPI_Status *status)
{
    char byte = 0;

    (void)state;
    (void)status;
    if (++polls != POLLS)
        return MPI_SUCCESS;
    MPI_Send(&byte, 1, MPI_BYTE, 0, MADE, MPI_COMM_WORLD);
    MPI_Grequest_complete(asked);
    return MPI_SUCCESS;
}

static int wait(int count, void **states, double timeout, MPI_Status *status)
{
    (void)count;
    (void)timeout;
    while (polls < POLLS)
        poll(states[0], status);
    return MPI_SUCCESS;
}

static void send_all(bool fails)
{
    char byte;

    if (fails)
        MPI_Send(in[0], SHORT * 2, MPI_BYTE, 1, TAG + FAILED, MPI_COMM_WORLD);
    for (int i = 0; i < RECEIVES; i++) {
        MPI_Send(gpu, LONG, MPI_BYTE, 1, TAG + i, MPI_COMM_WORLD);
        if (i == 0)
            MPI_Recv(&byte, 1, MPI_BYTE, 1, MADE, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

static void begin(MPI_Request requests[ALL], bool on_gpu, bool fails)
{
    for (int i = 0; i < RECEIVES; i++) {
        memset(in[i], 1, LONG);
        gpu_fill(into[i], LONG, -1);
        MPI_Irecv(on_gpu ? into[i] : in[i], LONG, MPI_BYTE, 0, TAG + i,
                  MPI_COMM_WORLD, &requests[i]);
    }
    polls = 0;
    MPIX_Grequest_start(query, let_go, cancel, poll, wait, NULL, &asked);
    requests[ASKED] = asked;
    requests[FAILED] = MPI_REQUEST_NULL;
    if (fails)
        MPI_Irecv(small, SHORT, MPI_BYTE, 0, TAG + FAILED, MPI_COMM_WORLD,
                  &requests[FAILED]);
}

static void see(int i, MPI_Status *status, bool on_gpu)
{
    CHECK(gpu_bytes(status) == LONG && status->MPI_TAG == TAG + i);
    for (int at = 0; at < LONG && !on_gpu; at++)
        CHECK(in[i][at] == (char)(at * 7));
    CHECK(!on_gpu || gpu_holds(into[i], 0, LONG, 0));
}

/* One of a call that ended with MPI_ERR_IN_STATUS, or well: whether the call
 * has completed it. */
static bool has_ended(int rc, const MPI_Status *status)
{
    CHECK(rc == MPI_SUCCESS || gpu_class(rc) == MPI_ERR_IN_STATUS);
    return rc == MPI_SUCCESS || status->MPI_ERROR != MPI_ERR_PENDING;
}

/* A call that fails may leave some to the next. How many it did. */
static int complete(MPI_Request requests[ALL], bool on_gpu, int *failures)
{
    MPI_Request before[ALL];
    MPI_Status statuses[ALL];
    int rc, left = 0;

    memcpy(before, requests, sizeof(before));
    rc = MPI_Waitall(ALL, requests, statuses);
    for (int i = 0; i < ALL; i++) {
        bool ended = has_ended(rc, &statuses[i]);

        left += !ended;
        CHECK(ended == (requests[i] == MPI_REQUEST_NULL));
        CHECK(ended || requests[i] == before[i]);
        if (!ended || before[i] == MPI_REQUEST_NULL)
            continue;
        if (i < RECEIVES)
            see(i, &statuses[i], on_gpu);
        if (rc != MPI_SUCCESS && statuses[i].MPI_ERROR != MPI_SUCCESS)
            *failures += i == FAILED ? 1 : ALL;
    }
    return left;
}

static void run(bool on_gpu, bool fails)
{
    MPI_Request requests[ALL];
    int failures = 0;

    if (gpu_rank == 0) {
        send_all(fails);
        return;
    }
    begin(requests, on_gpu, fails);
    while (complete(requests, on_gpu, &failures) > 0)
        ;
    CHECK(failures == fails && polls >= POLLS);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    gpu_begin_at(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(gpu_size == 2);
    gpu = gpu_new(LONG, 0);
    for (int i = 0; i < RECEIVES; i++)
        into[i] = gpu_new(LONG, -1);
    gpu_meet(gpu, LONG);
    if (!strcmp(argv[1], "failed"))
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < ROUNDS; round++)
        run(!strcmp(argv[1], "gpu"), !strcmp(argv[1], "failed"));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < RECEIVES; i++)
        gpu_delete(into[i]);
    gpu_delete(gpu);
    gpu_end("asked");
    return 0;
}
