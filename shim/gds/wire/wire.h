/*
 * Messages between processes, beside MPI's, moved by one thread of our own:
 * through memory that the processes of a host share (near.h), and by a UCX
 * worker of our own to those of other hosts, once a communicator has any.
 * Envelopes and staged data of stream communicators travel here. Nothing here
 * calls MPI or CUDA, and bodies are host memory.
 *
 * Threads. Every function may be called by any thread unless it says
 * otherwise. None waits for a message; open and close are the ones that take
 * time. What others give us to call (done, head, body, lost, pollers) runs in
 * *progress context*: in our thread or in one that called mgds_wire_progress,
 * one at a time, with the WIRE lock held. There they may take COMM and lower
 * locks and may call mgds_wire_post, _hold, _release, _kick and _peer_get;
 * they must be short, and must not call _open, _close, _progress, or MPI or
 * CUDA. A chore is called by our thread alone, in no such context.
 *
 * Order. Messages may overtake each other, those to one peer too.
 *
 * Strangers. Whoever reaches our worker can send to it. What no process of the
 * job has sealed for us, or has come before, is dropped here (seal.h).
 */
#ifndef MGDS_GDS_WIRE_WIRE_H
#define MGDS_GDS_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/config.h"

enum {
    MGDS_WIRE_HEAD_BYTES = 256, /* the longest head */
    MGDS_WIRE_KINDS = 32,       /* kinds are less than this */
    MGDS_WIRE_POLLERS = 4
};

struct mgds_wire_peer;

/* The shared memory and the thread, for the first of those who open; counted.
 * config is read during the call, by the first. Negative errno, with a line;
 * after a failure nothing is open. Nothing listens to the network. */
int mgds_wire_open(const struct mgds_config *config);

/* The network too, until the wire is closed; any number of times. The address
 * is another one from then on, of the same process; the one before holds as
 * well, and stays where it is. -ENOTCONN: not open; -ENOTSUP: no usable UCX,
 * one line has said why; another negative errno of UCX, with a line too: then
 * all is as it was. */
int mgds_wire_open_network(void);

/* Whether this process sends to the one at an address through shared memory:
 * both are on one host (base/host.h) and the memory can be opened. If not,
 * one line says why, and both need the network. */
bool mgds_wire_near(const void *address, size_t bytes);

/* For each successful open. The last one sends what has been posted, closes
 * the endpoints and ends the thread. That takes at most the setting WIRE_CLOSE
 * and a little; what is not done by then ends with -ECANCELED: every done and
 * body that is due has been called when this returns. Peers end here, held or
 * not; handlers and pollers stay. */
void mgds_wire_close(void);

/* Where others reach this process (address.h): bytes to give to them, and to
 * nobody else. They hold as long as the wire is open. -ENOTCONN if it is not.
 * The memory is the wire's. */
int mgds_wire_address(const void **address, size_t *bytes);

/* The process at an address; the same process is the same peer. It is not
 * contacted before the first post. -EINVAL, -EPROTO (address.h; also -EINVAL: a
 * process that is known, with another key), -ENOMEM, -ENOTCONN. The address is
 * copied. A peer that nobody holds keeps its connection until close, because
 * closing one end breaks the other's. */
int mgds_wire_peer_get(struct mgds_wire_peer **out, const void *address,
                       size_t bytes);
void mgds_wire_peer_put(struct mgds_wire_peer *peer);

/* The peer that is that process, with a reference; NULL: none is. Takes only a
 * leaf lock. */
struct mgds_wire_peer *mgds_wire_peer_find(uint64_t process);

/* It does not answer: lost, with -ETIMEDOUT, in the next round. False: that was
 * said before. Takes only a leaf lock. */
bool mgds_wire_peer_give_up(struct mgds_wire_peer *peer);

/* Whether anything was posted to the peer: then it has a connection, or gets
 * one by the next round, or is lost. Any thread. */
bool mgds_wire_peer_is_connected(const struct mgds_wire_peer *peer);

/* Who it is: as its messages say. */
uint64_t mgds_wire_peer_process(const struct mgds_wire_peer *peer);

