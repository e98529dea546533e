/*
 * Many operations in one run: memory and the time of one do not grow. Two
 * ranks, each with a stream: enq_soak OPERATIONS [timed]. The first tenth warms
 * up. Memory is the process's resident set; not under sanitizers, which keep
 * what is freed. With `timed`, the last tenth may take half more than the
 * second, which is noise on a busy machine and far less than any growth with
 * the number of operations.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/enq/enq.h"
#include "tests/lib/sanitized.h"

enum { PARTS = 10, WINDOW = 32, ROOM = 4096, GROWTH_KIB = 512 };

static long operations;
static bool timed;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A window: half of what is enqueued waits in the stream, half for the host;
 * some are freed, and each has another size. */
static void window(const struct enq_lane *lane, struct enq_buffer *all, int lap)
{
    MPI_Request requests[WINDOW];
    MPI_Status statuses[WINDOW];

    for (int i = 0; i < WINDOW; i++) {
        size_t bytes = (size_t)((lap + i) % ROOM);
        char *at = all->at + (size_t)i * ROOM;

        if ((enq.rank + lap) % 2 == 0)
            ENQ_OK(MPIX_Isend_enqueue(at, (int)bytes, MPI_BYTE, 1 - enq.rank, i,
                                      lane->comm, &requests[i]));
        else
            ENQ_OK(MPIX_Irecv_enqueue(at, (int)bytes, MPI_BYTE, 1 - enq.rank, i,
                                      lane->comm, &requests[i]));
    }
    ENQ_OK(MPI_Request_free(&requests[lap % WINDOW]));
    if (lap % 2)
        ENQ_OK(MPIX_Waitall_enqueue(WINDOW, requests, statuses));
    else
        ENQ_OK(MPI_Waitall(WINDOW, requests, statuses));
    /* Of freed receives too: their memory is used again. */
    ENQ_OK(MPIX_Stream_synchronize(lane->stream, 30));
}

static void soak(void)
{
    double took[PARTS];
    long memory[PARTS];
    struct enq_lane lane;
    struct enq_buffer all;
    int laps = (int)(operations / WINDOW / PARTS);
    int lap = 0;

    CHECK(laps > 0);
    enq_lane_open(&lane);
    enq_buffer_open(&all, (size_t)WINDOW * ROOM);
    for (int part = 0; part < PARTS; part++) {
        double start = now();

        for (int i = 0; i < laps && enq.rank < 2; i++)
            window(&lane, &all, lap++);
        if (enq.rank < 2)
            ENQ_OK(MPIX_Stream_synchronize(lane.stream, 30));
        took[part] = now() - start;
        memory[part] = enq_resident_kib();
    }
    printf("rank %d: %ld operations; KiB %ld after a tenth, %ld at the end; "
           "seconds %.2f in the second tenth, %.2f in the last\n",
           enq.rank, operations, memory[0], memory[PARTS - 1], took[1],
           took[PARTS - 1]);
    fflush(stdout);
    CHECK(MGDS_SANITIZED || memory[PARTS - 1] < memory[0] + GROWTH_KIB);
    CHECK(!timed || took[PARTS - 1] < 1.5 * took[1]);
    enq_lane_close(&lane);
    enq_buffer_close(&all);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"soak_does_not_grow", 2, soak},
        {0},
    };
    char *end = argv[0];

    if (argc >= 2)
        operations = strtol(argv[1], &end, 10);
    timed = argc >= 3 && strcmp(argv[2], "timed") == 0;
    if (argc < 2 || *end || operations <= 0) {
        fprintf(stderr, "usage: %s OPERATIONS [timed] [OPTIONS]\n", argv[0]);
        return 2;
    }
    argv[1 + timed] = argv[0];
    return enq_main(argc - 1 - timed, argv + 1 + timed, "enq soak", cases);
}
