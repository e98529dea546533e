/* One rank's block, at all of them. */
#include "osu-extensions/collective.h"

int main(int argc, char **argv)
{
    return mgds_bench_collective_main(argc, argv, "osu_bcast",
                                      "OSU MPI%s Broadcast Latency Test",
                                      &mgds_bench_bcast);
}
