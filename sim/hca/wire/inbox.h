/* An inbox: what a device shows to the devices of its job. Words, and a lane
 * for each LID, in one file that takes memory only for lanes that are in use.
 *
 *   word      who writes it
 *   magic     the owner, when all but gids is there; 0: it has gone, which also
 *             who removes the file of a dead owner writes (registry.h)
 *   host      the owner: the number of its host
 *   gids      the owner: how many of `gid` are there, which never change
 *   senders   a bit for each lane: its sender sets it, and never clears it
 *   joined    a sender that has set its bit adds 1
 *   resting   the owner: 1 while it sleeps, or is about to
 *   flows     the owner: how many QPs hear packets; 0: nobody answers any
 *   rounds    the owner adds 1 when it has looked for packets and has sent what
 *             it had to say to them
 *
 * Devices of another host read these words to find the device, as if a subnet
 * manager told them; they write none, and no packet of theirs comes this way.
 *
 * No packet is slept over. The owner exchanges `resting` for 1 and then looks
 * at the lanes for the last time; a sender publishes its packets and then adds
 * 0 to `resting`. One of these two comes first, and the other one sees what was
 * before it: the owner the packets, or the sender that the owner rests; then it
 * puts a datagram into its mailbox (mail.h), which it does not sleep over. A
 * sender that dies between is made up for by the next one, or by the end of a
 * rest, which is no longer than MGDS_HCA_REST. */
#ifndef MGDS_SIM_HCA_WIRE_INBOX_H
#define MGDS_SIM_HCA_WIRE_INBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/address.h"
#include "sim/hca/wire/lane.h"
#include "sim/hca/wire/registry.h"

enum {
    MGDS_HCA_REST = 100 * 1000000, /* ns */
    MGDS_HCA_SENDER_SETS = (MGDS_HCA_LIDS + 64) / 64,
    MGDS_HCA_GIDS = 8
};

struct mgds_hca_inbox {
    uint32_t magic;
    uint32_t gids;
    uint64_t host;
    struct mgds_hca_gid gid[MGDS_HCA_GIDS];
    _Alignas(64) uint64_t senders[MGDS_HCA_SENDER_SETS];
    uint32_t joined;
    _Alignas(64) uint32_t resting;
    _Alignas(64) uint32_t rounds;
    uint32_t flows;
};

/* An inbox in an empty file. -ENOSPC, -ENOMEM or the like. */
int mgds_hca_inbox_make(int file, uint64_t host, struct mgds_hca_inbox **out);

/* Somebody's inbox. -ENXIO: there is none in this file. */
int mgds_hca_inbox_open(int file, struct mgds_hca_inbox **out);
void mgds_hca_inbox_close(struct mgds_hca_inbox *inbox);

/* The owner is still there, as far as is known. */
bool mgds_hca_inbox_alive(const struct mgds_hca_inbox *inbox);

/* One GID more: -ENOSPC. */
int mgds_hca_inbox_add_gid(struct mgds_hca_inbox *inbox,
                           const struct mgds_hca_gid *gid);

/* Its place among the GIDs of the owner, or -1. */
int mgds_hca_inbox_find_gid(const struct mgds_hca_inbox *inbox,
                            const struct mgds_hca_gid *gid);

struct mgds_hca_lane *mgds_hca_inbox_lane(struct mgds_hca_inbox *inbox,
                                          uint16_t lid);

/* Takes memory for the lane of a LID, so that no store fails later, and tells
 * its owner of it. -ENOSPC or the like. */
int mgds_hca_inbox_use_lane(struct mgds_hca_inbox *inbox, int file,
                            uint16_t lid);

/* Packets were published: the owner rests, and is to be woken. */
bool mgds_hca_inbox_sleeps(struct mgds_hca_inbox *inbox);

/* How many senders have joined; each is seen in `senders`. */
uint32_t mgds_hca_inbox_joined(const struct mgds_hca_inbox *inbox);

/* The owner has gone around once more; its flows are so many. */
void mgds_hca_inbox_go_around(struct mgds_hca_inbox *inbox);
void mgds_hca_inbox_set_flows(struct mgds_hca_inbox *inbox, uint32_t flows);

/* The same words, for those that wait for an answer. */
uint32_t mgds_hca_inbox_rounds(const struct mgds_hca_inbox *inbox);
uint32_t mgds_hca_inbox_flows(const struct mgds_hca_inbox *inbox);

/* The owner is about to sleep, or was woken. */
void mgds_hca_inbox_lie_down(struct mgds_hca_inbox *inbox);
void mgds_hca_inbox_get_up(struct mgds_hca_inbox *inbox);

#endif
