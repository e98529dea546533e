/*
 * Operations and messages as the files of this folder know them; comm.h is
 * for who uses them. The engine's lock (msg/engine.h) guards all that is not
 * said otherwise.
 *
 * How their messages move, and what may follow on what, is a table of states
 * (msg/op_state.h); who lets a stream pass its wait for one is another
 * (msg/op_wait.h). Beside those there are latches, and what lies in the parts
 * of the operation (op_parts.h):
 *
 *   REACHED   the stream came here, and staged bytes are there
 *   DONE      the caller may go on: a send that is reached, if its bytes are
 *             staged or there are none, else one that is moved, too; a
 *             synchronous one is asked for, as well. A receive that has ARRIVED
 *             or is TAKEN; then who wants the bytes copies them up, the stream
 *             or a caller
 *   LOST      it fails, or will, since its peer, its stream or its time is over
 *   fetch     a copy of ours is under way (fetch.h), of a message that its
 *             receiver copies (rget.h), or of one in a ring
 *   flow      its bytes are under way in parts (proto/flow.h)
 *
 * The PULL is posted as soon as a receive is WANTED, or, for bytes that go into
 * the program's host memory, when the stream came here. The bytes of a send go
 * when it was ASKED for and is reached.
 *
 * A message that also comes by a ring (transport/channel.h), or that its
 * receiver copies, is HELD until a wait in the receive's own stream takes it,
 * or somebody asks for it in another way. The place in the ring is given back
 * when the stream has passed that wait.
 *
 * The end of a peer (lost.c) fails all that is under way with it, at the step
 * where it stands, but what the wire is at work on: that ends by itself.
 *
 * References of an operation: one of the caller (its request, or the wait that
 * took it over), one of the engine until the last step, one of a fence that its
 * stream has not passed. Its request ID is known as long as the engine has one,
 * and that it was one for ever if it was lost: what its peer still says of it
 * is no reason for a line.
 */
#ifndef MGDS_MSG_OP_H
#define MGDS_MSG_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/base/spares.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/timeline.h"
#include "shim/gds/msg/op_parts.h"
#include "shim/gds/match/match.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/msg/op_state.h"
#include "shim/gds/msg/op_wait.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/proto/protocol.h"
#include "shim/gds/mem/bounce.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels.h"

/* A message at its receiver, from its RTS on. */
struct mgds_message {
    struct mgds_match_send match; /* first */
    unsigned to_index;            /* of the receiver's stream */
    struct mgds_comm *comm;       /* a reference */
    unsigned rank, index;         /* of the sender */
    uint64_t request_id;          /* of the send, there */
    size_t bytes;
    const struct mgds_protocol *protocol;
    int refused;     /* negative errno: why it is not of the protocol that its
                        RTS names; or 0 */
    int broken;      /* negative errno: its bytes will not come (broken.h) */
    uint32_t ring;   /* that it holds (own_rings.h); 0: none */
    uint64_t serial; /* in the ring; 0: it does not come there */
    uint64_t units;  /* where it begins there: an address */
    bool sync;       /* asked for when the receive's stream is there */
    /* of rget */
    bool stands;
    uint64_t source, done; /* addresses, as mapped here */
    struct mgds_op *op;    /* that it was paired with */
    struct mgds_fifo_node
        pull; /* among those of the communicator that we copy */
};

/* Of those that the communicator copies, the one that the source has sent to
 * that stream with that number, or NULL. */
struct mgds_message *mgds_message_find(struct mgds_comm *comm, int source,
                                       unsigned to_index, uint64_t number);

/* Is it the one that the source has sent to that stream with that number?
 * Numbers are counted for each stream that a source sends to. */
bool mgds_message_is(const struct mgds_message *message, int source,
                     unsigned to_index, uint64_t number);

/* The receive that such a message was matched with, or NULL: it is over. */
struct mgds_op *mgds_message_recv(const struct mgds_comm *comm, int source,
                                  unsigned to_index, uint64_t number);

/* The message is among those of its communicator that we copy. */
void mgds_message_link(struct mgds_message *message);
/* The message is over: it is not among those any more, and its ring may go.
 * NULL is allowed. */
void mgds_message_unlink(struct mgds_message *message);
/* Nobody will receive it. */
void mgds_message_drop(struct mgds_message *message);

