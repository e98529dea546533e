/* What the queries for GPU support answer: the argument, 0 or 1. */
#include <stdlib.h>

#include "tests/mpi/gpu/gpu_case.h"

int main(int argc, char **argv)
{
    int wanted, cuda = -1, hip = -1;

    wanted = argc > 1 ? atoi(argv[1]) : -1;
    /* MPICH 4.0.2 ends a process that asks it before MPI_Init. */
    if (wanted)
        CHECK(MPIX_Query_cuda_support() == wanted);
    gpu_begin(&argc, &argv);
    CHECK(MPIX_Query_cuda_support() == wanted);
    CHECK(PMPIX_Query_cuda_support() == wanted);
    CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &cuda) == MPI_SUCCESS);
    CHECK(MPIX_GPU_query_support(MPIX_GPU_SUPPORT_HIP, &hip) == MPI_SUCCESS);
    CHECK(cuda == wanted && hip == 0);
    gpu_end("queries");
    return 0;
}
