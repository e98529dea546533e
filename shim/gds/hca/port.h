/* Ports of the RDMA devices of this machine, from sysfs alone: no device is
 * opened, so this costs little where there are many, and needs no library. */
#ifndef MGDS_HCA_PORT_H
#define MGDS_HCA_PORT_H

#include <stdbool.h>

#include "shim/gds/hca/pci.h"

enum mgds_link {
    MGDS_LINK_OTHER,
    MGDS_LINK_INFINIBAND,
    MGDS_LINK_ETHERNET /* RoCE */
};

enum { MGDS_DEVICE_NAME = 64 };

struct mgds_port {
    char device[MGDS_DEVICE_NAME]; /* mlx5_0 */
    unsigned number;               /* from 1 */
    enum mgds_link link;
    bool active;
    bool connectx; /* the device is of NVIDIA's, or of Mellanox' */
    unsigned rate; /* Gb/s */
    struct mgds_pci pci;
};

/* How many there are, in the order of their names, in memory that is given back
 * with free(); or -ENOMEM. sysfs is "/sys". */
int mgds_ports_list(struct mgds_port **out, const char *sysfs);

#endif
