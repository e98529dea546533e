/* Peers: one table of records by process, and those that are lost. Only the
 * wire's files include this. */
#ifndef MGDS_GDS_WIRE_PEER_H
#define MGDS_GDS_WIRE_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/base/siphash.h"
#include "shim/gds/wire/address.h"
#include "shim/gds/wire/ucx.h"
#include "shim/gds/wire/wire.h"

struct mgds_near;

/* FRESH -> OPEN -> LOST -> GONE, or FRESH -> GONE. LOST: UCX or near.c has said
 * so, the connection is being closed. GONE: none, and never one again. */
enum mgds_wire_stage {
    MGDS_WIRE_FRESH,
    MGDS_WIRE_OPEN,
    MGDS_WIRE_LOST,
    MGDS_WIRE_GONE
};

struct mgds_wire_peer {
    LIST_ENTRY(mgds_wire_peer) link;       /* leaf lock: in a bucket */
    TAILQ_ENTRY(mgds_wire_peer) lost_link; /* WIRE lock: while to be buried */
    unsigned refs;                         /* leaf lock */
    bool listed;                           /* leaf lock: in a bucket */
    enum mgds_wire_stage stage;            /* WIRE lock */
    bool near;                             /* constant: reached by near.c */
    struct mgds_near *way;         /* WIRE lock: if near, while OPEN or LOST */
    ucp_ep_h endpoint;             /* WIRE lock: likewise, if not near */
    void *closing;                 /* WIRE lock: UCX's request, while that is
                                      being closed */
    atomic_int error;              /* 0 until lost */
    atomic_bool given_up;          /* it is to be lost */
    atomic_bool posted;            /* something was, to it */
    uint64_t sent;                 /* WIRE lock: the number of its last frame */
    struct mgds_siphash begun;     /* constant: of what we seal for it */
    struct mgds_wire_identity who; /* constant: workers are in address */
    char address[];
};

/* The record, leaf lock held; NULL: there is none. */
struct mgds_wire_peer *mgds_wire_peer_look(uint64_t process);

/* The same, made if need be, with a reference. near: of one that is not known
 * yet. -EINVAL: it is known by another key. Leaf lock held. */
int mgds_wire_peer_take(struct mgds_wire_peer **out,
                        const struct mgds_wire_identity *who, bool near);

/* Each of the table. WIRE held, and nothing is accepted any more, so the table
 * does not change. */
void mgds_wire_peers_visit(void (*visit)(struct mgds_wire_peer *peer,
                                         void *arg),
                           void *arg);

/* An open peer is no more: it is buried later. WIRE held. */
void mgds_wire_lose(struct mgds_wire_peer *peer, int rc);

/* Loses those that were given up; WIRE held. */
void mgds_wire_lose_given_up(void);

/* The next of those that are to be buried, or NULL: its endpoint is the
 * caller's to close. WIRE held. */
struct mgds_wire_peer *mgds_wire_take_lost(void);

/* Takes all peers out of the table, buried or not; frees those that nobody
 * holds. WIRE held. */
void mgds_wire_forget_peers(void);

#endif
