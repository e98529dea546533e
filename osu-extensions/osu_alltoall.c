/* A block from each rank to each. */
#include "osu-extensions/collective.h"

int main(int argc, char **argv)
{
    return mgds_bench_collective_main(
        argc, argv, "osu_alltoall",
        "OSU MPI%s All-to-All Personalized Exchange Latency Test",
        &mgds_bench_alltoall);
}
