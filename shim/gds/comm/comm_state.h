/*
 * A communicator as the files of this folder know it, and the list of all. All
 * under the engine's lock that is not said otherwise.
 */
#ifndef MGDS_COMM_COMM_STATE_H
#define MGDS_COMM_COMM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/base/lock.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/comm/comm.h"
#include "shim/gds/comm/wildcards.h"
#include "shim/gds/match/fifos.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/transport/channels.h"

struct mgds_credit;
struct mgds_gstream;
struct mgds_match;
struct mgds_message;
struct mgds_op;
struct mgds_wire_peer;

/* A rank of the communicator, or, between groups, of the remote one. */
struct mgds_comm_member {
    struct mgds_wire_peer *peer;         /* a reference */
    int lost;                            /* 0, or the errno that ended it */
    bool subscribes;                     /* wants REACHED */
    enum mgds_subscription subscription; /* whether we do, at it */
    bool met;                            /* was posted to */
    struct mgds_credit *credit;          /* what it is not told yet, or NULL */
};

struct mgds_comm {
    unsigned refs; /* atomic: the communicator, operations, messages */
    uint64_t id;
    unsigned rank, peers; /* peers: of the remote group, or the size */
    unsigned others;      /* of them but this process, not lost */
    bool inter;
    unsigned streams;
    struct mgds_gstream **stream;    /* references */
    struct mgds_comm_member *member; /* by rank */
    unsigned *base;                  /* by rank: of its sources */
    struct mgds_channels *channels;  /* a reference, or NULL: no rings */
    unsigned sources;
    struct mgds_match **match; /* by own stream index, at least one */
    uint64_t *sent;            /* by own index, then by source */
    struct mgds_wildcards wildcards;
    LIST_HEAD(, mgds_op) ops; /* that the engine has */
    struct mgds_fifos pulls;  /* messages that we copy: message.c */
    struct mgds_debt owed;    /* not yet told (mgds_comm_take_error) */
    bool astray;              /* nobody asks for its errors by name any more */
    unsigned waited; /* operations that waits in streams have: atomic, and less
                        by one when all that such a wait does is over */
    char name[MGDS_COMM_NAME]; /* the program's, for lines about it */
    LIST_ENTRY(mgds_comm) link;
    bool listed;                 /* among all, and among those alike */
    LIST_ENTRY(mgds_comm) alike; /* those whose ids have the same hash */
};

LIST_HEAD(mgds_comms, mgds_comm);

/* The communicator, without a reference, or NULL. Under the lock. */
struct mgds_comm *mgds_comm_find(uint64_t id);
/* Whether that is a process beside this one, but for a member that it has in
 * the remote group, too. */
static inline bool mgds_comm_is_other(const struct mgds_comm *comm,
                                      unsigned rank)
{
    return comm->inter || rank != comm->rank;
}
/* The name by which the matcher knows a stream of a rank. */
static inline int mgds_comm_source(const struct mgds_comm *comm, unsigned rank,
                                   unsigned index)
{
    return (int)(comm->base[rank] + index);
}
/* From one of our streams to that one of a rank; NULL: there is none. */
static inline struct mgds_channel *
mgds_comm_channel(const struct mgds_comm *comm, unsigned from_index,
                  unsigned rank, unsigned to_index)
{
    return mgds_channels_find(comm->channels, from_index,
                              comm->base[rank] + to_index);
}

/* The rank is lost from now on, by that error; nothing if it was. Under the
 * lock, or while nobody else has the communicator. */
void mgds_comm_lose(struct mgds_comm *comm, unsigned rank, int error);

/* Of a rank, or any source (negative), which is lost when all other members
 * are: 0, or what a call that names it ends with. Under the lock. */
int mgds_comm_lost(const struct mgds_comm *comm, int rank);

/* Whether there was one, which will not come again. Under the lock. */
bool mgds_comm_is_gone(uint64_t id);
/* Communicators that find has looked at so far. Under the lock. */
uint64_t mgds_comm_steps(void);
/* References; without the lock. */
void mgds_comm_get(struct mgds_comm *comm);
void mgds_comm_release(struct mgds_comm *comm);
/* For comm_create.c: from now on it is found, under the lock; the end of one
 * that never was, or is not any more. */
void mgds_comm_list(struct mgds_comm *comm);
void mgds_comm_destroy(struct mgds_comm *comm);
/* None is found any more: each still goes with its last reference. Under the
 * lock. */
void mgds_comms_forget(void);
/* All there are. Under the lock. */
const struct mgds_comms *mgds_comms_all(void);

/* The first error that no call has told yet is kept: where, in the end, the
 * program is told of the communicator's. */
struct mgds_debt *mgds_comm_debt(struct mgds_comm *comm);

#endif
