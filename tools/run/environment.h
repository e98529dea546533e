/* The environment under which mpix-gds-run starts the program. */
#ifndef MGDS_RUN_ENVIRONMENT_H
#define MGDS_RUN_ENVIRONMENT_H

#include <stddef.h>

#include "tools/common/place.h"
#include "tools/run/options.h"

/* Changes this process's environment to the one that options ask for:
 * LD_PRELOAD, CUDA_DEVICE_MAX_CONNECTIONS, and for simulation LD_LIBRARY_PATH,
 * MPIX_SIM_* and UCX_IB_MLX5_DEVX. Whatever the user had set there stays,
 * behind ours. Returns 0, or a negative errno with one line in text (size
 * bytes) that names what is wrong and the remedy. */
int mgds_run_environment_set(const struct mgds_run_options *options,
                             const struct mgds_place *place, char *text,
                             size_t size);

#endif
