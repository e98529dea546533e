/*
 * The pointer test: libraries that come and go, and a libcuda that comes late,
 * between MPI calls. Arguments: a plug-in to load and unload, and a file that
 * is called libcuda.so.1 (an empty library will do).
 */
#include <dlfcn.h>
#include <stdint.h>

#include "mpix_gds.h"
#include "tests/lib/mpi_check.h"

extern __typeof__(MPIX_Gds_query) MPIX_Gds_query __attribute__((weak));

enum { LAPS = 50 };

static int64_t cuda_in_process(void)
{
    int64_t value = -1;

    CHECK(MPIX_Gds_query(MPIX_GDS_CUDA, &value) == MPI_SUCCESS);
    return value;
}

static void talk_to_self(void)
{
    int out = 42, in = 0;

    MPI_Sendrecv(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    CHECK(in == out);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(argc == 3 && MPIX_Gds_query);
    for (int lap = 0; lap < LAPS; lap++) {
        void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

        CHECK(plugin);
        if (lap % 2)
            talk_to_self();
        CHECK(!dlclose(plugin));
        talk_to_self();
    }
    CHECK(cuda_in_process() == 0);
    CHECK(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL));
    talk_to_self();
    CHECK(cuda_in_process() == 1);
    MPI_Finalize();
    if (rank == 0)
        puts("presence: all well");
    return 0;
}
