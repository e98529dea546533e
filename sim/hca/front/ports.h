/* The ports of the devices of this process, from 1 on. A request to a device of
 * this process is done inside the call, without a copy; one to any other device
 * goes as packets (sim/hca/wire/port.h). */
#ifndef MGDS_HCA_PORTS_H
#define MGDS_HCA_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire.h"
#include "sim/hca/wire/outlet.h"

struct mgds_hca;

/* How many each device has. */
unsigned mgds_hca_ports(void);

/* All of them are made, at the first call by any thread. False: they cannot
 * be had, which one line has told. */
bool mgds_hca_ports_open(void);

/* False: this process was forked from the one that has them. */
bool mgds_hca_ports_ours(void);

/* In a child that was forked: the ports end with the parent. False: there are
 * none, and the child may have its own. Safe in a signal handler. */
bool mgds_hca_ports_forget(void);

/* The number of a port in its network (gid.h). */
uint16_t mgds_hca_port_number(unsigned device, unsigned port);

/* Without the lock: sleeps until a packet comes, for so many nanoseconds at
 * most. Between the next two. */
void mgds_hca_ports_sleep(uint64_t ns);

/* Under the lock. */

/* False: packets are there. */
bool mgds_hca_ports_lie_down(void);
void mgds_hca_ports_get_up(void);

/* For the config of a device; which is told here when it is there, and before
 * it goes (NULL). */
struct mgds_hca_wire mgds_hca_ports_wire(unsigned index);
void mgds_hca_ports_bind(unsigned index, struct mgds_hca *engine);

/* Looks whether the file of faults has changed (MPIX_SIM_HCA_CONTROL). */
void mgds_hca_ports_control(void);

/* A count (enum mgds_hca_count) of a port, which may be any. */
uint64_t mgds_hca_ports_count(unsigned device, unsigned port, unsigned what);

/* Its link is not cut by a fault; nor will it be, where the device is not open.
 */
bool mgds_hca_ports_up(unsigned device, unsigned port);

/* Gives the numbers back. No engine runs any more. */
void mgds_hca_ports_close(void);

#endif
