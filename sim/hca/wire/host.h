/* A medium between devices of one host, in shared memory: each device has an
 * inbox (inbox.h) in a file of its own (registry.h), and each sender a lane
 * there (lane.h). A full lane delays. Who connects to a LID that nobody has, or
 * whose owner died, loses what it sends.
 *
 * Under the lock of the device. */
#ifndef MGDS_SIM_HCA_WIRE_HOST_H
#define MGDS_SIM_HCA_WIRE_HOST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/hca/wire/inbox.h"
#include "sim/hca/wire/lane.h"
#include "sim/hca/wire/medium.h"

struct mgds_hca_host {
    char folder[MGDS_HCA_FOLDER];
    int directory;
    int file; /* ours, locked */
    uint16_t lid;
    struct mgds_hca_inbox *inbox;
    struct mgds_hca_lane_end end[MGDS_HCA_LIDS + 1];
    uint16_t sender[MGDS_HCA_LIDS]; /* those that have a lane in use */
    unsigned senders;
    unsigned turn;  /* the one that is taken from */
    unsigned taken; /* in this turn */
    struct mgds_hca_link link[MGDS_HCA_LIDS + 1];
};

/* A device there, with a LID that is free: the least, or this one if it is not
 * 0. -EADDRINUSE: it is not; -EADDRNOTAVAIL: none is; -EPERM: the folder is
 * another user's, or open to others; -ENOSPC, -ENOMEM and what else open and
 * mmap say. */
int mgds_hca_host_open(struct mgds_hca_host **out, const char *folder,
                       uint16_t lid);

/* Removes the file, those of the dead, and the folder when it is empty. The
 * device is gone before. */
void mgds_hca_host_close(struct mgds_hca_host *host);

/* For mgds_hca_port_init. */
struct mgds_hca_medium mgds_hca_host_medium(struct mgds_hca_host *host);

/* Sleeps until a packet comes, for so many nanoseconds at most. */
void mgds_hca_host_rest(struct mgds_hca_host *host, uint64_t ns);

#endif
