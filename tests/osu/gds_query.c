/*
 * Preloaded by tests: answers as an mpix-gds of version 1.20.3 would, or, if
 * GDS_INERT is set, as one that is loaded but stays out of the way.
 */
#include <stdint.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int MPIX_Gds_query(int what,
                                                          int64_t *value);

int MPIX_Gds_query(int what, int64_t *value)
{
    if (what != 0 || getenv("GDS_INERT"))
        return 16; /* any error class */
    *value = 12003;
    return 0;
}
