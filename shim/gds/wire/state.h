/* What the files of the wire share; nobody else includes this.
 *
 * Who holds what:
 *   setup lock   opening and closing, whole; thread, opens
 *   WIRE lock    the worker and every call into UCX; flights, lost, handlers,
 *                pollers, endpoints of peers
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
#include "shim/gds/wire/ucx.h"
#include "shim/gds/wire/wire.h"

enum { MGDS_WIRE_BUCKETS = 256 };

/* What goes over the wire before the head. */
struct mgds_wire_frame {
    uint32_t kind;
    uint32_t head_bytes;
    _Alignas(8) char head[MGDS_WIRE_HEAD_BYTES];
};

/* A message on its way out, or a body on its way in (peer NULL, no frame):
 *   post:  posts -> flights -> spare      arrival:  flights -> spare */
struct mgds_wire_flight {
    TAILQ_ENTRY(mgds_wire_flight) link; /* in posts, flights or spare */
    struct mgds_wire_peer *peer;
    const void *body;
    size_t body_bytes;
    mgds_wire_done *done; /* or the handler's body */
    void *arg;
    struct mgds_wire_frame frame;
};
TAILQ_HEAD(mgds_wire_flights, mgds_wire_flight);

/* FRESH -> OPEN -> LOST -> GONE, or FRESH -> GONE. LOST: UCX has said so, the
 * endpoint is being closed. GONE: no endpoint, and never one again. */
enum mgds_wire_stage {
    MGDS_WIRE_FRESH,
    MGDS_WIRE_OPEN,
    MGDS_WIRE_LOST,
    MGDS_WIRE_GONE
};

struct mgds_wire_peer {
    LIST_ENTRY(mgds_wire_peer) link; /* leaf lock: in a bucket */
    TAILQ_ENTRY(mgds_wire_peer) lost_link;
    unsigned refs;              /* leaf lock */
    bool listed;                /* leaf lock: in a bucket */
    enum mgds_wire_stage stage; /* WIRE lock */
    ucp_ep_h endpoint;          /* WIRE lock */
    atomic_int error;           /* 0 until lost */
    size_t bytes;
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
    uint64_t close_ns;

    struct mgds_lock lock; /* rank WIRE */
    const struct mgds_ucx *ucx;
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: not open */
    int event;           /* the worker's descriptor */
    struct mgds_wire_flights flights;
    struct mgds_wire_lost_list lost; /* their endpoints wait to be closed */
    mgds_wire_lost *on_lost;
    void *lost_ctx;
    struct mgds_wire_handler handlers[MGDS_WIRE_KINDS];
    struct mgds_wire_poller_row pollers[MGDS_WIRE_POLLERS];
    unsigned closing; /* endpoint closes under way */

    struct mgds_lock leaf;
    struct mgds_wire_flights posts;
    struct mgds_wire_flights spare;
    struct mgds_wire_bucket peers[MGDS_WIRE_BUCKETS];
    ucp_address_t *address;
    size_t address_bytes;
    bool accepting; /* posts and peers */
    int bell;       /* eventfd that ends the thread's sleep, or -1 */

    atomic_bool posted; /* posts may hold some: set under leaf, behind them */
    atomic_uint holds;
    atomic_uint under_way; /* posts and arrivals without outcome */
    atomic_bool asleep;
    atomic_bool kicked; /* a round is due before the thread rests */
    atomic_bool stop;
};

extern struct mgds_wire mgds_wire;

/* message.c. Submits what was posted; WIRE held. The number of posts. */
int mgds_wire_submit(void);

/* Sets the worker's entry for what arrives; WIRE held. 0 or -errno. */
int mgds_wire_receive(void);

/* Ends all flights that UCX will not end any more; WIRE held. */
void mgds_wire_cancel_all(void);

/* Frees the spare records: nothing is open. */
void mgds_wire_free_spare(void);

/* peer.c. The endpoint, made if need be; WIRE held. 0 or -errno. */
int mgds_wire_connect(struct mgds_wire_peer *peer);

/* Closes the endpoints of lost peers; WIRE held. How many. */
int mgds_wire_bury(void);

/* Closes every endpoint; WIRE held. Completion shows in closing. */
void mgds_wire_close_peers(bool force);

/* Takes all peers out of the table; frees those that nobody holds. */
void mgds_wire_forget_peers(void);

/* progress.c. One round; WIRE held. The number of things done. */
int mgds_wire_round(void);

/* Ends the sleep of the thread if there is work that it should do. */
void mgds_wire_nudge(void);

/* The thread; setup held. 0 or -errno. */
int mgds_wire_thread_start(void);
void mgds_wire_thread_stop(void);

#endif
