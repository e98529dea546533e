/* A rail, as the files of this folder know it. */
#ifndef MGDS_HCA_RAIL_STATE_H
#define MGDS_HCA_RAIL_STATE_H

#include "shim/gds/hca/rail.h"
#include "shim/gds/hca/verbs.h"

struct mgds_rail {
    const struct mgds_verbs *verbs;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct mgds_rail_settings settings;
    struct mgds_end_rail address; /* without a QP */
    uint16_t pkey_index;
    uint8_t gid_index;
    uint8_t port;
};

/* As mgds_rail_open, by this table, which outlives the rail. */
int mgds_rail_open_by(struct mgds_rail **out, const struct mgds_verbs *verbs,
                      const struct mgds_port *port,
                      const struct mgds_rail_settings *settings,
                      struct mgds_refusal *refusal);

#endif
