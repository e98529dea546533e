/*
 * The inbox of a process: memory that others on its host write messages into,
 * one ring for each of them. There is no name to find it by: a peer opens it
 * by /proc/PID/fd/N, which the kernel allows the same user only (and root),
 * and finds in it the number that the peer's address has. A pipe beside it,
 * found in the same way, wakes its owner.
 *
 * Nothing a peer does, or leaves undone because it was killed, reaches beyond
 * its own ring: it takes a ring by one exchange, and a record in it counts when
 * the ring's head is behind it.
 *
 *   owner:  create -> (next, read, pop)* -> destroy
 *   peer:   open -> (room, put)* -> close
 *
 * Not thread-safe (the WIRE lock) but for what processes share; knows nothing
 * of the wire. docs/ordering.md has the words.
 */
#ifndef MGDS_GDS_WIRE_INBOX_H
#define MGDS_GDS_WIRE_INBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MGDS_INBOX_RINGS = 1024,
    MGDS_INBOX_RING_BYTES = 131072 /* a power of two */
};

/* How others find it: part of the owner's address. */
struct mgds_inbox_place {
    uint64_t host; /* processes of other hosts need not look */
    uint64_t memory_inode, bell_inode;
    int32_t pid;
    int32_t memory, bell; /* the owner's descriptors */
    uint32_t version;
};

/* What lies in a ring, with so many bytes behind it. */
struct mgds_inbox_record {
    uint32_t kind;       /* the user's */
    uint32_t bytes;      /* at most MGDS_INBOX_MOST */
    uint64_t body_bytes; /* the user's */
};

enum {
    MGDS_INBOX_MOST =
        MGDS_INBOX_RING_BYTES / 2 - (int)sizeof(struct mgds_inbox_record)
};

struct mgds_inbox;  /* one's own */
struct mgds_outbox; /* a ring in that of another */

/* process: the number that others must find in it. Negative errno: nothing was
 * made. */
int mgds_inbox_create(struct mgds_inbox **out, uint64_t process, uint64_t host);

/* Others find it closed first. NULL is allowed. */
void mgds_inbox_destroy(struct mgds_inbox *inbox);

const struct mgds_inbox_place *mgds_inbox_place(const struct mgds_inbox *inbox);

/* What polls readable when somebody has written while the owner slept. */
int mgds_inbox_bell(const struct mgds_inbox *inbox);

/* The owner says that it sleeps. False: something has come, it must not. */
bool mgds_inbox_doze(struct mgds_inbox *inbox);

/* The owner is awake again. */
void mgds_inbox_wake(struct mgds_inbox *inbox);

/* A ring that may have records, and does not count as one until something is
 * written there again; -1: none. */
int mgds_inbox_due(struct mgds_inbox *inbox);

/* The ring counts as one that may have records. */
void mgds_inbox_again(struct mgds_inbox *inbox, unsigned ring);

/* The oldest record of a ring. 1; 0: none; -EPROTO: what is there cannot be
 * true. */
int mgds_inbox_next(const struct mgds_inbox *inbox, unsigned ring,
                    struct mgds_inbox_record *record);

/* Copies bytes of it out; they lie within it. */
void mgds_inbox_read(const struct mgds_inbox *inbox, unsigned ring, void *to,
                     size_t bytes);

/* It is done with: its memory is the writer's again. */
void mgds_inbox_pop(struct mgds_inbox *inbox, unsigned ring,
                    const struct mgds_inbox_record *record);

/* Whose ring it is; 0: nobody's, or not yet. */
uint64_t mgds_inbox_writer(const struct mgds_inbox *inbox, unsigned ring);

/* Whether nothing will be written there any more: the writer has closed it,
 * or, if look, is no more. */
bool mgds_inbox_over(const struct mgds_inbox *inbox, unsigned ring, bool look);

/* A ring that is over can be another's: what is in it is gone. */
void mgds_inbox_free(struct mgds_inbox *inbox, unsigned ring);

/* Whether the inbox of that process could be opened: 0, or negative errno. */
int mgds_inbox_reach(const struct mgds_inbox_place *place, uint64_t process);

/* Takes a ring there, for the process whose inbox is mine. -errno; -ESRCH: no
 * such inbox (any more); -EUSERS: no ring is free. */
int mgds_outbox_open(struct mgds_outbox **out,
                     const struct mgds_inbox_place *place, uint64_t process,
                     const struct mgds_inbox *mine);
void mgds_outbox_close(struct mgds_outbox *outbox);

/* The longest record that there is room for; negative: none. */
int mgds_outbox_room(struct mgds_outbox *outbox);

/* Writes one that there is room for, and wakes who sleeps. */
void mgds_outbox_put(struct mgds_outbox *outbox,
                     const struct mgds_inbox_record *record, const void *bytes);

/* False: its process has closed it, or is no more. */
bool mgds_outbox_lives(const struct mgds_outbox *outbox);

#endif
