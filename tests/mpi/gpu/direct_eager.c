/*
 * Short sends of GPU memory by header that do not wait for their receivers
 * (MPIX_GDS_DIRECT_EAGER): by argument,
 *   unmatched    each form of a send is over, and its memory the program's
 *                again, before the receiver has begun anything
 *   crossing     two ranks that both send first
 *   synchronous  MPI_Ssend and its kin wait all the same
 *   gone         memory and communicator go before the message is received
 *   order        messages that went by header, and staged ones after them, come
 *                in the order of their sends
 * Two ranks. Messages before the first headers show that they can be.
 */
#include "tests/mpi/gpu/gpu_case.h"

/* After a header in vain so many sends are staged at once. */
enum { STAGED_BETWEEN = 16, BYTES = 8192, MEET = 300000, TAG = 9 };

static const int lengths[] = {160, 161, 4096, BYTES};
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths) };

static char *in, *out;
static char host[BYTES];
static int other;

/* How rank 0 sends. */
static void send_plainly(int bytes)
{
    MPI_Send(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
}

static void send_and_wait(int bytes)
{
    MPI_Request request;

    MPI_Isend(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void send_and_test(int bytes)
{
    MPI_Request request;
    int done = 0;

    MPI_Isend(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void send_and_wait_for_any(int bytes)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL};
    int index;

    MPI_Isend(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    CHECK(index == 1);
}

static void send_and_wait_for_all(int bytes)
{
    MPI_Request requests[2] = {MPI_REQUEST_NULL};
    MPI_Status statuses[2];

    MPI_Isend(out, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
}

static void exchange(int bytes)
{
    char got;

    MPI_Sendrecv(out, bytes, MPI_BYTE, 1, TAG, &got, 1, MPI_BYTE, 1, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void (*const sends[])(int) = {
    send_plainly,          send_and_wait,         send_and_test,
    send_and_wait_for_any, send_and_wait_for_all, exchange};
enum { SENDS = sizeof(sends) / sizeof(*sends) };

/* How rank 1 receives, and where. */
enum { RECV, ANY, IRECV, PROBED, MATCHED, HOST, SHORT, RECEIVES };

static char *receive(int way, int bytes)
{
    char *to = way == HOST ? host : in;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int room = BYTES;

    if (way == PROBED) {
        MPI_Probe(0, TAG, MPI_COMM_WORLD, &status);
        room = gpu_bytes(&status);
        CHECK(room == bytes);
    }
    if (way == IRECV) {
        MPI_Irecv(to, room, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
    } else if (way == MATCHED) {
        MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, &status);
        CHECK(gpu_bytes(&status) == bytes);
        MPI_Mrecv(to, room, MPI_BYTE, &message, &status);
    } else {
        MPI_Recv(to, room, MPI_BYTE, way == ANY ? MPI_ANY_SOURCE : 0,
                 way == ANY ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD, &status);
    }
    CHECK(gpu_bytes(&status) == bytes && status.MPI_SOURCE == 0);
    return to;
}

/* A message that is longer than its receive. */
static void receive_too_short(int bytes)
{
    int was = gpu_errors();

    CHECK(gpu_class(MPI_Recv(in, bytes - 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE)) == MPI_ERR_TRUNCATE);
    CHECK(gpu_errors() == was + 1);
    CHECK(gpu_holds(in, (size_t)bytes - 8, BYTES, -1));
}

static void receive_and_look(int way, int bytes, int seed)
{
    const char *at;

    gpu_fill(in, BYTES, -1);
    if (way == SHORT) {
        receive_too_short(bytes);
        return;
    }
    at = receive(way, bytes);
    if (way == HOST)
        for (int i = 0; i < bytes; i++)
            CHECK(at[i] == (char)(seed + i * 7));
    else
        CHECK(gpu_holds(at, 0, (size_t)bytes, seed) &&
              gpu_holds(at, (size_t)bytes, BYTES, -1));
}

/* Every form of a send with every form of a receive; of so many only one goes
 * by header. */
static void unmatched(void)
{
    char byte = 1;

    gpu_count_errors(MPI_COMM_WORLD);
    for (int i = 0; i < SENDS * RECEIVES * LENGTHS * 3; i++) {
        int bytes = lengths[i % LENGTHS];
        int form = i % SENDS;

        if (gpu_rank == 1 && sends[form] == exchange)
            MPI_Send(&byte, 1, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
        if (gpu_rank == 0) {
            gpu_fill(out, BYTES, i);
            sends[form](bytes);
            gpu_fill(out, BYTES, -1); /* it is the program's again */
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 1)
            receive_and_look(i % RECEIVES, bytes, i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void crossing(void)
{
    for (int i = 0; i < 4 * STAGED_BETWEEN; i++) {
        int bytes = lengths[i % LENGTHS];

        gpu_fill(out, BYTES, gpu_rank + i);
        MPI_Send(out, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        gpu_fill(in, BYTES, -1);
        MPI_Recv(in, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK(gpu_holds(in, 0, (size_t)bytes, other + i));
    }
}

/* That a synchronous send is not over is seen for longer than any header is
 * left below. */
static void synchronous(void)
{
    enum { MANY_MS = 20 };

    for (int i = 0; i < 4; i++) {
        MPI_Request request;
        int done = 0;
        double end;

        if (gpu_rank == 0) {
            gpu_fill(out, BYTES, i);
            MPI_Issend(out, lengths[i], MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                       &request);
            end = MPI_Wtime() + MANY_MS * 1e-3;
            while (!done && MPI_Wtime() < end)
                MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            CHECK(!done);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            receive_and_look(RECV, lengths[i], i);
    }
}

static void gone(void)
{
    for (int i = 0; i < 3 * (STAGED_BETWEEN + 1); i++) {
        MPI_Request request;
        MPI_Comm comm;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (gpu_rank == 0) {
            char *mine = gpu_new(BYTES, i);

            MPI_Isend(mine, BYTES, MPI_BYTE, 1, TAG, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            gpu_delete(mine);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        gpu_fill(in, BYTES, -1);
        if (gpu_rank == 1)
            MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, comm, &request);
        MPI_Comm_free(&comm);
        if (gpu_rank == 1) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(gpu_holds(in, 0, BYTES, i));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* More than there are staged ones between two headers, none of them received
 * before all are sent. */
static void order(void)
{
    enum { ROUNDS = 5, MESSAGES = 3 * STAGED_BETWEEN };

    for (int i = 0; i < ROUNDS * MESSAGES; i++) {
        int at = i % MESSAGES;

        if (gpu_rank == 0) {
            gpu_fill(out, BYTES, i);
            sends[at % 2](lengths[at % LENGTHS]);
        }
        if (at < MESSAGES - 1)
            continue;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int k = 0; gpu_rank == 1 && k < MESSAGES; k++)
            receive_and_look(k % 2 ? IRECV : RECV, lengths[k % LENGTHS],
                             i - at + k);
    }
}

int main(int argc, char **argv)
{
    char *far;
    static const struct gpu_way ways[] = {{"unmatched", unmatched},
                                          {"crossing", crossing},
                                          {"synchronous", synchronous},
                                          {"gone", gone},
                                          {"order", order},
                                          {0}};

    gpu_begin_at(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(argc == 2 && gpu_size == 2);
    other = 1 - gpu_rank;
    in = gpu_new(BYTES, -1);
    out = gpu_new(BYTES, gpu_rank);
    far = gpu_new(MEET, gpu_rank);
    gpu_meet(far, MEET);
    gpu_delete(far);
    gpu_run_way(ways, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_delete(in);
    gpu_delete(out);
    gpu_end("eager");
    return 0;
}
