/*
 * Steps of a one-dimensional exchange, for what the calls cost: two receives,
 * two sends and one wait for them, of SIZE bytes each: step_calls LAPS SIZE
 * WAY. The counting is done from outside (step_instructions.py), lap by lap.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/enq/enq.h"

enum { SIDES = 2 };

static struct enq_buffer out[SIDES], in[SIDES];
static int laps;
static size_t size;

/* Where a dump of the counters begins. */
__attribute__((noinline, visibility("default"))) void phase_lap(void);
void phase_lap(void)
{
    __asm__ volatile("");
}

/* Only then are the calls those that are to be counted. */
static void goes_by_ring(MPI_Request request)
{
    const char *transport, *reason, *remedy;

    ENQ_OK(MPIX_Request_get_transport(request, &transport, &reason, &remedy));
    if (strcmp(transport, "p2p") != 0)
        fprintf(stderr, "sent by %s: %s\n", transport, reason);
    CHECK(strcmp(transport, "p2p") == 0);
}

/* Both ranks are each other's neighbours on both sides. */
static void begin(const struct enq_lane *lane, MPI_Request request[])
{
    int other = 1 - enq.rank;

    for (int side = 0; side < SIDES; side++)
        enq_irecv(lane, &in[side], other, side, &request[side]);
    for (int side = 0; side < SIDES; side++)
        enq_isend(lane, &out[side], other, side, &request[SIDES + side]);
}

static void step_single(const struct enq_lane *lane, MPI_Request request[])
{
    begin(lane, request);
    goes_by_ring(request[SIDES]);
    enq_waitall(2 * SIDES, request);
}

static void step_group(const struct enq_lane *lane, MPI_Request request[])
{
    ENQ_OK(MPIX_Stream_group_start(lane->stream));
    begin(lane, request);
    enq_waitall(2 * SIDES, request);
    ENQ_OK(MPIX_Stream_group_end(lane->stream));
}

static void step_persistent(const struct enq_lane *lane, MPI_Request request[])
{
    (void)lane;
    ENQ_OK(MPIX_Startall_enqueue(2 * SIDES, request));
    ENQ_OK(MPIX_Waitall_enqueue(2 * SIDES, request, MPI_STATUSES_IGNORE));
}

static void make_persistent(const struct enq_lane *lane, MPI_Request request[])
{
    int other = 1 - enq.rank;

    for (int side = 0; side < SIDES; side++) {
        ENQ_OK(MPI_Recv_init(in[side].at, (int)size, MPI_BYTE, other, side,
                             lane->comm, &request[side]));
        ENQ_OK(MPI_Send_init(out[side].at, (int)size, MPI_BYTE, other, side,
                             lane->comm, &request[SIDES + side]));
    }
}

typedef void step_fn(const struct enq_lane *lane, MPI_Request request[]);

static const struct way {
    const char *name;
    step_fn *step, *make;
} ways[] = {{"single", step_single, NULL},
            {"group", step_group, NULL},
            {"persistent", step_persistent, make_persistent}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static const struct way *way;

/* What is counted of ways that are counted as a whole. */
__attribute__((noinline, visibility("default"))) void
counted_step(const struct enq_lane *lane, MPI_Request request[]);
void counted_step(const struct enq_lane *lane, MPI_Request request[])
{
    way->step(lane, request);
}

static void lap(const struct enq_lane *lane, MPI_Request request[],
                unsigned number)
{
    for (int side = 0; side < SIDES; side++) {
        enq_fill(&out[side], 1 + number + (unsigned)side);
        enq_wipe(&in[side]);
    }
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    phase_lap();
    counted_step(lane, request);
    enq_sync(lane);
    for (int side = 0; side < SIDES; side++)
        enq_expect(&in[side], size, 1 + number + (unsigned)side);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void steps(void)
{
    MPI_Request request[2 * SIDES];
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int side = 0; side < SIDES; side++) {
        enq_buffer_open(&out[side], size);
        enq_buffer_open(&in[side], size);
    }
    if (way->make)
        way->make(&lane, request);
    for (int i = 0; i < laps; i++)
        lap(&lane, request, (unsigned)i);
    phase_lap();
    for (int i = 0; way->make && i < 2 * SIDES; i++)
        ENQ_OK(MPI_Request_free(&request[i]));
    enq_lane_close(&lane);
    for (int side = 0; side < SIDES; side++) {
        enq_buffer_close(&out[side]);
        enq_buffer_close(&in[side]);
    }
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {{"steps", 2, steps}, {0}};

    CHECK(argc == 4);
    laps = atoi(argv[1]);
    size = (size_t)atol(argv[2]);
    for (unsigned i = 0; i < WAYS; i++)
        if (strcmp(argv[3], ways[i].name) == 0)
            way = &ways[i];
    CHECK(way);
    return enq_main(1, argv, "enq step_calls", cases);
}
