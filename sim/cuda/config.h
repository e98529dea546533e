/* The MPIX_SIM_* table of the software GPU. config.c alone reads the
 * environment. */
#ifndef MGDS_SIM_CONFIG_H
#define MGDS_SIM_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_gpu_config {
#define MGDS_FIELD_uint uint64_t
#define MGDS_FIELD_bool bool
#define MGDS_FIELD__Bool bool
#define MGDS_FIELD_string const char *
#define X(kind, field, ...) MGDS_FIELD_##kind field;
#include "sim/cuda/sim.def"
#undef X
    uint64_t rank;        /* of the launcher, 0 without one */
    uint64_t connections; /* CUDA_DEVICE_MAX_CONNECTIONS, default 8 */
    /* physical number of each visible device (CUDA_VISIBLE_DEVICES) */
    unsigned visible[16];
    unsigned visible_count;
    char identity[256]; /* the host as one string */
};

/* Fills cfg; a bad value gets one line and its default. */
void mgds_gpu_config_load(struct mgds_gpu_config *cfg);

#endif
