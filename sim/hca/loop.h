/* A wire that ends in this process: between the QPs of devices that share it,
 * inside the call. It has no addresses, and so no datagrams: they fail as if
 * nobody answered. */
#ifndef MGDS_SIM_HCA_LOOP_H
#define MGDS_SIM_HCA_LOOP_H

#include "sim/hca/wire.h"

enum { MGDS_HCA_LOOP_DEVICES = 16 };

/* All zero has no device. The owner's, and outlives the devices. */
struct mgds_hca_loop {
    struct mgds_hca *device[MGDS_HCA_LOOP_DEVICES];
};

/* For the config of devices that are to share it. */
struct mgds_hca_wire mgds_hca_loop_wire(struct mgds_hca_loop *loop);

/* A device was created, or is about to be destroyed. -ENOSPC. */
int mgds_hca_loop_add(struct mgds_hca_loop *loop, struct mgds_hca *hca);
void mgds_hca_loop_drop(struct mgds_hca_loop *loop, const struct mgds_hca *hca);

#endif
