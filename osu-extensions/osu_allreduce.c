/* The sum of what all ranks have, at all of them. */
#include "osu-extensions/collective.h"

int main(int argc, char **argv)
{
    return mgds_bench_collective_main(argc, argv, "osu_allreduce",
                                      "OSU MPI%s Allreduce Latency Test",
                                      &mgds_bench_allreduce);
}
