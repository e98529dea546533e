/*
 * Programs of many ranks: a ring, all to all, any source, a hundred
 * communicators; and what a communicator costs each of them (docs/scaling.md),
 * which rank 0 says in one line.
 */
#include "tests/enq/enq.h"

#include <dirent.h>
#include <stdlib.h>
#include <time.h>

enum { TAG = 1, BYTES = 1000, COMMS = 100 };

/* Of this process's own memory, KiB. */
static int64_t read_private(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long long sum = 0, kib;

    CHECK(file);
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "Private_Dirty: %lld", &kib) == 1)
            sum += kib;
    fclose(file);
    return sum;
}

static int64_t count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int64_t count = 0;

    CHECK(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int64_t most_of(int64_t mine)
{
    int64_t most = mine;

    MPI_Allreduce(&mine, &most, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

static int ahead(int by)
{
    return (enq.rank + by) % enq.size;
}

static int behind(int by)
{
    return (enq.rank + enq.size - by) % enq.size;
}

/* One message to the rank so far ahead, one from so far behind. */
static void shift(const struct enq_lane *lane, struct enq_buffer b[2], int by,
                  int source)
{
    MPI_Request request[2];

    enq_fill(&b[1], (unsigned)enq.rank + 1);
    enq_wipe(&b[0]);
    enq_irecv(lane, &b[0], source, TAG, &request[0]);
    enq_isend(lane, &b[1], ahead(by), TAG, &request[1]);
    enq_waitall(2, request);
    enq_sync(lane);
    enq_expect(&b[0], b[0].bytes, (unsigned)behind(by) + 1);
}

static void open_all(struct enq_lane *lane, struct enq_buffer b[2])
{
    enq_lane_open(lane);
    for (int i = 0; i < 2; i++)
        enq_buffer_open(&b[i], BYTES);
}

static void close_all(struct enq_lane *lane, struct enq_buffer b[2])
{
    for (int i = 0; i < 2; i++)
        enq_buffer_close(&b[i]);
    enq_lane_close(lane);
}

/* From a named rank, and from any. */
static void ring(void)
{
    struct enq_buffer b[2];
    struct enq_lane lane;

    open_all(&lane, b);
    for (int lap = 0; lap < 3; lap++) {
        shift(&lane, b, 1, behind(1));
        shift(&lane, b, 1, MPI_ANY_SOURCE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(enq_counter("wire_connections") <= 2);
    close_all(&lane, b);
}

static void all_to_all(void)
{
    struct enq_buffer b[2];
    struct enq_lane lane;

    open_all(&lane, b);
    for (int by = 0; by < enq.size; by++)
        shift(&lane, b, by, behind(by));
    close_all(&lane, b);
}

/* Each receives as many as there are ranks, in whatever order they come. */
static void any_source(void)
{
    struct enq_buffer b[2];
    struct enq_lane lane;
    MPI_Request *request =
        (MPI_Request *)calloc((size_t)enq.size, sizeof(MPI_Request));

    CHECK(request);
    open_all(&lane, b);
    enq_fill(&b[1], 1);
    for (int by = 0; by < enq.size; by++)
        enq_isend(&lane, &b[1], ahead(by), TAG, &request[by]);
    for (int i = 0; i < enq.size; i++) {
        enq_wipe(&b[0]);
        enq_recv(&lane, &b[0], MPI_ANY_SOURCE, TAG, MPI_STATUS_IGNORE);
        enq_sync(&lane);
        enq_expect(&b[0], b[0].bytes, 1);
    }
    enq_waitall(enq.size, request);
    enq_sync(&lane);
    close_all(&lane, b);
    free(request);
}

static void hundred_communicators(void)
{
    static struct enq_lane lane[COMMS];
    struct enq_buffer b[2];
    struct enq_lane first;

    open_all(&first, b);
    for (int i = 0; i < COMMS; i++) {
        lane[i] = first;
        ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, first.stream,
                                       &lane[i].comm));
    }
    for (int i = 0; i < COMMS; i++)
        shift(&lane[i], b, 1, behind(1));
    for (int i = 0; i < COMMS; i++)
        ENQ_OK(MPI_Comm_free(&lane[i].comm));
    close_all(&first, b);
}

/* Nothing is sent: what there is, each costs. */
static void costs(void)
{
    int64_t before = read_private(), threads = count_threads();
    int64_t one, more;
    double begin = now(), first, rest;
    struct enq_lane lane;
    MPI_Comm comm[COMMS];

    enq_lane_open(&lane);
    first = now() - begin;
    one = read_private();
    begin = now();
    for (int i = 0; i < COMMS; i++)
        ENQ_OK(MPIX_Stream_comm_create(MPI_COMM_WORLD, lane.stream, &comm[i]));
    rest = (now() - begin) / COMMS;
    more = read_private();
    one = most_of(one - before);
    more = most_of((more - before - one) * 1024 / COMMS);
    threads = most_of(count_threads() - threads);
    if (enq.rank == 0)
        printf("scale: ranks %d, first communicator %lld KiB and %.1f ms, each "
               "further one %lld bytes and %.1f ms, threads %lld, connections "
               "%lld\n",
               enq.size, (long long)one, first * 1e3, (long long)more,
               rest * 1e3, (long long)threads,
               (long long)enq_counter("wire_connections"));
    CHECK(most_of(enq_counter("wire_connections")) == 0);
    for (int i = 0; i < COMMS; i++)
        ENQ_OK(MPI_Comm_free(&comm[i]));
    enq_lane_close(&lane);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"costs", 2, costs}, /* before anybody is connected */
        {"ring", 2, ring},
        {"all_to_all", 2, all_to_all},
        {"any_source", 2, any_source},
        {"hundred_communicators", 2, hundred_communicators},
        {0},
    };

    return enq_main(argc, argv, "enq scale", cases);
}
