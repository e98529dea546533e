/* What connects the devices of this process with each other, and with those of
 * other processes of the host. A request goes to a device of this process
 * inside the call, without a copy; to any other one as packets
 * (sim/hca/wire/port.h). */
#ifndef MGDS_HCA_FABRIC_H
#define MGDS_HCA_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire.h"

struct mgds_hca;

/* Takes a number for each device, at the first call by any thread. False: that
 * cannot be had, which one line has told. */
bool mgds_hca_fabric_join(void);

/* False: this process was forked from the one that has joined. */
bool mgds_hca_fabric_ours(void);

/* The number of a device on the fabric (address.h). */
uint16_t mgds_hca_fabric_number(unsigned index);

/* Under the lock. */

/* For the config of a device; which is told here when it is there, and before
 * it goes (NULL). */
struct mgds_hca_wire mgds_hca_fabric_wire(unsigned index);
void mgds_hca_fabric_bind(unsigned index, struct mgds_hca *engine);

/* Gives the numbers back. No engine runs any more. */
void mgds_hca_fabric_leave(void);

#endif
