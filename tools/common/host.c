/* The identity of a host, as simulations have it. */
#include "tools/common/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/base/host.h"

int mgds_host_identify(char *host, size_t size)
{
    const char *simulated = getenv("MPIX_SIM_HOST");
    int length;

    if (!simulated || !simulated[0])
        return mgds_host_name(host, size);
    length = snprintf(host, size, "%s", simulated);
    return (size_t)length < size ? 0 : -ENAMETOOLONG;
}
