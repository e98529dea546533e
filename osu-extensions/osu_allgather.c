/* The block of each rank, at all of them. */
#include "osu-extensions/collective.h"

int main(int argc, char **argv)
{
    return mgds_bench_collective_main(argc, argv, "osu_allgather",
                                      "OSU MPI%s Allgather Latency Test",
                                      &mgds_bench_allgather);
}
