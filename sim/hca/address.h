/* Where a QP's peer is, as programs say it. */
#ifndef MGDS_SIM_HCA_ADDRESS_H
#define MGDS_SIM_HCA_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_hca_gid {
    uint8_t raw[16];
};

/* Of an InfiniBand port the LID, which is that of its device, and a GID too if
 * `global`; of a RoCE port the GID alone, and LID 0. */
struct mgds_hca_address {
    uint16_t lid;
    bool global;
    struct mgds_hca_gid gid;
};

#endif
