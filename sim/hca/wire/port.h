/* The wire of a device as packets: requests and answers of its engine on one
 * side, a medium on the other, and between them a flow for each QP that is
 * connected.
 *
 *   engine    wire.h    sender.h     --> outlet.h --> medium.h ---> peers
 *             <------>  receiver.h   <-- port.c   <--
 *
 * Under the lock of the engine, which calls in from mgds_hca_run. A device on a
 * medium shares no memory with others but the medium's, and has a lock of its
 * own. */
#ifndef MGDS_SIM_HCA_WIRE_PORT_H
#define MGDS_SIM_HCA_WIRE_PORT_H

#include "sim/hca/wire.h"
#include "sim/hca/wire/outlet.h"

struct mgds_hca_flow;

struct mgds_hca_port {
    struct mgds_hca *hca;
    struct mgds_hca_outlet outlet;
    struct mgds_hca_flow *current; /* whose packet is taken */
    struct mgds_hca_flow *busy; /* those with something to send or to await */
    uint64_t received;          /* packets */
    uint64_t ignored;           /* of those: no packet of ours, or for no QP */
};

/* The owner's; outlives the device. Faults: mgds_hca_outlet_disturb. */
void mgds_hca_port_init(struct mgds_hca_port *port,
                        const struct mgds_hca_medium *medium);
void mgds_hca_port_fini(struct mgds_hca_port *port);

/* For the config of the device; which is told to the port when it is there. */
struct mgds_hca_wire mgds_hca_port_wire(struct mgds_hca_port *port);
void mgds_hca_port_bind(struct mgds_hca_port *port, struct mgds_hca *hca);

/* When the device is to be run though nothing comes, on its clock; 0: never. */
uint64_t mgds_hca_port_due(const struct mgds_hca_port *port);

#endif
