/*
 * What messages cost that wait for their receives, by MPI, two ranks: README.md
 * says how it is built and what came of it.
 *
 *   queues host|enqueue named|any COUNT [BESIDE]
 *
 * Rank 0 sends COUNT messages of 8 bytes with 8 tags; rank 1 hears of all of
 * them (the last has a tag of its own, that it probes for) and then receives
 * them, by source and tag or from any source. With BESIDE the COUNT messages
 * stay, while BESIDE receives from any source get theirs, which come later.
 * Times are by the clock, and the CPU's of all threads of the rank.
 */
#include <cuda.h>
#include <mpix_gds.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { TAGS = 8, LAST = 100, LATE = 1000, BATCH = 256, BYTES = 8 };

static int rank, count, beside;
static bool enqueue, any;
static MPI_Comm comm;
static CUstream stream;
static char *memory; /* BYTES for each message */
static MPI_Request *request;

static void must(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, rc);
    exit(1);
}
#define MUST(call) must((int)(call), #call)

struct times {
    double clock, cpu;
};

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static struct times now(void)
{
    struct timespec clock;
    struct rusage used;

    clock_gettime(CLOCK_MONOTONIC, &clock);
    getrusage(RUSAGE_SELF, &used);
    return (struct times){(double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec,
                          seconds(used.ru_utime) + seconds(used.ru_stime)};
}

static void tell(const char *what, struct times from, int messages)
{
    struct times to = now();

    printf("rank %d: %s: %.3f s, CPU %.3f s; %.2f us, CPU %.2f us each\n", rank,
           what, to.clock - from.clock, to.cpu - from.cpu,
           1e6 * (to.clock - from.clock) / messages,
           1e6 * (to.cpu - from.cpu) / messages);
    fflush(stdout);
}

static void *at(int i)
{
    return memory + (size_t)i * BYTES;
}

static void start_send(int i, int tag)
{
    if (enqueue)
        MUST(MPIX_Isend_enqueue(at(i), BYTES, MPI_BYTE, 1, tag, comm,
                                &request[i]));
    else
        MUST(MPI_Isend(at(i), BYTES, MPI_BYTE, 1, tag, comm, &request[i]));
}

static void start_receive(int i, int tag)
{
    int source = any ? MPI_ANY_SOURCE : 0;

    if (enqueue)
        MUST(MPIX_Irecv_enqueue(at(i), BYTES, MPI_BYTE, source, tag, comm,
                                &request[i]));
    else
        MUST(MPI_Irecv(at(i), BYTES, MPI_BYTE, source, tag, comm, &request[i]));
}

static void wait_for(int first, int messages)
{
    for (int i = first; i < first + messages; i += BATCH) {
        int left = first + messages - i;

        MUST(MPI_Waitall(left < BATCH ? left : BATCH, &request[i],
                         MPI_STATUSES_IGNORE));
    }
}

/* All that was sent before it has come: messages of one sender are in order. */
static void hear_of_all(void)
{
    struct times start = now();
    char last[BYTES];
    int flag = 0;

    while (!flag)
        MUST(MPI_Iprobe(0, LAST, comm, &flag, MPI_STATUS_IGNORE));
    MUST(MPI_Recv(last, BYTES, MPI_BYTE, 0, LAST, comm, MPI_STATUS_IGNORE));
    tell("told of all", start, count);
}

static void send_all(void)
{
    struct times start = now();

    for (int i = 0; i < count; i++)
        start_send(i, i % TAGS);
    tell("sends called", start, count);
    MUST(MPI_Send(at(count), BYTES, MPI_BYTE, 1, LAST, comm));
}

static void receive_all(void)
{
    struct times start = now();

    for (int i = 0; i < count; i++)
        start_receive(i, i % TAGS);
    wait_for(0, count);
    tell("received", start, count);
}

/* The messages that wait have other tags. */
static void receive_beside(void)
{
    struct times start;

    for (int i = 0; i < beside; i++)
        start_receive(count + i, LATE + i);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    start = now();
    wait_for(count, beside);
    tell("received beside", start, beside);
}

static void send_beside(void)
{
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < beside; i++)
        start_send(count + i, LATE + i);
    wait_for(count, beside);
}

static void open_stream(void)
{
    MPIX_Stream object;
    MPI_Info info;
    CUcontext context;
    CUdevice device;

    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    MUST(MPI_Info_create(&info));
    MUST(MPI_Info_set(info, "type", "CUstream"));
    MUST(MPIX_Info_set_hex(info, "value", &stream, sizeof(stream)));
    MUST(MPIX_Stream_create(info, &object));
    MUST(MPI_Info_free(&info));
    MUST(MPIX_Stream_comm_create(MPI_COMM_WORLD, object, &comm));
}

static void make_memory(size_t messages)
{
    CUdeviceptr gpu = 0;

    request = calloc(messages, sizeof(MPI_Request));
    if (enqueue)
        MUST(cuMemAlloc(&gpu, messages * BYTES));
    memory = enqueue ? (char *)(uintptr_t)gpu : calloc(messages, BYTES);
    if (!request || !memory)
        exit(1);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    MUST(MPI_Init(&argc, &argv));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    enqueue = strcmp(argv[1], "enqueue") == 0;
    any = strcmp(argv[2], "any") == 0;
    count = atoi(argv[3]);
    beside = argc > 4 ? atoi(argv[4]) : 0;
    open_stream();
    make_memory((size_t)count + (size_t)beside + 1);
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        send_all();
    else
        hear_of_all();
    if (beside > 0)
        (rank == 0 ? send_beside : receive_beside)();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        wait_for(0, count);
    else
        receive_all();
    MUST(MPI_Barrier(MPI_COMM_WORLD));
    MUST(MPI_Finalize());
    return 0;
}
