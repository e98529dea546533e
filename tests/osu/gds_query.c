/*
 * Preloaded by tests: answers as an mpix-gds of version 1.20.3 would, or, if
 * GDS_INERT is set, as one that is loaded but stays out of the way.
 */
#include <stdlib.h>

#include "mpix_gds.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int MPIX_Gds_query(int what, int64_t *value)
{
    if (what == MPIX_GDS_VERSION)
        *value = 12003;
    else if (what == MPIX_GDS_ACTIVE)
        *value = getenv("GDS_INERT") ? 0 : 1;
    else
        return MPI_ERR_ARG;
    return MPI_SUCCESS;
}
