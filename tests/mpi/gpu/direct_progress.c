/*
 * Who must call what for a message that goes by header (MPIX_GDS_DIRECT): by
 * argument,
 *   alone     the receive ends though its sender makes no call of MPI's
 *   elsewhere the send ends though its receiver sits in another call
 *   begun     the send ends though its receiver, which has tested the receive,
 *             sits in another call since
 *   beside    the same, which waits for others since
 *   halves    the same of a receive whose other half, a send, is not over
 *   peeked    the same of a persistent receive that was asked about
 *   dropped   the same of one that was freed
 *   both      two that send and receive serve each other
 *   started   the same by sends that were begun, and receives that wait
 *   answered  the same where one waits for a request that is none of ours
 *   behind    who waits for one receive serves those before it
 *   short     the same where that one is too short for a header, and has its
 *             request
 *   exchange  the same by MPI_Sendrecv and its kin
 *   cancel    a send is not cancelled, and arrives
 *   again     memory that was freed and allocated again
 *   freed     a freed receive ends in whatever calls follow, probes too
 *   unheard   what cannot be mapped is an error where its sender, who could
 *             withdraw it, waits for the receiver
 *   gone      a communicator goes with a message that only a probe has seen
 * Two ranks. Messages before the first headers show that they can be.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mpi/gpu/gpu_case.h"

enum { BYTES = 300000, TAG = 9, ROUNDS = 20 };

static char *in, *out;
static int other;

/* From here on both ranks have shown each other that they map. */
static void meet(void)
{
    for (int i = 0; i < 2; i++)
        MPI_Sendrecv(out, BYTES, MPI_BYTE, other, TAG, in, BYTES, MPI_BYTE,
                     other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        MPI_Request request;

        MPI_Irecv(in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
        MPI_Send(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A byte from one rank to the other past MPI. */
static const char *pipe_name(void)
{
    static char name[64];
    int pid = (int)getppid();

    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(name, sizeof(name), "/tmp/mpix-gds-direct.%d", pid);
    if (gpu_rank == 0)
        CHECK(mkfifo(name, 0600) == 0 || errno == EEXIST);
    MPI_Barrier(MPI_COMM_WORLD);
    return name;
}

static void alone(void)
{
    const char *name = pipe_name();
    MPI_Request request;
    char byte = 1;
    int fd;

    if (gpu_rank == 0) {
        fd = open(name, O_RDWR);
        CHECK(fd >= 0);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        CHECK(read(fd, &byte, 1) == 1); /* no MPI until the other has it */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        unlink(name);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        fd = open(name, O_WRONLY);
        CHECK(fd >= 0);
        gpu_fill(in, BYTES, -1);
        MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK(gpu_holds(in, 0, BYTES, 0));
        CHECK(write(fd, &byte, 1) == 1);
    }
    close(fd);
}

static void send_of(int way)
{
    MPI_Request request;

    if (way == 0)
        MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (way == 1)
        MPI_Ssend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    if (way == 2) {
        MPI_Isend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void elsewhere(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    for (int way = 0; way < 3; way++) {
        gpu_fill(in, BYTES, -1);
        if (gpu_rank == 1)
            MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 0)
            send_of(way);
        MPI_Barrier(MPI_COMM_WORLD); /* where the receiver waits for that */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (gpu_rank == 1)
            CHECK(gpu_holds(in, 0, BYTES, 0));
    }
}

/* After so many tests as to find the receive at every stage. */
static void begun(void)
{
    for (int round = 0; round < 2 * ROUNDS; round++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int flag = 0, index;

        gpu_fill(in, BYTES, -1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 0)
            MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        else
            MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                      &requests[0]);
        for (int i = 0; gpu_rank == 1 && !flag && i <= round; i++)
            if (round % 2)
                MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
            else
                MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD); /* where the receiver waits for the send */
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (gpu_rank == 1)
            CHECK(gpu_holds(in, 0, BYTES, 0));
    }
}

static void beside(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[3];
        MPI_Status statuses[2];
        char last = (char)round;

        gpu_fill(in, BYTES, -1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 0) {
            MPI_Isend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                      &requests[0]);
            MPI_Send(out, BYTES, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
            MPI_Send(&last, 1, MPI_BYTE, 1, TAG + 2, MPI_COMM_WORLD);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Irecv(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&last, 1, MPI_BYTE, 0, TAG + 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD,
                  &requests[2]);
        MPI_Waitall(2, requests, statuses);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        CHECK(last == round && gpu_holds(in, 0, BYTES, 0) &&
              gpu_holds(out, 0, BYTES, 0));
    }
}

/* Its send is received behind the message that it receives. */
static void halves(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        int flag = 0;

        gpu_fill(in, BYTES, -1);
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 0) {
            MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(in, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        } else {
            MPI_Isendrecv(out, BYTES, MPI_BYTE, 0, TAG, in, BYTES, MPI_BYTE, 0,
                          TAG, MPI_COMM_WORLD, &request);
            if (round % 2)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        CHECK(gpu_holds(in, 0, BYTES, other));
    }
}

static void persist_by(void (*end)(MPI_Request *))
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;

        gpu_fill(in, BYTES, -1);
        if (gpu_rank == 1) {
            MPI_Recv_init(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                          &request);
            MPI_Start(&request);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (gpu_rank == 0)
            MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        else
            end(&request);
        MPI_Barrier(MPI_COMM_WORLD); /* where the receiver waits for the send */
        if (gpu_rank == 1 && request != MPI_REQUEST_NULL) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(gpu_holds(in, 0, BYTES, 0));
            MPI_Request_free(&request);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* So many looks as to meet the message. */
enum { LOOKS = 2000 };

static void peek(MPI_Request *request)
{
    int flag = 0;

    for (int i = 0; i < LOOKS && !flag; i++)
        MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
}

static void peeked(void)
{
    persist_by(peek);
}

/* More each time, to find the receive at every stage. */
static int dropped_looks;

static void drop(MPI_Request *request)
{
    int flag;

    dropped_looks++;
    MPI_Request_free(request);
    for (int i = 0; i < dropped_looks; i++)
        MPI_Iprobe(0, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void dropped(void)
{
    persist_by(drop);
}

static void both(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];

        gpu_fill(in, BYTES, -1);
        MPI_Irecv(in, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                  &requests[0]);
        if (round % 2) {
            MPI_Send(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
        } else {
            MPI_Isend(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                      &requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        CHECK(gpu_holds(in, 0, BYTES, other));
    }
}

/* The second send is made when the first is over, whose receive nobody waits
 * for. */
static void receive_second(char *second, int way)
{
    MPI_Request request;
    MPI_Status status;

    if (way == 0) {
        MPI_Recv(second, 1, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(second, 1, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD, &request);
    if (way == 1)
        MPI_Wait(&request, &status);
    else
        MPI_Waitall(1, &request, &status);
}

static void behind_by(int ways, int way)
{
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        char second = (char)round;

        gpu_fill(in, BYTES, -1);
        if (gpu_rank == 0) {
            MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Send(&second, 1, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
        } else {
            MPI_Irecv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
            second = -1;
            receive_second(&second, way + round % ways);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            CHECK(second == round && gpu_holds(in, 0, BYTES, 0));
        }
    }
}

static void behind(void)
{
    behind_by(1, 0);
}

static void behind_short(void)
{
    behind_by(2, 1);
}

static void exchange(void)
{
    for (int round = 0; round < 4 * ROUNDS; round++) {
        MPI_Request request;
        MPI_Status status;
        char *got = round % 2 ? out : in;

        gpu_fill(in, BYTES, -1);
        gpu_fill(out, BYTES, gpu_rank + round);
        switch (round % 4) {
        case 0:
            MPI_Sendrecv(out, BYTES, MPI_BYTE, other, TAG, in, BYTES, MPI_BYTE,
                         other, TAG, MPI_COMM_WORLD, &status);
            break;
        case 1:
            MPI_Sendrecv_replace(out, BYTES, MPI_BYTE, other, TAG, other, TAG,
                                 MPI_COMM_WORLD, &status);
            break;
        case 2:
            MPI_Isendrecv(out, BYTES, MPI_BYTE, other, TAG, in, BYTES, MPI_BYTE,
                          other, TAG, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &status);
            break;
        default:
            MPI_Isendrecv_replace(out, BYTES, MPI_BYTE, other, TAG, other, TAG,
                                  MPI_COMM_WORLD, &request);
            MPI_Wait(&request, &status);
        }
        CHECK(gpu_bytes(&status) == BYTES && status.MPI_SOURCE == other);
        CHECK(gpu_holds(got, 0, BYTES, other + round));
    }
}

static void cancel(void)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 1;

    if (gpu_rank == 0) {
        MPI_Isend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (gpu_rank == 0) {
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(!flag);
    } else {
        MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        CHECK(gpu_holds(in, 0, BYTES, 0));
    }
}

static void again(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = BYTES + (size_t)(round % 3) * 4096;

        if (gpu_rank == 0) {
            char *mine = gpu_new(bytes, round);

            MPI_Send(mine, (int)bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            gpu_delete(mine);
        } else {
            char *mine = gpu_new(bytes, -1);

            MPI_Recv(mine, (int)bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            CHECK(gpu_holds(mine, 0, bytes, round));
            gpu_delete(mine);
        }
    }
}

static void freed(void)
{
    static volatile char got[BYTES];
    MPI_Request request;
    int flag;

    if (gpu_rank == 1) {
        MPI_Irecv((void *)got, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                  &request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (gpu_rank == 0)
        MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    while (gpu_rank == 1 && got[BYTES - 1] != (char)((BYTES - 1) * 7))
        MPI_Iprobe(0, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void receive_persistently(int way, char *to)
{
    MPI_Request request;
    int flag = 0;

    MPI_Recv_init(to, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    while (way == 0 && !flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    while (way == 1 && !flag)
        MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void receive_later(int way, char *to)
{
    MPI_Request request;
    MPI_Status status;

    MPI_Irecv(to, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
    if (way == 0)
        MPI_Wait(&request, &status);
    else
        MPI_Waitall(1, &request, &status);
}

/* Nobody completes its send before its receive, by each of these. */
static void receive_by(int way, char *to)
{
    MPI_Status status;

    if (way == 0)
        MPI_Recv(to, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &status);
    else if (way == 1)
        MPI_Recv(to, BYTES, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
    else if (way < 4)
        receive_later(way - 2, to);
    else
        receive_persistently(way - 4, to);
}

static void started(void)
{
    enum { WAYS = 7 };
    static char host[BYTES];

    for (int round = 0; round < 2 * WAYS; round++) {
        char *to = round % 2 ? host : in;
        MPI_Request request;

        gpu_fill(in, BYTES, -1);
        memset(host, 0xee, BYTES);
        MPI_Isend(out, BYTES, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &request);
        receive_by(round / 2 % WAYS, to);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (to == host)
            gpu_write(in, host, BYTES);
        CHECK(gpu_holds(in, 0, BYTES, other));
    }
}

/* Rank 0 waits for what rank 1 sends behind the message that it refuses. */
static void answered(void)
{
    enum { SHORT = 8 };
    char answer[SHORT] = {0};
    MPI_Request requests[2];

    for (int round = 0; round < ROUNDS; round++) {
        gpu_fill(in, BYTES, -1);
        if (gpu_rank == 1) {
            MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            CHECK(gpu_holds(in, 0, BYTES, 0));
            MPI_Send(answer, SHORT, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
            continue;
        }
        MPI_Isend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(answer, SHORT, MPI_BYTE, 1, TAG, MPI_COMM_WORLD,
                  &requests[1]);
        if (round % 2)
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        else
            MPI_Waitall(1, &requests[1], gpu_ignored());
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void unheard(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (gpu_rank == 0)
        MPI_Isend(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
    else
        CHECK(MPI_Recv(in, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* As long as a header, so that the probe must receive it. */
static void gone(void)
{
    enum { HEADER = 160 };

    for (int round = 0; round < ROUNDS; round++) {
        char bytes[HEADER];
        MPI_Status status;
        MPI_Comm comm;

        memset(bytes, gpu_rank ? 0 : round, HEADER);
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (gpu_rank == 0) {
            MPI_Send(bytes, HEADER, MPI_BYTE, 1, TAG, comm);
        } else {
            MPI_Probe(0, MPI_ANY_TAG, comm, &status);
            CHECK(gpu_bytes(&status) == HEADER);
        }
        if (round % 2 && gpu_rank == 1) {
            MPI_Recv(bytes, HEADER, MPI_BYTE, 0, MPI_ANY_TAG, comm, &status);
            CHECK(bytes[0] == round && bytes[HEADER - 1] == round);
        }
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    static const struct gpu_way ways[] = {{"alone", alone},
                                          {"elsewhere", elsewhere},
                                          {"begun", begun},
                                          {"beside", beside},
                                          {"halves", halves},
                                          {"peeked", peeked},
                                          {"dropped", dropped},
                                          {"both", both},
                                          {"started", started},
                                          {"answered", answered},
                                          {"behind", behind},
                                          {"short", behind_short},
                                          {"exchange", exchange},
                                          {"cancel", cancel},
                                          {"again", again},
                                          {"freed", freed},
                                          {"gone", gone},
                                          {"unheard", unheard},
                                          {0}};

    gpu_begin_at(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(argc == 2 && gpu_size == 2);
    other = 1 - gpu_rank;
    in = gpu_new(BYTES, -1);
    out = gpu_new(BYTES, gpu_rank);
    meet();
    gpu_run_way(ways, argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_delete(in);
    gpu_delete(out);
    gpu_end("progress");
    return 0;
}
