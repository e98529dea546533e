/*
 * Steps of a one-dimensional exchange, for what the calls cost: two receives,
 * two sends and one wait for them, of SIZE bytes each: step_calls LAPS SIZE.
 * The counting is done from outside (step_instructions.py), lap by lap.
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
static void exchange(const struct enq_lane *lane, MPI_Request request[])
{
    int other = 1 - enq.rank;

    for (int side = 0; side < SIDES; side++)
        enq_irecv(lane, &in[side], other, side, &request[side]);
    for (int side = 0; side < SIDES; side++)
        enq_isend(lane, &out[side], other, side, &request[SIDES + side]);
    goes_by_ring(request[SIDES]);
    enq_waitall(2 * SIDES, request);
}

static void lap(const struct enq_lane *lane, unsigned number)
{
    MPI_Request request[2 * SIDES];

    for (int side = 0; side < SIDES; side++) {
        enq_fill(&out[side], 1 + number + (unsigned)side);
        enq_wipe(&in[side]);
    }
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    phase_lap();
    exchange(lane, request);
    enq_sync(lane);
    for (int side = 0; side < SIDES; side++)
        enq_expect(&in[side], size, 1 + number + (unsigned)side);
    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void steps(void)
{
    struct enq_lane lane;

    enq_lane_open(&lane);
    for (int side = 0; side < SIDES; side++) {
        enq_buffer_open(&out[side], size);
        enq_buffer_open(&in[side], size);
    }
    for (int i = 0; i < laps; i++)
        lap(&lane, (unsigned)i);
    phase_lap();
    enq_lane_close(&lane);
    for (int side = 0; side < SIDES; side++) {
        enq_buffer_close(&out[side]);
        enq_buffer_close(&in[side]);
    }
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {{"steps", 2, steps}, {0}};

    CHECK(argc == 3);
    laps = atoi(argv[1]);
    size = (size_t)atol(argv[2]);
    return enq_main(1, argv, "enq step_calls", cases);
}
