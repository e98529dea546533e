/* The MPIX_ functions of mpix_table.def. */
#include "mpix_gds.h"

#include <stddef.h>
#include <string.h>

#include "shim/base/stats.h"
#include "shim/gds/cuda/presence.h"
#include "shim/pmpi/aware.h"
#include "shim/pmpi/process.h"
#include "shim/pmpi/seen.h"

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

/* Counters, by index: those of stats.def, then those of functions. */
enum { COUNTERS = MGDS_STAT_COUNT + MGDS_SEEN_CALLS };

static const char *counter_name(int index)
{
    return index < MGDS_STAT_COUNT ? mgds_stats_name((enum mgds_stat)index)
                                   : mgds_seen_names[index - MGDS_STAT_COUNT];
}

static const char *counter_meaning(int index)
{
    return index < MGDS_STAT_COUNT ? mgds_stats_meaning((enum mgds_stat)index)
                                   : "";
}

/* COUNTERS: none. */
static int counter_named(const char *name)
{
    int index = 0;

    while (index < COUNTERS && strcmp(counter_name(index), name) != 0)
        index++;
    return index;
}

MGDS_EXPORT int MPIX_Gds_counter(int index, const char **name,
                                 const char **meaning, int64_t *value)
{
    if (index == MPIX_GDS_COUNTER_NAMED) {
        if (!name || !*name)
            return MPI_ERR_ARG;
        index = counter_named(*name);
        name = NULL;
    }
    if (index < 0 || index >= COUNTERS)
        return MPI_ERR_ARG;
    if (name)
        *name = counter_name(index);
    if (meaning)
        *meaning = counter_meaning(index);
    if (value)
        *value = (int64_t)mgds_stats_value((unsigned)index);
    return MPI_SUCCESS;
}
MGDS_PMPIX(Gds_counter);

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
