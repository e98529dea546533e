/* The MPIX_ functions of mpix_table.def. */
#include "mpix_gds.h"

#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/aware.h"
#include "shim/pmpi/process.h"

/* Exports MPIX_<name> and makes PMPIX_<name> the same function. */
#define MGDS_EXPORT __attribute__((visibility("default")))
#define MGDS_PMPIX(name)                                                       \
    extern __typeof__(MPIX_##name) PMPIX_##name MGDS_EXPORT                    \
        __attribute__((alias("MPIX_" #name)))

static int64_t version(void)
{
    return MPIX_GDS_VERSION_MAJOR * 10000 + MPIX_GDS_VERSION_MINOR * 100 +
           MPIX_GDS_VERSION_PATCH;
}

MGDS_EXPORT int MPIX_Gds_query(int what, int64_t *value)
{
    if (!value)
        return MPI_ERR_ARG;
    switch (what) {
    case MPIX_GDS_VERSION:
        *value = version();
        return MPI_SUCCESS;
    case MPIX_GDS_ACTIVE:
        *value = mgds_process()->active;
        return MPI_SUCCESS;
    case MPIX_GDS_CUDA:
        *value = mgds_presence_scan();
        return MPI_SUCCESS;
    default:
        return MPI_ERR_ARG;
    }
}
MGDS_PMPIX(Gds_query);

MGDS_EXPORT int MPIX_Query_cuda_support(void)
{
    return mgds_aware_can_stage() || mgds_aware_cuda_below();
}
MGDS_PMPIX(Query_cuda_support);

MGDS_EXPORT int MPIX_GPU_query_support(int gpu_type, int *is_supported)
{
    if (!is_supported)
        return MPI_ERR_ARG;
    if (gpu_type != MPIX_GPU_SUPPORT_CUDA || !mgds_aware_can_stage())
        return mgds_aware_gpu_below(gpu_type, is_supported);
    *is_supported = 1;
    return MPI_SUCCESS;
}
MGDS_PMPIX(GPU_query_support);
