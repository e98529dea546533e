/* The MPIX_SIM_* table of the software GPU. config.c alone reads the
 * environment for the software GPU. */
#ifndef MGDS_SIM_CONFIG_H
#define MGDS_SIM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/base/config.h"

/* The readers whose loads find an HCA's writes in their order. */
enum mgds_gpu_ordering {
    MGDS_GPU_ORDERING_NONE,
    MGDS_GPU_ORDERING_OWNER,
    MGDS_GPU_ORDERING_ALL
};
extern const char *const mgds_gpu_ordering_names[];

struct mgds_gpu_config {
#define X(kind, field, ...) MGDS_CONFIG_FIELD(kind, field)
#include "sim/cuda/sim.def"
#undef X
    uint64_t rank;        /* of the launcher, 0 without one */
    uint64_t connections; /* CUDA_DEVICE_MAX_CONNECTIONS, default 8 */
    /* physical number of each visible device (CUDA_VISIBLE_DEVICES) */
    unsigned visible[16];
    unsigned visible_count;
    char identity[256]; /* the host as one string */
};

extern const struct mgds_config_table mgds_gpu_config_table;

/* Fills cfg; a bad value or unknown name gets one line. 0 or -ENOMEM. */
int mgds_gpu_config_load(struct mgds_gpu_config *cfg);

#endif
