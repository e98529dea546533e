/* What users may set of how ports are chosen and queue pairs are connected:
 * MPIX_GDS_IB_* of shim/base/config.def. */
#ifndef MGDS_HCA_SETTINGS_H
#define MGDS_HCA_SETTINGS_H

#include "shim/base/config.h"

enum { MGDS_GID_ANY = 256 }; /* for gid_index: the first row of the type */

struct mgds_rail_settings {
    unsigned pkey; /* 0: the first of the port that is a full member's */
    unsigned gid_index;
    enum mgds_gid_type gid_type;
    unsigned traffic_class;
    unsigned service_level;
    unsigned timeout; /* of an answer: 4.096 us * 2^this */
    unsigned retries;
    unsigned rnr_retries; /* 7: for ever */
    unsigned mtu;         /* bytes; 0: as the port has it */
};

void mgds_rail_settings_take(struct mgds_rail_settings *out,
                             const struct mgds_config *config);

#endif
