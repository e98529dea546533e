/* A host is one string; ranks with equal strings share memory. */
#ifndef MGDS_TOOLS_HOST_H
#define MGDS_TOOLS_HOST_H

#include <stddef.h>

/* MPIX_SIM_HOST if that is set, else the host's name (shim/base/host.h). 0 or
 * negative errno. */
int mgds_host_identify(char *host, size_t size);

#endif
