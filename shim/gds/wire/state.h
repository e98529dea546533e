/* What the files of the wire share; nobody else includes this.
 *
 *   setup lock   opening and closing, whole, and the thread (wire.c)
 *   WIRE lock    rounds: the worker and every call into UCX (network.h), what
 *                is flying (flight.h), connections and lost peers (peer.h),
 *                the rings of near.h, pollers (progress.c), handlers and
 *                senders (deliver.c)
 *   leaf lock    posts and spare records (flight.h), the table of peers and
 *                their reference counts (peer.h), the address (wire.c)
 *
 * The atomic words of the thread's sleep are in bell.h. */
#ifndef MGDS_GDS_WIRE_STATE_H
#define MGDS_GDS_WIRE_STATE_H

#include <stdbool.h>
#include <stddef.h>

#include "shim/base/clock.h"
#include "shim/base/lock.h"
#include "shim/gds/wire/address.h"
#include "shim/gds/wire/ucx.h"
#include "shim/gds/wire/wire.h"

/* Of the processor's cache: what threads write apart from each other lies
 * apart. */
enum { MGDS_WIRE_LINE = 64 };

struct mgds_wire_peer;

struct mgds_wire {
    _Alignas(MGDS_WIRE_LINE) struct mgds_lock lock; /* rank WIRE */
    bool open;                                      /* under it */
    _Alignas(MGDS_WIRE_LINE) struct mgds_lock leaf;
    bool accepting; /* posts and peers; under it */
    /* Who we are. Drawn under WIRE while nothing is accepted. While the wire is
     * open a worker may be added, under WIRE, and the rest is constant. */
    _Alignas(MGDS_WIRE_LINE) struct mgds_wire_identity self;
};

extern struct mgds_wire mgds_wire;

/* UCX's name for our messages; kinds are in the frame. */
enum { MGDS_WIRE_MESSAGE_ID = 0 };

/* Where the body of a message shall go, and what is told then. */
struct mgds_wire_landing {
    void *where;
    mgds_wire_done *body;
    void *arg;
};

/* deliver.c. A frame has come, with so many bytes of body: if it is genuine its
 * handler is told. True: the body is wanted, and out says where; out->body is
 * due. WIRE held. */
bool mgds_wire_deliver(const void *header, size_t bytes, size_t body_bytes,
                       struct mgds_wire_landing *out);

/* Nobody has sent to us. WIRE held. */
void mgds_wire_forget_senders(void);

/* receive.c. Sets the worker's entry for what arrives; WIRE held. 0 or
 * -errno. */
int mgds_wire_receive(void);

/* An active message, as UCX has brought it; fetched: data is the body, else
 * UCX's descriptor of one that waits at its sender. WIRE held. What UCX is to
 * do with it. */
ucs_status_t mgds_wire_arrive(const void *header, size_t bytes, void *data,
                              size_t data_bytes, bool fetched);

/* message.c. Submits what was posted; WIRE held. The number of posts. */
int mgds_wire_submit(void);

/* connect.c. The connection, made if need be; WIRE held. 0 or -errno. */
int mgds_wire_connect(struct mgds_wire_peer *peer);

/* Closes the endpoints of lost peers; WIRE held. How many. */
int mgds_wire_bury(void);

/* Closes every endpoint; WIRE held. How many closes are under way; and that
 * nobody waits for them any more: UCX aborts the process where its worker is
 * destroyed while somebody does. */
void mgds_wire_close_peers(bool force);
unsigned mgds_wire_closes(void);
void mgds_wire_forget_closes(void);

#endif
