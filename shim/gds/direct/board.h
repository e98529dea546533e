/*
 * The board of a process: memory that the processes of its host share with it,
 * in which it and its receivers say how far messages are that travel by header
 * (docs/header-rendezvous.md).
 *
 *   sample[device]  how a little memory of that device of the owner is mapped,
 *                   and which GPU it is of
 *   maps[rank]      the devices whose samples that rank has mapped
 *   shares[rank]    those of these that are of the GPU by which that rank
 *                   copies what comes from them
 *   slot[i]         serial and state of one message
 *   serving         of the owner as a receiver: whether it is in a call that
 *                   takes headers in, and how many passes over all of its
 *                   receives such calls have made
 *   refused         how many slots are REFUSED, or are about to be
 *
 *   FREE -> OFFERED -> TAKEN -> DONE or FAILED       -> FREE
 *           OFFERED or REFUSED -> WITHDRAWN -> FETCHED -> FREE
 *           TAKEN -> REFUSED -> FAILED                 -> FREE
 *           OFFERED, REFUSED or WITHDRAWN -> FAILED
 *
 * The receiver refuses what it cannot map, so that its owner withdraws it, and
 * lets it fail if that takes too long. The owner moves a slot to OFFERED,
 * WITHDRAWN and FREE, and to FAILED if it cannot send the bytes: such a slot is
 * used no more. The receiver moves it to the others. Who moves it out of
 * OFFERED or REFUSED does so by compare-and-swap, so that the receiver has the
 * sender's memory, or the owner has it back, and never both.
 *
 * Any thread; no lock.
 */
#ifndef MGDS_DIRECT_BOARD_H
#define MGDS_DIRECT_BOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "shim/gds/cuda/ipc.h"

enum {
    MGDS_BOARD_SLOTS = 256,
    MGDS_BOARD_DEVICES = 32,
};

enum mgds_slot_state {
    MGDS_SLOT_FREE, /* or another message's */
    MGDS_SLOT_OFFERED,
    MGDS_SLOT_TAKEN,
    MGDS_SLOT_REFUSED,
    MGDS_SLOT_DONE,
    MGDS_SLOT_FAILED,
    MGDS_SLOT_WITHDRAWN,
    MGDS_SLOT_FETCHED,
};

struct mgds_board;

/* Where a board is: plain, for other processes of the host. All 0: nowhere. */
struct mgds_board_place {
    uint64_t inode;
    int32_t pid;
    int32_t memory; /* a descriptor of that process */
};

/* One of our own, for a job of so many ranks: 0 or negative errno. */
int mgds_board_create(struct mgds_board **out, unsigned ranks);

struct mgds_board_place mgds_board_place(const struct mgds_board *board);

/* That of another process of the same job. Negative errno: it is not there, or
 * cannot be seen from here. */
int mgds_board_open(struct mgds_board **out,
                    const struct mgds_board_place *place, unsigned ranks);

/* NULL is allowed. Who has it mapped keeps it. */
void mgds_board_close(struct mgds_board *board);

struct mgds_board_sample {
    struct mgds_shared_name name;
    struct mgds_gpu_id gpu;
};

/* The owner: once for each device. */
void mgds_board_post_sample(struct mgds_board *board, unsigned device,
                            const struct mgds_board_sample *sample);

/* The devices that there is one of, a bit each: one load. */
uint32_t mgds_board_samples(const struct mgds_board *board);

/* False: there is none. */
bool mgds_board_find_sample(const struct mgds_board *board, unsigned device,
                            struct mgds_board_sample *out);

/* A rank has mapped the sample of the device: whatever it must be able to do
 * with a header stands. shares: it copies by that very GPU. */
void mgds_board_show_mapped(struct mgds_board *board, unsigned rank,
                            unsigned device, bool shares);
/* It cannot any more: what is sent from now on is no header. */
void mgds_board_hide_mapped(struct mgds_board *board, unsigned rank,
                            unsigned device);
bool mgds_board_is_mapped(const struct mgds_board *board, unsigned rank,
                          unsigned device);

/* Of a device that is. */
bool mgds_board_is_shared(const struct mgds_board *board, unsigned rank,
                          unsigned device);

/* The owner: it is in a call that serves its receives, or has left it; and such
 * a call has looked at all of them. */
void mgds_board_serve(struct mgds_board *board, bool inside);
void mgds_board_pass(struct mgds_board *board);

/* Both: bit 0 says whether, the others count passes. */
uint64_t mgds_board_serving(const struct mgds_board *board);

/* The owner: a slot, OFFERED, and the serial of its use; -ENOSPC: all are in
 * use. */
int mgds_board_offer(struct mgds_board *board, uint64_t *serial);

/* Acquire: what was stored before the state was moved there is seen. */
enum mgds_slot_state mgds_board_state(const struct mgds_board *board,
                                      unsigned slot, uint64_t serial);

/* Moves a slot from one state to another: false if it is in no such state. */
bool mgds_board_move(struct mgds_board *board, unsigned slot, uint64_t serial,
                     enum mgds_slot_state from, enum mgds_slot_state to);

/* The owner: whether a receiver may have refused something. One load. */
bool mgds_board_has_refused(const struct mgds_board *board);

/* The owner: nobody looks at it any more. */
void mgds_board_free(struct mgds_board *board, unsigned slot);

#endif
