/*
 * D6: streams are made, used and freed, many in one run: enq_d6 STREAMS
 * [timed]. Nothing is left of them: GPU memory, resident memory and descriptors
 * are what they were after the first few. What the library has records of, and
 * how many blocks kernels have, the counters of its summary say. With `timed`,
 * ranks 0 and 1 also say what a message of other streams took before and after.
 *
 * Some are freed with messages in flight, and their native streams destroyed
 * with that work pending, so that the driver gives the handles out again.
 */
#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/enq/enq.h"
#include "tests/lib/sanitized.h"

enum {
    WARM = 40,
    MANY = 16,
    KINDS = 4,
    LONG = 8192,
    MOST_KIB = 1024,
    PINGS = 2000
};

static int streams;
static bool timed;

/* What a process has, in KiB, and descriptors. */
struct has {
    long resident, gpu;
    int files;
};

static int count_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int files = 0;

    CHECK(dir);
    while (readdir(dir))
        files++;
    closedir(dir);
    return files;
}

static struct has look(void)
{
    size_t free_bytes, all;

    MGDS_CU(cuMemGetInfo(&free_bytes, &all));
    return (struct has){.resident = enq_resident_kib(),
                        .gpu = (long)((all - free_bytes) / 1024),
                        .files = count_files()};
}

/* A stream of its own for each, so that no other one tells of its marks. */
static void open_lane(struct enq_lane *lane)
{
    MGDS_CU(cuStreamCreate(&lane->cu, CU_STREAM_NON_BLOCKING));
    lane->stream = enq_stream_of(lane->cu);
    ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, lane->stream, &lane->comm));
}

static void close_lane(struct enq_lane *lane)
{
    ENQ_OK(MPI_Comm_free(&lane->comm));
    ENQ_OK(MPIX_Stream_free(&lane->stream));
    MGDS_CU(cuStreamDestroy(lane->cu));
}

static void ping(const struct enq_lane *lane, struct enq_buffer *b)
{
    if (enq.rank == 0)
        enq_send(lane, b, 1, 1);
    else
        enq_recv(lane, b, 0, 1, MPI_STATUS_IGNORE);
}

/* Both ways, and waited for by the host. */
static void swap(const struct enq_lane *lane, struct enq_buffer *out,
                 struct enq_buffer *in)
{
    MPI_Request requests[2];

    enq_irecv(lane, in, 1 - enq.rank, 2, &requests[0]);
    enq_isend(lane, out, 1 - enq.rank, 2, &requests[1]);
    ENQ_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
}

/* In flight when all is freed: behind a gate. */
static void leave(struct enq_lane *lane, struct enq_buffer *b)
{
    struct enq_gate gate;
    CUevent over;

    enq_gate_make(&gate);
    MGDS_CU(cuEventCreate(&over, CU_EVENT_DISABLE_TIMING));
    enq_gate_hold(&gate, lane->cu);
    ping(lane, b);
    MGDS_CU(cuEventRecord(over, lane->cu));
    close_lane(lane);
    enq_gate_open(&gate);
    while (mgds_cu.cuEventQuery(over) == CUDA_ERROR_NOT_READY)
        sched_yield();
    MGDS_CU(cuEventDestroy(over));
    enq_gate_free(&gate);
}

struct buffers {
    struct enq_buffer brief, out, in;
};

static void use(struct buffers *b, int i)
{
    unsigned message = (unsigned)(i % 1000) + 1;
    struct enq_lane lane;

    if (enq.rank == 0)
        enq_fill(&b->brief, message);
    else
        enq_wipe(&b->brief);
    open_lane(&lane);
    if (i % KINDS == 0) {
        leave(&lane, &b->brief);
    } else {
        if (i % KINDS == 1)
            swap(&lane, &b->out, &b->in);
        ping(&lane, &b->brief);
        MGDS_CU(cuStreamSynchronize(lane.cu));
        close_lane(&lane);
    }
    enq_expect(&b->brief, b->brief.bytes, message);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Of host memory, there and back. */
static void time_messages(const struct enq_lane *lane, const char *when)
{
    double begin = now();
    int word = 0;

    for (int i = 0; timed && i < PINGS; i++) {
        if (enq.rank == 0)
            ENQ_OK(MPI_Send(&word, 1, MPI_INT, 1, 3, lane->comm));
        ENQ_OK(MPI_Recv(&word, 1, MPI_INT, 1 - enq.rank, 3, lane->comm,
                        MPI_STATUS_IGNORE));
        if (enq.rank == 1)
            ENQ_OK(MPI_Send(&word, 1, MPI_INT, 0, 3, lane->comm));
    }
    if (timed)
        printf("rank %d: a round trip of other streams' took %.2f us %s\n",
               enq.rank, 1e6 * (now() - begin) / PINGS, when);
}

static bool has_no_more(const struct has *now, const struct has *before)
{
    return (MGDS_SANITIZED || now->resident < before->resident + MOST_KIB) &&
           now->gpu < before->gpu + MOST_KIB && now->files <= before->files;
}

/* What is in flight ends, and the next calls give it back. How many it takes is
 * the machine's affair; the run has its limit. */
static struct has settle(const struct has *before)
{
    struct has now;
    int less = 0, all;

    do {
        struct enq_lane lane;

        ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
        open_lane(&lane);
        close_lane(&lane);
        now = look();
        less += before == NULL || has_no_more(&now, before);
        ENQ_OK(MPI_Allreduce(&less, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    } while (all < 3);
    return now;
}

/* Rings are kept for the next communicator, as many as there were at a time: so
 * there are more first than there will be. */
static void warm_up(struct buffers *b)
{
    struct enq_lane many[MANY];

    for (int i = 0; i < MANY; i++) {
        open_lane(&many[i]);
        ping(&many[i], &b->brief);
        swap(&many[i], &b->out, &b->in);
    }
    for (int i = 0; i < MANY; i++) {
        enq_sync(&many[i]);
        close_lane(&many[i]);
    }
    for (int i = 0; i < WARM; i++)
        use(b, i);
}

static void run(struct buffers *b, const struct enq_lane *other)
{
    struct has before, after;

    warm_up(b);
    before = settle(NULL);
    time_messages(other, "before");
    for (int i = 0; i < streams; i++)
        use(b, i);
    time_messages(other, "after");
    after = settle(&before);
    printf("rank %d: %d streams; KiB resident %ld, then %ld; of the GPU %ld, "
           "then %ld; descriptors %d, then %d\n",
           enq.rank, streams, before.resident, after.resident, before.gpu,
           after.gpu, before.files, after.files);
    fflush(stdout);
}

static void streams_come_and_go(void)
{
    struct enq_lane other;
    struct buffers b;

    enq_lane_open(&other);
    enq_buffer_open(&b.brief, ENQ_SMALL);
    enq_buffer_open(&b.out, LONG);
    enq_buffer_open(&b.in, LONG);
    enq_fill(&b.out, 1);
    run(&b, &other);
    enq_lane_close(&other);
    enq_buffer_close(&b.in);
    enq_buffer_close(&b.out);
    enq_buffer_close(&b.brief);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"streams_come_and_go", 2, streams_come_and_go},
        {0},
    };

    if (argc >= 2)
        streams = atoi(argv[1]);
    timed = argc >= 3 && strcmp(argv[2], "timed") == 0;
    if (streams <= 0) {
        fprintf(stderr, "usage: %s STREAMS [timed] [OPTIONS]\n", argv[0]);
        return 2;
    }
    argv[1 + timed] = argv[0];
    return enq_main(argc - 1 - timed, argv + 1 + timed, "enq d6", cases);
}
