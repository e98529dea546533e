/* What the files of the wire share; nobody else includes this.
 *
 * Who holds what:
 *   setup lock   opening and closing, whole; thread, opens
 *   WIRE lock    the worker and every call into UCX; flights, lost, handlers,
 *                pollers, endpoints of peers, numbers of frames, senders
 *   leaf lock    posts (the queue), spare, the table of peers and their
 *                reference counts, accepting, bell
 * The atomic words are for the sleep of the thread, see progress.c. */
#ifndef MGDS_GDS_WIRE_STATE_H
#define MGDS_GDS_WIRE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/base/clock.h"
#include "shim/base/lock.h"
#include "shim/gds/wire/address.h"
#include "shim/gds/wire/frame.h"
#include "shim/gds/wire/seal.h"
#include "shim/gds/wire/ucx.h"
#include "shim/gds/wire/wire.h"

enum { MGDS_WIRE_BUCKETS = 256 };

/* A message on its way out, or a body on its way in (peer NULL, no frame):
 *   post:  posts -> flights -> spare      arrival:  flights -> spare */
struct mgds_wire_flight {
    TAILQ_ENTRY(mgds_wire_flight) link; /* in posts, flights or spare */
    TAILQ_ENTRY(mgds_wire_flight) turn; /* near.c's, while in flights */
    struct mgds_wire_peer *peer;
    const void *body;
    size_t body_bytes;
    mgds_wire_done *done; /* or the handler's body */
    void *arg;
    size_t frame_bytes;
    struct mgds_wire_frame frame;
};
TAILQ_HEAD(mgds_wire_flights, mgds_wire_flight);

/* Where the body of a message shall go, and what is told then. */
struct mgds_wire_landing {
    void *where;
    mgds_wire_done *body;
    void *arg;
};

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
    LIST_ENTRY(mgds_wire_peer) link; /* leaf lock: in a bucket */
    TAILQ_ENTRY(mgds_wire_peer) lost_link;
    unsigned refs;                 /* leaf lock */
    bool listed;                   /* leaf lock: in a bucket */
    enum mgds_wire_stage stage;    /* WIRE lock */
    bool near;                     /* constant: reached by near.c */
    struct mgds_near *way;         /* WIRE lock: if near, while OPEN or LOST */
    ucp_ep_h endpoint;             /* WIRE lock: likewise, if not near */
    atomic_int error;              /* 0 until lost */
    atomic_bool given_up;          /* it is to be lost */
    uint64_t sent;                 /* WIRE lock: the number of its last frame */
    struct mgds_siphash begun;     /* constant: of what we seal for it */
    struct mgds_wire_identity who; /* constant: workers are in address */
    char address[];
};
LIST_HEAD(mgds_wire_bucket, mgds_wire_peer);
TAILQ_HEAD(mgds_wire_lost_list, mgds_wire_peer);

struct mgds_wire_poller_row {
    mgds_wire_poll *poll;
    void *arg;
};

struct mgds_wire {
    struct mgds_lock setup;
    unsigned opens;
    pthread_t thread;
    uint64_t nap_ns;
    enum mgds_affinity affinity; /* of the thread */
    uint64_t close_ns;

    struct mgds_lock lock; /* rank WIRE */
    bool open;
    const struct mgds_ucx *ucx; /* for the network only, all four */
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: no network */
    int event;           /* the worker's descriptor, or -1 */
    struct mgds_wire_flights flights;
    struct mgds_wire_lost_list lost; /* their endpoints wait to be closed */
    mgds_wire_lost *on_lost;
    void *lost_ctx;
    struct mgds_wire_handler handlers[MGDS_WIRE_KINDS];
    struct mgds_wire_poller_row pollers[MGDS_WIRE_POLLERS];
    unsigned closing; /* endpoint closes under way */
    struct mgds_senders senders;

    struct mgds_lock leaf;
    struct mgds_wire_flights posts;
    struct mgds_wire_flights spare;
    struct mgds_wire_bucket peers[MGDS_WIRE_BUCKETS];
    struct mgds_wire_identity self; /* grows under WIRE too, while open */
    void *address;                  /* self, for others; the last one made */
    size_t address_bytes;
    void *address_before; /* without network; somebody may still read it */
    size_t address_before_bytes;
    bool accepting; /* posts and peers */
    int bell;       /* eventfd that ends the thread's sleep, or -1 */

    atomic_bool posted; /* posts may hold some: set under leaf, behind them */
    atomic_uint holds;
    atomic_uint under_way; /* posts and arrivals without outcome */
    atomic_bool asleep;
    atomic_bool giving_up; /* some peer is given up */
    atomic_bool kicked;    /* a round is due before the thread rests */
    atomic_bool stop;
};

extern struct mgds_wire mgds_wire;

/* UCX's name for our messages; kinds are in the frame. */
enum { MGDS_WIRE_MESSAGE_ID = 0 };

/* bell.c. Something is under way, or somebody holds. */
bool mgds_wire_is_busy(void);

/* Ends the sleep of the thread; the other, if there is work for it. */
void mgds_wire_ring(void);
void mgds_wire_nudge(void);

/* flight.c. A record, leaf lock held; NULL: no memory. */
struct mgds_wire_flight *mgds_flight_take(void);

/* Tells the outcome. WIRE held; the flight is in no list. */
void mgds_flight_end(struct mgds_wire_flight *flight, int rc);

/* The same of a flight of flights. */
void mgds_wire_land(struct mgds_wire_flight *flight, int rc);

/* Ends all flights that UCX will not end any more; WIRE held. */
void mgds_wire_cancel_all(void);

/* Frees the spare records: nothing is open. */
void mgds_wire_free_spare(void);

/* deliver.c. A frame has come, with so many bytes of body: if it is genuine its
 * handler is told. True: the body is wanted, and out says where; out->body is
 * due. WIRE held. */
bool mgds_wire_deliver(const void *header, size_t bytes, size_t body_bytes,
                       struct mgds_wire_landing *out);

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

/* peer.c. The record, leaf lock held; NULL: there is none. */
struct mgds_wire_peer *mgds_wire_peer_look(uint64_t process);

/* The same, made if need be, with a reference. near: of one that is not known
 * yet. -EINVAL: it is known by another key. */
int mgds_wire_peer_take(struct mgds_wire_peer **out,
                        const struct mgds_wire_identity *who, bool near);

/* An open peer is no more: it is buried later. WIRE held. */
void mgds_wire_lose(struct mgds_wire_peer *peer, int rc);

/* Loses those that were given up; WIRE held. */
void mgds_wire_lose_given_up(void);

/* Takes all peers out of the table; frees those that nobody holds. */
void mgds_wire_forget_peers(void);

/* connect.c. The connection, made if need be; WIRE held. 0 or -errno. */
int mgds_wire_connect(struct mgds_wire_peer *peer);

/* Closes the endpoints of lost peers; WIRE held. How many. */
int mgds_wire_bury(void);

/* Closes every endpoint; WIRE held. Completion shows in closing. */
void mgds_wire_close_peers(bool force);

/* network.c. A UCX worker, if there is none; self and address say so then.
 * WIRE held. 0 or -errno, with a line. */
int mgds_net_open(void);

/* Gives back whatever there is of it. WIRE held. */
void mgds_net_close(void);

/* progress.c. One round; WIRE held. The number of things done. */
int mgds_wire_round(void);

/* The thread; setup held. 0 or -errno. */
int mgds_wire_thread_start(void);
void mgds_wire_thread_stop(void);

#endif
