/*
 * Persistent receives that are started while a probe has taken out of the MPI
 * below what they are to get, as rank 1 of two that is sent headers
 * (MPIX_GDS_DIRECT): by argument,
 *   all    by all calls that complete requests, and in between without a probe
 *   ends   requests that are cancelled, started twice and freed meanwhile
 * A third word: MPI_THREAD_MULTIPLE.
 */
#include <stdbool.h>
#include <string.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { LONG = 200000, SHORT = 1000, HEADER = 160, MANY = 4, ROUNDS = 36 };

/* In the order in which they are sent, message i with tag i. A probe for the
 * third takes out the first, which it does not receive, and the second. */
static const struct {
    int bytes;
    bool from_gpu;
    bool into_gpu;
    int source, tag; /* of its receive */
} kinds[MANY] = {{SHORT, false, true, MPI_ANY_SOURCE, MPI_ANY_TAG},
                 {LONG, true, false, 0, 1},
                 {HEADER, false, true, 0, MPI_ANY_TAG},
                 {LONG, true, true, 0, 3}};
enum { PROBED = 2 };

static char *gpu, *into[MANY];
static char out[LONG], host[LONG], seen[LONG];
static MPI_Request requests[MANY];

static void make_requests(void)
{
    for (int i = 0; i < MANY; i++) {
        into[i] = kinds[i].into_gpu ? gpu_new(LONG, -1) : host;
        MPI_Recv_init(into[i], LONG, MPI_BYTE, kinds[i].source, kinds[i].tag,
                      MPI_COMM_WORLD, &requests[i]);
    }
}

static void free_requests(void)
{
    for (int i = 0; i < MANY; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
        if (kinds[i].into_gpu)
            gpu_delete(into[i]);
    }
}

static void clear(void)
{
    memset(host, 1, sizeof(host));
    for (int i = 0; i < MANY; i++)
        if (kinds[i].into_gpu)
            gpu_fill(into[i], LONG, -1);
}

static void send(int count)
{
    MPI_Request sends[MANY];

    for (int i = 0; i < count; i++)
        MPI_Isend(kinds[i].from_gpu ? gpu : out, kinds[i].bytes, MPI_BYTE, 1, i,
                  MPI_COMM_WORLD, &sends[i]);
    MPI_Waitall(count, sends, gpu_ignored());
}

static bool has_come(int i)
{
    const char *at = seen;

    if (kinds[i].into_gpu)
        gpu_read(seen, into[i], LONG);
    else
        at = host;
    return memcmp(at, out, (size_t)kinds[i].bytes) == 0;
}

static void see(int i, MPI_Status *status)
{
    CHECK(status->MPI_SOURCE == 0 && status->MPI_TAG == i);
    CHECK(gpu_bytes(status) == kinds[i].bytes);
    CHECK(has_come(i) && requests[i] != MPI_REQUEST_NULL);
}

static void complete_by(int way)
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

static void complete_all(bool tests)
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

static void ask_first(int i)
{
    MPI_Status status;
    int flag = 0;

    while (!flag)
        MPI_Request_get_status(requests[i], &flag, &status);
    see(i, &status);
}

static void complete_each(int way)
{
    MPI_Status status;

    for (int i = MANY - 1; i >= 0; i--) {
        int flag = 0;

        if (way == 0)
            ask_first(i);
        while (way == 1 && !flag)
            MPI_Test(&requests[i], &flag, &status);
        if (way != 1)
            MPI_Wait(&requests[i], &status);
        see(i, &status);
    }
}

/* What is not active any more is complete, and says nothing. */
static void see_inactive(void)
{
    MPI_Status status;
    int flag = 0;

    for (int i = 0; i < MANY; i++) {
        MPI_Test(&requests[i], &flag, &status);
        CHECK(flag && gpu_bytes(&status) == 0);
        CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
    }
}

static void start(bool together)
{
    if (together)
        CHECK(!MPI_Startall(MANY, requests));
    for (int i = 0; i < MANY && !together; i++)
        CHECK(!MPI_Start(&requests[i]));
}

static void receive_all(int round)
{
    int way = round % 9;

    clear();
    if (round % 4 < 3)
        MPI_Probe(0, PROBED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start(round % 2);
    if (way < 4)
        complete_by(way);
    else if (way < 6)
        complete_all(way == 5);
    else
        complete_each(way - 6);
    see_inactive();
}

static void all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (gpu_rank == 0)
            send(MANY);
        else
            receive_all(round);
    }
}

static void probe_again(void)
{
    clear();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Probe(0, PROBED, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(!MPI_Startall(PROBED + 1, requests));
}

static void hear_that_they_left(void)
{
    MPI_Recv(seen, 1, MPI_BYTE, 0, MANY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message that was matched is received. */
static void cancel_them(void)
{
    MPI_Status status;
    int flag;

    probe_again();
    for (int i = 0; i <= PROBED; i++) {
        CHECK(!MPI_Cancel(&requests[i]));
        CHECK(gpu_class(MPI_Start(&requests[i])) == MPI_ERR_REQUEST);
        CHECK(!MPI_Wait(&requests[i], &status));
        MPI_Test_cancelled(&status, &flag);
        CHECK(!flag);
        see(i, &status);
    }
    hear_that_they_left();
}

static void free_them(void)
{
    int flag;

    probe_again();
    for (int i = 0; i <= PROBED; i++) {
        CHECK(!MPI_Request_free(&requests[i]));
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    hear_that_they_left();
    for (int i = 0; i <= PROBED; i++)
        while (!has_come(i))
            MPI_Iprobe(0, MANY, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void ends(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0; round < 2; round++) {
        if (gpu_rank == 0) {
            MPI_Barrier(MPI_COMM_WORLD);
            send(PROBED + 1);
            MPI_Send(out, 1, MPI_BYTE, 1, MANY, MPI_COMM_WORLD);
        } else if (round == 0) {
            cancel_them();
        } else {
            free_them();
        }
    }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 2);
    gpu_begin_at(&argc, &argv,
                 argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
    CHECK(gpu_size == 2);
    gpu = gpu_new(LONG, 0);
    gpu_read(out, gpu, LONG);
    gpu_meet(gpu, LONG);
    if (gpu_rank == 1)
        make_requests();
    if (strcmp(argv[1], "ends") == 0)
        ends();
    else
        all();
    MPI_Barrier(MPI_COMM_WORLD);
    if (gpu_rank == 1)
        free_requests();
    gpu_delete(gpu);
    gpu_end("persist");
    return 0;
}
