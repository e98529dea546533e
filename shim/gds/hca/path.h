/* The way from a rail to a port of a peer's, as verbs has it. */
#ifndef MGDS_HCA_PATH_H
#define MGDS_HCA_PATH_H

#include "shim/gds/hca/rail_state.h"

struct ibv_ah_attr mgds_path_to(const struct mgds_rail *rail,
                                const struct mgds_end_rail *peer);

#endif
