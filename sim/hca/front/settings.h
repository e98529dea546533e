/* The MPIX_SIM_HCA_* table. settings.c alone reads the environment for the
 * software ConnectX. */
#ifndef MGDS_HCA_SETTINGS_H
#define MGDS_HCA_SETTINGS_H

#include "shim/base/config.h"

enum { MGDS_HCA_DEVICES = 16, MGDS_HCA_PORTS = 2 /* of a device */ };

/* Rows of models.def. */
enum mgds_hca_model {
#define X(name, ...) MGDS_HCA_MODEL_##name,
#include "sim/hca/front/models.def"
#undef X
};
extern const char *const mgds_hca_model_names[];

enum mgds_hca_link_layer { MGDS_HCA_LINK_IB, MGDS_HCA_LINK_ROCE };
extern const char *const mgds_hca_link_layer_names[];

/* Rows of distance.c. */
enum mgds_hca_distance {
    MGDS_HCA_DISTANCE_NONE,
    MGDS_HCA_DISTANCE_PIX,
    MGDS_HCA_DISTANCE_PXB,
    MGDS_HCA_DISTANCE_PHB,
    MGDS_HCA_DISTANCE_NODE,
    MGDS_HCA_DISTANCE_SYS,
    MGDS_HCA_DISTANCES
};
extern const char *const mgds_hca_distance_names[];

struct mgds_hca_settings {
#define X(kind, field, ...) MGDS_CONFIG_FIELD(kind, field)
#include "sim/hca/front/hca.def"
#undef X
};

extern const struct mgds_config_table mgds_hca_settings_table;

/* Read once, at the first call, from any thread; a bad value or unknown name
 * gets one line then. Never NULL. */
const struct mgds_hca_settings *mgds_hca_settings(void);

/* Where temporary files go: TMPDIR, or /tmp. */
const char *mgds_hca_temporary(void);

/* Where files go that processes of the user share: XDG_RUNTIME_DIR, or NULL. */
const char *mgds_hca_runtime(void);

#endif
