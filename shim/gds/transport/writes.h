/*
 * WRITEs of messages, from memory here to memory of a peer, in the order in
 * which their stream came to them: posted as far as the send queue has room,
 * and those behind that when it has some again.
 *
 *   fifo, by number & (capacity - 1); numbers grow for ever, and a WRITE's is
 *   the index of its WQE, since nobody else posts to the queue:
 *
 *        done          heard         posted           added
 *   ------|-------------|-------------|----------------|------
 *   free  | are over    | the HCA's   | wait for room  | free
 *
 * Each WRITE completes visibly: one that did not is told from those that did
 * when the connection breaks.
 *
 * Pure, of one owner's lock. Costs O(1) a call; memory for what is under way.
 */
#ifndef MGDS_TRANSPORT_WRITES_H
#define MGDS_TRANSPORT_WRITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/impl/wqe.h"

struct mgds_sendq;

struct mgds_write {
    size_t offset;  /* in both memories */
    uint32_t bytes; /* from 1, less than 2^31 */
    void *arg;      /* the owner's */
};

struct mgds_writes {
    /* constant */
    struct mgds_sendq *queue;
    struct mgds_wqe_local from; /* offset 0 */
    struct mgds_wqe_remote to;

    struct mgds_write *fifo;
    uint32_t capacity; /* 0, or a power of two */
    uint32_t done, heard, posted, added;
};

/* A queue of RC; whatever was posted there has completed. */
void mgds_writes_init(struct mgds_writes *writes, struct mgds_sendq *queue,
                      struct mgds_wqe_local from, struct mgds_wqe_remote to);
void mgds_writes_fini(struct mgds_writes *writes);

/* One more, behind all others. -ENOMEM. */
int mgds_writes_add(struct mgds_writes *writes, const struct mgds_write *write);

/* Posts as many as there is room for, and rings once. */
void mgds_writes_post(struct mgds_writes *writes);

/* Looks for completions: 0; -EIO and the syndrome (hca/syndrome.h): one has
 * failed, and so does all behind it. */
int mgds_writes_poll(struct mgds_writes *writes, uint8_t *syndrome);

/* The next one that has completed well; and the next one whether it has or not.
 * False: there is none. */
bool mgds_writes_take(struct mgds_writes *writes, struct mgds_write *out);
bool mgds_writes_drop(struct mgds_writes *writes, struct mgds_write *out);

/* Is none under way? */
bool mgds_writes_are_over(const struct mgds_writes *writes);

#endif