/* 0, or the negative errno with which the peer was lost. A lost peer stays
 * lost: what is posted to it ends with that error. */
int mgds_wire_peer_error(const struct mgds_wire_peer *peer);

/* Called once for each peer that is lost (its process ended, or closed its
 * wire, or the network failed, or it cannot be reached), after the endpoint to
 * it has been closed: pending posts have got their error, and a round has found
 * nothing more that came of it. Only peers that were posted to can be lost. One
 * for the process; NULL for none. */
typedef void mgds_wire_lost(void *ctx, struct mgds_wire_peer *peer, int rc);
void mgds_wire_on_lost(mgds_wire_lost *lost, void *ctx);

/* The outcome of a post: 0, and the body is the caller's again; or negative
 * errno. 0 says that the message left, not that it was handled. */
typedef void mgds_wire_done(void *arg, int rc);

struct mgds_wire_message {
    unsigned kind;
    const void *head; /* copied */
    size_t head_bytes;
    const void *body; /* the wire's until done */
    size_t body_bytes;
    mgds_wire_done *done; /* may be NULL; never called inside post */
    void *arg;
};

/* Sends a message, soon and from progress context. The caller holds the peer
 * until done. 0 and done will be called once; or -EINVAL (head too long, kind
 * unknown), -ENOMEM, -ENOTCONN (not open), and done is not called. Takes only
 * a leaf lock, so it may be called with COMM held. */
int mgds_wire_post(struct mgds_wire_peer *peer,
                   const struct mgds_wire_message *message);

/* A message that has come. */
struct mgds_wire_arrival {
    uint64_t from;    /* the process that sent it (mgds_wire_peer_process) */
    const void *head; /* valid during the call; aligned to 8 bytes */
    size_t head_bytes;
    size_t body_bytes;
    void *where; /* for the handler to say: where the body shall land, */
    void *arg;   /* and what body() shall be given */
};

/* What happens to messages of a kind that arrive. Only those that a process
 * with our address sent to us come here, each once (seal.h); what is in them is
 * theirs to say. */
struct mgds_wire_handler {
    /* A message has come. If it has a body, fills in where and arg; or returns
     * negative errno: the body is thrown away and body() not called. */
    int (*head)(void *ctx, struct mgds_wire_arrival *it);
    /* The body is there: rc 0; or it will not come: negative errno, and
     * where holds anything. Once for each head that took one; NULL: none ever
     * does. */
    void (*body)(void *arg, int rc);
    void *ctx;
};

/* Sets what handles a kind; copied. Best before the first open: a message of
 * a kind without handler is dropped with one line. NULL takes it away; when
 * the call returns, no head() of the old one is running. Not from progress
 * context. -EINVAL. */
int mgds_wire_handle(unsigned kind, const struct mgds_wire_handler *handler);

/* While anybody holds, or messages are under way, the thread makes rounds:
 * without rest at first, then with naps between them, which grow to the setting
 * WIRE_NAP. Else it sleeps until a message comes. Need no open wire. */
void mgds_wire_hold(void);
void mgds_wire_release(void);

/* Ends a nap or sleep: a round follows. For those whose poller has something
 * to see. */
void mgds_wire_kick(void);

/* The same from a signal handler, once init has been called (0, or negative
 * errno). False: there is no thread. */
int mgds_wire_wake_init(void);
bool mgds_wire_wake(void);

/* Called in every round; returns how many things it did, 0 lets the thread
 * rest. Not while the thread sleeps: hold for that. -ENOSPC. Neither is for
 * progress context; after _end returns it is not running. */
typedef int mgds_wire_poll(void *arg);
int mgds_wire_poller(mgds_wire_poll *poll, void *arg);
void mgds_wire_poller_end(mgds_wire_poll *poll, void *arg);

/* Called by our thread between its rounds, without any lock: for what takes
 * long, but not CUDA. Set before the first open. */
void mgds_wire_chore(void (*work)(void));

/* One round in the calling thread, unless another is in one: for those who
 * wait on the host. The number of things done; 0 also if not open. Must not
 * be called with WIRE or a lower lock held. */
int mgds_wire_progress(void);

#endif
