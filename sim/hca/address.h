/* Where a QP's peer is, as programs say it: in RTR, or in each WQE. */
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

/* An address vector, of a WQE of UD or of a DCI. */
struct mgds_hca_av {
    struct mgds_hca_address address;
    uint32_t qpn;
    uint32_t qkey;   /* UD */
    uint64_t dc_key; /* DCI: that of the DCT */
    uint32_t flow_label;
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint8_t gid_index; /* of the sender's GID */
    uint8_t sl;
};

/* What a datagram brings along beside its payload. */
enum { MGDS_HCA_GRH = 40 };

struct mgds_hca_datagram {
    uint32_t qkey;
    uint16_t lid; /* of the sender; RoCE: 0 */
    uint8_t sl;   /* RoCE: the kind of its header, as CQEs have it */
    bool global;  /* there is a GRH */
    uint8_t grh[MGDS_HCA_GRH];
};

#endif
