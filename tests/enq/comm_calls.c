/*
 * What a stream communicator more or less costs among few of them, and among
 * many: comm_calls LAPS FEW MANY. A lap frees the one in the middle and makes
 * another one. The counting is done from outside (comm_instructions.py), lap by
 * lap.
 */
#include <stdlib.h>

#include "tests/enq/enq.h"

static int laps, few, many;

/* Where a dump of the counters begins. */
__attribute__((noinline, visibility("default"))) void phase_lap(void);
void phase_lap(void)
{
    __asm__ volatile("");
}

static void fill(MPI_Comm *comms, int from, int to, MPI_Comm like)
{
    for (int i = from; i < to; i++)
        ENQ_OK(MPI_Comm_dup(like, &comms[i]));
}

/* The last one comes to the place of the one that is freed. */
static void lap(MPI_Comm *comms, int count, MPI_Comm like)
{
    MPI_Comm *middle = &comms[count / 2];

    ENQ_OK(MPI_Barrier(MPI_COMM_WORLD));
    phase_lap();
    ENQ_OK(MPI_Comm_free(middle));
    *middle = comms[count - 1];
    ENQ_OK(MPI_Comm_dup(like, &comms[count - 1]));
}

static void make_and_free(void)
{
    MPI_Comm *comms = calloc((size_t)many, sizeof(MPI_Comm));
    struct enq_lane lane;

    CHECK(comms);
    enq_lane_open(&lane);
    fill(comms, 0, few, lane.comm);
    for (int i = 0; i < laps; i++)
        lap(comms, few, lane.comm);
    phase_lap();
    fill(comms, few, many, lane.comm);
    for (int i = 0; i < laps; i++)
        lap(comms, many, lane.comm);
    phase_lap();
    for (int i = 0; i < many; i++)
        ENQ_OK(MPI_Comm_free(&comms[i]));
    enq_lane_close(&lane);
    free(comms);
}

int main(int argc, char **argv)
{
    static const struct enq_case cases[] = {{"make_and_free", 2, make_and_free},
                                            {0}};

    CHECK(argc == 4);
    laps = atoi(argv[1]);
    few = atoi(argv[2]);
    many = atoi(argv[3]);
    CHECK(few > 1 && many > few);
    return enq_main(1, argv, "enq comm_calls", cases);
}
