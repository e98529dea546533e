/* An inbox: what a device shows to those that send to it. Words, and a lane for
 * each LID, in one file that takes memory only for lanes that are in use.
 *
 *   word      who writes it
 *   magic     the owner, when the file has its size
 *   senders   a bit for each lane: its sender sets it, and never clears it
 *   resting   the owner: 1 while it sleeps, or is about to
 *   bell      a sender that finds the owner resting adds 1, then wakes it
 *
 * No packet is slept over. The owner reads `bell`, stores `resting`, and then
 * looks at the lanes for the last time; a sender publishes its packet and then
 * looks at `resting`; all four accesses are sequentially consistent. Either the
 * owner sees the packet, or the sender sees it rest and adds to the bell, and
 * the owner does not fall asleep on a bell that has changed. A sender that dies
 * between the two steps of a ring is made up for by the next one, or by the end
 * of a rest, which is no longer than MGDS_HCA_REST. */
#ifndef MGDS_SIM_HCA_WIRE_INBOX_H
#define MGDS_SIM_HCA_WIRE_INBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sim/hca/wire/lane.h"
#include "sim/hca/wire/registry.h"

enum { MGDS_HCA_REST = 100 * 1000000 /* ns */ };

enum { MGDS_HCA_SENDER_SETS = (MGDS_HCA_LIDS + 64) / 64 };

struct mgds_hca_inbox {
    uint32_t magic;
    _Alignas(64) uint64_t senders[MGDS_HCA_SENDER_SETS];
    _Alignas(64) uint32_t resting;
    uint32_t bell;
};

/* Where a device takes our packets. */
struct mgds_hca_link {
    struct mgds_hca_inbox *inbox; /* NULL: nobody is there */
    struct mgds_hca_lane *lane;
    ino_t file;
};

/* An inbox in an empty file. -ENOSPC, -ENOMEM or the like. */
int mgds_hca_inbox_map(int file, struct mgds_hca_inbox **out);
void mgds_hca_inbox_unmap(struct mgds_hca_inbox *inbox);

struct mgds_hca_lane *mgds_hca_inbox_lane(struct mgds_hca_inbox *inbox,
                                          uint16_t lid);

/* Opens our lane there, and takes memory for it, so that no store fails later.
 * -ENXIO: no inbox; -ENOSPC, -ENOMEM or the like. */
int mgds_hca_link_open(struct mgds_hca_link *link, int file, uint16_t lid);
void mgds_hca_link_close(struct mgds_hca_link *link);

/* Wakes the owner if it rests: a packet was published. */
void mgds_hca_inbox_ring(struct mgds_hca_inbox *inbox);

/* The owner is about to sleep: the bell, for what follows. After it the lanes
 * are looked at; then it sleeps, or does not. */
uint32_t mgds_hca_inbox_lie_down(struct mgds_hca_inbox *inbox);
void mgds_hca_inbox_sleep(struct mgds_hca_inbox *inbox, uint32_t bell,
                          uint64_t ns);
void mgds_hca_inbox_get_up(struct mgds_hca_inbox *inbox);

#endif
