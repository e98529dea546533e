/* The MPIX_ functions of include/mpix_gds.h. */
#include "mpix_gds.h"

#include "shim/gds/cuda/presence.h"
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
