/*
 * D7: who asks for a message from any source is connected to those that send,
 * and to nobody else. A run is of one case; with --apart, ahead of all other
 * arguments, each rank plays a host of its own.
 */
#include "tests/enq/enq.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TAG = 1, PROBES = 1000 };

static int64_t connections(void)
{
    return enq_counter("wire_connections");
}

static int next_rank(void)
{
    return (enq.rank + 1) % enq.size;
}

static int previous_rank(void)
{
    return (enq.rank + enq.size - 1) % enq.size;
}

static bool probe(const struct enq_lane *lane)
{
    int flag;

    ENQ_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, lane->comm, &flag,
                      MPI_STATUS_IGNORE));
    return flag;
}

static void probes_connect_nobody(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int i = 0; i < PROBES; i++)
        CHECK(!probe(&lane));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(connections() == 0);
    enq_lane_close(&lane);
    CHECK(connections() == 0);
}

/* Nobody stands before somebody has been heard of: so nobody is greeted,
 * however slow the others are. */
static void turn_ring_probed(const struct enq_lane *lane)
{
    int word = enq.rank, got = -1;
    MPI_Request request;

    ENQ_OK(
        MPI_Isend(&word, 1, MPI_INT, next_rank(), TAG, lane->comm, &request));
    while (!probe(lane))
        continue;
    ENQ_OK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, TAG, lane->comm,
                    MPI_STATUS_IGNORE));
    ENQ_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(got == previous_rank());
}

static void turn_ring(const struct enq_lane *lane, struct enq_buffer b[2],
                      int source)
{
    MPI_Request requests[2];
    int code = MPI_ERR_OTHER;

    enq_wipe(&b[0]);
    enq_irecv(lane, &b[0], source, TAG, &requests[0]);
    enq_isend(lane, &b[1], next_rank(), TAG, &requests[1]);
    enq_waitall(2, requests);
    ENQ_OK(MPIX_Stream_synchronize(lane->stream, 60));
    ENQ_OK(MPIX_Stream_get_error(lane->stream, &code, NULL));
    CHECK(code == MPI_SUCCESS);
    enq_expect(&b[0], b[0].bytes, (unsigned)previous_rank() + 1);
}

static void open_all(struct enq_lane *lane, struct enq_buffer b[2],
                     size_t bytes)
{
    enq_lane_open(lane);
    for (int i = 0; i < 2; i++)
        enq_buffer_open(&b[i], bytes);
    enq_fill(&b[1], (unsigned)enq.rank + 1);
}

static void close_all(struct enq_lane *lane, struct enq_buffer b[2])
{
    for (int i = 0; i < 2; i++)
        enq_buffer_close(&b[i]);
    enq_lane_close(lane);
}

static void neighbours_are_two(void)
{
    static const size_t sizes[] = {ENQ_SMALL, ENQ_LARGE};
    struct enq_lane lane;
    struct enq_buffer b[2];

    for (int i = 0; i < 2; i++) {
        open_all(&lane, b, sizes[i]);
        turn_ring_probed(&lane);
        for (int lap = 0; lap < 3; lap++)
            turn_ring(&lane, b, MPI_ANY_SOURCE);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(connections() == 2);
        close_all(&lane, b);
    }
    CHECK(connections() == 2);
}

/* Descriptors for two neighbours, and not for all ranks. */
static void limit_descriptors(rlim_t more)
{
    int next = dup(0);
    struct rlimit limit;

    CHECK(next >= 0);
    close(next);
    limit.rlim_cur = limit.rlim_max = (rlim_t)next + more;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

/* Messages with neighbours alone, but everybody has asked for any source. */
static void few_descriptors_are_enough(void)
{
    struct enq_lane lane;
    struct enq_buffer b[2];

    open_all(&lane, b, ENQ_SMALL);
    limit_descriptors(6);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(!probe(&lane));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int lap = 0; lap < 3; lap++)
        turn_ring(&lane, b, previous_rank());
    CHECK(connections() == 2);
    close_all(&lane, b);
}

static void be_apart(void)
{
    const char *rank = getenv("PMI_RANK");

    CHECK(rank && setenv("MPIX_SIM_HOST", rank, 1) == 0);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {
        {"d7_probes_connect_nobody", 2, probes_connect_nobody},
        {"d7_neighbours_are_two", 3, neighbours_are_two},
        {"d7_few_descriptors_are_enough", 3, few_descriptors_are_enough},
        {0},
    };

    if (argc > 1 && strcmp(argv[1], "--apart") == 0) {
        be_apart();
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    return enq_main(argc, argv, "enq wildcard", cases);
}