/* Latches, beside the state; bits, set under the lock and never taken back. */
enum mgds_op_latch {
    MGDS_OP_REACHED = 1, /* the stream came here, and staged bytes are there */
    MGDS_OP_DONE = 2,    /* the caller may go on */
    MGDS_OP_LOST = 4,    /* failed, since its peer or its stream was, or its
                            wait took too long */
    MGDS_OP_KEPT = 8     /* the bytes of a lean send are in op->copy */
};

struct mgds_op {
    unsigned refs; /* atomic */
    enum mgds_op_state state;
    enum mgds_op_waiting waiting; /* destroy reads it without the lock */
    unsigned latches;             /* of mgds_op_latch */
    int error;                    /* negative errno: the first one */
    struct mgds_comm *comm;       /* constant: a reference */
    struct mgds_ending ending;    /* the engine's, after the last reference */
    LIST_ENTRY(mgds_op)
    link;                /* among the communicator's, while the engine has
                            its reference */
    uint64_t request_id; /* what its peer names it by; 0: the peer was not told
                            of it */
    /* where its bytes lie */
    struct mgds_bounce *bounce; /* GPU memory; NULL: directly. Set with the
                                   call, or by fallback.c */
    struct mgds_flow *flow;     /* flow.c's, once there is one; goes with the
                                   operation */
    char *copy; /* host memory of ours, or NULL; constant, but of a send
                   that is kept */
    struct mgds_gstream *stream; /* constant: whose bounce and words it has: a
                                    reference, or NULL */
    struct mgds_work copying;    /* out of its bounce (orphan.h), or into it
                                    (fallback.h): has a reference */
    struct mgds_timeline *timeline; /* constant: that it was enqueued on; NULL:
                                       it was called at once */
    struct mgds_op_status status; /* when it is done: the caller's, who reads it
                                     without the lock */
    /* Its parts (op_parts.h). Constant; a send and a receive are told apart by
     * which of the two there is. */
    struct mgds_op_call *call;
    struct mgds_op_sender *send;
    struct mgds_op_receiver *recv;
    struct mgds_op_ring *ring;
    struct mgds_op_queued *queued; /* as line */
    struct mgds_op_waited *waited;
    struct mgds_op_caller *caller;
    struct mgds_op_failing *fail;
};

/* Where the records come from. */
extern struct mgds_spares mgds_message_spares;

/* A record with its parts, all 0; NULL: there is no memory. Freed as a record:
 * nothing that it has is given back. */
struct mgds_op *mgds_op_alloc(bool send, bool enqueued);
void mgds_op_free(struct mgds_op *op);
/* Records that are kept go back to the C library. */
void mgds_op_spares_clear(void);

static inline bool mgds_op_is_reached(const struct mgds_op *op)
{
    return op->latches & MGDS_OP_REACHED;
}

static inline bool mgds_op_is_done(const struct mgds_op *op)
{
    return op->latches & MGDS_OP_DONE;
}

static inline bool mgds_op_is_lost(const struct mgds_op *op)
{
    return op->latches & MGDS_OP_LOST;
}

static inline bool mgds_op_is_sync(const struct mgds_op *op)
{
    return op->call->is & MGDS_OP_SYNC;
}

static inline bool mgds_op_is_near(const struct mgds_op *op)
{
    return op->call->is & MGDS_OP_NEAR;
}

/* It is GPU memory, and none of ours stands for it. */
static inline bool mgds_op_is_lean(const struct mgds_op *op)
{
    return op->call->is & MGDS_OP_LEAN && !(op->latches & MGDS_OP_KEPT) &&
           (!op->bounce || mgds_bounce_needs_room(op->bounce));
}

/* A receive whose bytes lie where neither its stream nor a caller copies them
 * up. */
static inline bool mgds_op_is_lifted(const struct mgds_op *op)
{
    return op->recv && op->call->is & MGDS_OP_ORDINARY;
}

/* A lean send whose bytes go to ordinary memory when its stream comes to it. */
static inline bool mgds_op_is_kept(const struct mgds_op *op)
{
    return op->send && op->call->is & MGDS_OP_ORDINARY;
}

/* Might a send have this protocol, by what is known so far? */
static inline bool mgds_op_might(const struct mgds_op *op,
                                 enum mgds_protocol_id id)
{
    return op->send && op->send->may & 1u << id;
}

/* The index of its own end's stream. Constant. */
static inline unsigned mgds_op_own_index(const struct mgds_op *op)
{
    return op->send ? op->call->from_index : op->call->index;
}

