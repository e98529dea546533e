/* The network of a job: devices in processes and hosts of one machine, found in
 * a folder (registry.h) by LID or GID, which packets reach by one of two media.
 *
 *   same host    memory that both map      lanes.h
 *   other hosts  sockets                   mail.h
 *
 * What a host is, is a number: MPIX_SIM_HOST makes several on one machine
 * (shim/base/host.h), and memory is not shared between them. Who connects to a
 * LID that nobody has, or whose owner died, loses what it sends.
 *
 * GIDs end in two bytes that are the LID of their device, big-endian: that is
 * how they are found, in one step. All 16 bytes have to be right then.
 *
 * Under the lock of the device. */
#ifndef MGDS_SIM_HCA_WIRE_FABRIC_H
#define MGDS_SIM_HCA_WIRE_FABRIC_H

#include <stddef.h>
#include <stdint.h>

#include "sim/hca/address.h"
#include "sim/hca/wire/inbox.h"
#include "sim/hca/wire/lanes.h"
#include "sim/hca/wire/mail.h"
#include "sim/hca/wire/medium.h"

enum mgds_hca_carrier { MGDS_CARRIER_LANES, MGDS_CARRIER_MAIL, MGDS_CARRIERS };

struct mgds_hca_fabric {
    char folder[MGDS_HCA_FOLDER];
    int directory;
    int file; /* ours, locked */
    uint16_t lid;
    struct mgds_hca_inbox *inbox;
    struct mgds_hca_lanes lanes;
    struct mgds_hca_mail mail;
    struct mgds_hca_medium medium[MGDS_CARRIERS];
    unsigned turn; /* whose packet comes next, if it has one */
    struct mgds_hca_link link[MGDS_HCA_LIDS + 1];
};

/* A device there, on a host of that number, with a LID that is free: the least,
 * or this one if it is not 0. -EADDRINUSE: it is not; -EADDRNOTAVAIL: none is;
 * -EPERM: the folder is another user's, or open to others; -ENOSPC, -ENOMEM and
 * what else open, mmap and bind say. */
int mgds_hca_fabric_open(struct mgds_hca_fabric **out, const char *folder,
                         uint16_t lid, uint64_t host);

/* Removes the file, those of the dead, and the folder when it is empty. */
void mgds_hca_fabric_close(struct mgds_hca_fabric *fabric);

/* In a child that was forked: nothing of it outlives the parent. The fabric is
 * of no use there any more. Calls nothing that is not safe in a signal handler.
 */
void mgds_hca_fabric_forget(struct mgds_hca_fabric *fabric);

/* The LID that an address names, whoever has it. */
uint16_t mgds_hca_fabric_lid_of(const struct mgds_hca_address *address);

/* The LID of who is there, and the way there is open; 0: nobody. */
uint16_t mgds_hca_fabric_find(struct mgds_hca_fabric *fabric,
                              const struct mgds_hca_address *address);

/* False: no room now. A packet to a LID that was not found is lost. */
bool mgds_hca_fabric_send(struct mgds_hca_fabric *fabric, uint16_t lid,
                          const struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload);

/* What was sent wakes who rests: at the end of a step. */
void mgds_hca_fabric_flush(struct mgds_hca_fabric *fabric);

/* As that of a medium. */
bool mgds_hca_fabric_receive(struct mgds_hca_fabric *fabric,
                             struct mgds_hca_packet *packet,
                             struct mgds_hca_list *payload);

/* False: packets are there. True: the device rests, and the first packet makes
 * the socket of the mailbox readable. */
bool mgds_hca_fabric_lie_down(struct mgds_hca_fabric *fabric);
void mgds_hca_fabric_get_up(struct mgds_hca_fabric *fabric);

#endif
