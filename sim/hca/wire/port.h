/* The port of a device: its wire as packets. Requests and answers of its engine
 * on one side, the fabric on the other, and between them a flow for each QP
 * that is connected.
 *
 *   engine    wire.h    sender.h     --> outlet.h --> fabric.h ---> peers
 *             <------>  receiver.h   <-- port.c   <--
 *
 * What an owner does, in this order:
 *
 *   mgds_hca_port_create(&port, &attr)        a LID, in the folder of the job
 *   mgds_hca_port_add_gid(port, &gid)         its GIDs, which end in that LID
 *   config.wire = mgds_hca_port_wire(port)    mgds_hca_create(&hca, &config)
 *   mgds_hca_port_bind(port, hca)
 *   mgds_hca_run(hca)                         again and again: a step
 *   mgds_hca_destroy(hca)                     when all is detached
 *   mgds_hca_port_destroy(port)
 *
 * A device with several ports has one of these for each, and a wire that
 * chooses by the port of the QP (qp.h). A packet is for QPs of the port it
 * comes to.
 *
 * RTR brings the address of the peer, LID or GID (address.h), and its QPN; a
 * device reaches itself in the same way. Wrong ones are never answered: the
 * requester's retries are exceeded.
 *
 * Rest. When mgds_hca_run has nothing more to do, a thread may sleep until a
 * packet comes, for one port by mgds_hca_port_rest; or for several, together
 * with what else it waits for:
 *
 *   under the lock: mgds_hca_port_lie_down of each; one that says false has
 *                   packets: run it
 *   without:        ppoll of mgds_hca_port_socket of each for POLLIN, until
 *                   mgds_hca_port_due of any; doorbells wake nobody, so that a
 *                   program that may ring limits the time
 *   under the lock: mgds_hca_port_get_up of each; mgds_hca_run
 *
 * All calls are under the lock of the engine, which calls in from mgds_hca_run.
 * Devices with a lock each share nothing but the fabric. */
#ifndef MGDS_SIM_HCA_WIRE_PORT_H
#define MGDS_SIM_HCA_WIRE_PORT_H

#include "sim/hca/wire.h"
#include "sim/hca/wire/outlet.h"
#include "sim/hca/wire/pace.h"

struct mgds_hca_flow;

struct mgds_hca_port_attr {
    const char *folder; /* mgds_hca_registry_folder */
    uint16_t lid;       /* 0: the least that is free */
    uint64_t host;      /* mgds_host_number() */
    struct mgds_hca_speed speed;
    uint8_t number; /* of its device; 0: the first, 1 */
};

struct mgds_hca_port {
    struct mgds_hca *hca;
    struct mgds_hca_fabric *fabric;
    struct mgds_hca_outlet outlet;
    uint8_t number;
    struct mgds_hca_flow *current; /* whose packet is taken */
    struct mgds_hca_flow *busy; /* those with something to send or to await */
    struct mgds_hca_flow *last_busy;
    uint32_t flows;
    uint64_t received; /* packets */
    uint64_t ignored;  /* of those: no packet of ours, or for no QP */
};

/* Errors as mgds_hca_fabric_open; -ENOMEM. */
int mgds_hca_port_create(struct mgds_hca_port **out,
                         const struct mgds_hca_port_attr *attr);

/* The device is gone before. */
void mgds_hca_port_destroy(struct mgds_hca_port *port);

/* In a child that was forked, as its first call there and the last one of this
 * port: the device ends with the parent, though the child lives on. Safe in a
 * signal handler. */
void mgds_hca_port_forget(struct mgds_hca_port *port);

uint16_t mgds_hca_port_lid(const struct mgds_hca_port *port);

/* -ENOSPC: MGDS_HCA_GIDS are there; -EINVAL: it does not end in the LID. */
int mgds_hca_port_add_gid(struct mgds_hca_port *port,
                          const struct mgds_hca_gid *gid);

/* For the config of the device; which is told to the port when it is there. */
struct mgds_hca_wire mgds_hca_port_wire(struct mgds_hca_port *port);
void mgds_hca_port_bind(struct mgds_hca_port *port, struct mgds_hca *hca);

/* Faults from now on, by a text (fault.h), on a port that is bound; the seed is
 * different for each LID. A link that comes or goes is told (PORT_ERR,
 * PORT_ACTIVE). -EINVAL: *wrong is where the text is wrong, and nothing
 * changes; -ENOMEM. A file of such texts: control.h. */
int mgds_hca_port_disturb(struct mgds_hca_port *port, const char *text,
                          const char **wrong);

/* It is active: its link is not cut. */
bool mgds_hca_port_up(const struct mgds_hca_port *port);

/* When the device is to be run though nothing comes, on its clock; 0: never. */
uint64_t mgds_hca_port_due(const struct mgds_hca_port *port);

/* Packets that have come are lost: there is no device, or not yet. */
void mgds_hca_port_discard(struct mgds_hca_port *port);

/* As above. */
bool mgds_hca_port_lie_down(struct mgds_hca_port *port);
int mgds_hca_port_socket(const struct mgds_hca_port *port);
void mgds_hca_port_get_up(struct mgds_hca_port *port);

/* Sleeps until a packet comes or something is due, for so many nanoseconds at
 * most, and no longer than MGDS_HCA_REST. The clock is the machine's. */
void mgds_hca_port_rest(struct mgds_hca_port *port, uint64_t ns);

#endif