/* Could a receive's stream take its message? Constant. */
static inline bool mgds_op_can_take(const struct mgds_op *op)
{
    return op->timeline && mgds_op_is_near(op);
}

/* Called with a way from GPU to GPU: constant from then on. */
static inline bool mgds_op_is_direct(const struct mgds_op *op)
{
    return op->send ? op->send->protocol->slotted : mgds_op_can_take(op);
}

/* The message of a receive, if it was matched; else NULL. */
static inline struct mgds_message *mgds_op_message(const struct mgds_op *op)
{
    return op->recv ? op->recv->message : NULL;
}

/* Is a kernel told not to wait for it (quit.h)? And with which error it has
 * ended for that; 0: it has not. */
static inline bool mgds_op_is_quit(const struct mgds_op *op)
{
    return op->queued && op->queued->quit.record;
}

static inline int mgds_op_quit_error(const struct mgds_op *op)
{
    return op->queued ? op->queued->quit.told : 0;
}

/* The first byte of the program's, if there is one. */
static inline char *mgds_op_user(const struct mgds_op *op)
{
    const struct mgds_op_call *call = op->call;

    return call->bytes > 0
               ? (char *)call->user.addr + call->user.layout->true_lb
               : NULL;
}

/* The rank at its other end; negative: any, so far. */
static inline int mgds_op_peer(const struct mgds_op *op)
{
    const struct mgds_message *message = mgds_op_message(op);

    return message ? (int)message->rank : op->call->rank;
}

static inline struct mgds_op *mgds_op_get(struct mgds_op *op)
{
    __atomic_fetch_add(&op->refs, 1, __ATOMIC_RELAXED);
    return op;
}

/* How much of its message a receive has room for. */
size_t mgds_op_fitting(const struct mgds_op *op);
/* Where its message is in the ring. */
uint64_t mgds_op_units(const struct mgds_op *op);

/* Its state after the event; false: that is nothing for it, and a line says so,
 * since whoever tells of one has to ask before if there is a doubt (may). Under
 * the lock, as all of these. */
bool mgds_op_step(struct mgds_op *op, enum mgds_op_event event);

static inline bool mgds_op_may(const struct mgds_op *op,
                               enum mgds_op_event event)
{
    return mgds_op_state_after(op->state, event) != op->state;
}

/* The same as step of what waits in streams make of it; and the line. */
bool mgds_op_refuse_wait(const struct mgds_op *op,
                         enum mgds_op_wait_event event);

static inline bool mgds_op_wait_step(struct mgds_op *op,
                                     enum mgds_op_wait_event event)
{
    enum mgds_op_waiting next = mgds_op_waiting_after(op->waiting, event);

    if (next == op->waiting)
        return mgds_op_refuse_wait(op, event);
    op->waiting = next;
    return true;
}

/* The bytes are where they belong, or will not come. */
bool mgds_op_is_moved(const struct mgds_op *op);

/* A wait in its own stream has it, or had. */
static inline bool mgds_op_is_taken(const struct mgds_op *op)
{
    return op->state == MGDS_OP_TAKEN || op->state == MGDS_OP_PASSED;
}

/* A reference less: under the lock, and without it. */
void mgds_op_put_later(struct mgds_op *op);
void mgds_op_release(struct mgds_op *op);
/* Where the wire reads a send's bytes, or puts a receive's. */
void *mgds_op_place(struct mgds_op *op);
enum { MGDS_OP_COUNT = 4 }; /* where the bytes are in op->recv->words */
/* What it has of ours for its bytes, and the words, goes back. */
void mgds_op_give_means(struct mgds_op *op);
/* Gives a send its request ID, a receive a number. Under the lock. -ENOMEM, or
 * what getrandom failed with. */
int mgds_op_name(struct mgds_op *op);
/* Its peer is told of it: gives it a request ID, if it has none. As above. */
int mgds_op_tell_name(struct mgds_op *op);
/* What a peer names by a request ID, without a reference; NULL: nothing that is
 * under way, or was lost. Under the lock. */
struct mgds_op *mgds_op_find(uint64_t request_id);
/* It has left the engine: its request ID finds nothing any more. */
void mgds_op_forget(struct mgds_op *op);
/* Whether nothing is under way by that name any more, but was, and was lost.
 * Under the lock. */
bool mgds_op_was_lost(uint64_t request_id);
/* No request ID finds anything any more. */
void mgds_ops_forget(void);

#endif
