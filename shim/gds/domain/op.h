/*
 * Operations and messages as the files of this folder know them; domain.h is
 * for who uses them. The engine's lock (msg/engine.h) guards all that is not
 * said otherwise.
 *
 * How their messages move, and what may follow on what, is a table of states
 * (msg/op_state.h). Beside the state there are
 *
 *   reached   the stream came here, and staged bytes are there
 *   done      the caller may go on: a send that is reached, if its bytes are
 *             staged or there are none, else one that is moved, too; a
 *             synchronous one is asked for, as well. A receive that has ARRIVED
 *             or is TAKEN; then who wants the bytes copies them up, the stream
 *             or a caller
 *   fetch     a copy of ours is under way (fetch.h): of a message that its
 *             receiver copies (rget.h), or out of memory that was lent (room.h)
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
 * took it over), one of the engine until the last step, one of a mark that its
 * stream has not passed. Its cookie is known as long as the engine has one, and
 * that it was one for ever if it was lost: what its peer still says of it is no
 * reason for a line.
 */
#ifndef MGDS_DOMAIN_OP_H
#define MGDS_DOMAIN_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/base/spares.h"
#include "shim/gds/domain/domain_state.h"
#include "shim/gds/domain/line.h"
#include "shim/gds/domain/watched.h"
#include "shim/gds/match/match.h"
#include "shim/gds/msg/engine.h"
#include "shim/gds/msg/op_state.h"
#include "shim/gds/msg/op_wait.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/proto/protocol.h"
#include "shim/gds/mem/bounce.h"
#include "shim/gds/mem/pool.h"
#include "shim/gds/transport/channel.h"
#include "shim/gds/transport/channels.h"

struct mgds_claim;
struct mgds_fetch;
struct mgds_quit;

/* A message at its receiver, from its RTS on. */
struct mgds_message {
    struct mgds_match_send match; /* first */
    unsigned to_index;            /* of the receiver's stream */
    struct mgds_domain *domain;   /* a reference */
    unsigned rank, index;         /* of the sender */
    uint64_t cookie;              /* of the send, there */
    size_t bytes;
    const struct mgds_protocol *protocol;
    int refused;     /* negative errno: why it is not of the protocol that its
                        RTS names; or 0 */
    uint64_t serial; /* in the ring; 0: it does not come there */
    uint32_t units;
    bool sync; /* asked for when the receive's stream is there */
    /* of rget */
    bool stands;
    bool listed;           /* among those of the domain that we copy */
    uint64_t source, done; /* addresses, as mapped here */
    struct mgds_op *op;    /* that it was paired with */
    LIST_ENTRY(mgds_message) pull_link;
};

/* Is it the one that the source has sent to that stream with that number?
 * Numbers are counted for each stream that a source sends to. */
bool mgds_message_is(const struct mgds_message *message, int source,
                     unsigned to_index, uint64_t number);

/* It is not among those that are copied any more. NULL is allowed. */
void mgds_message_unlink(struct mgds_message *message);
/* Nobody will receive it. */
void mgds_message_drop(struct mgds_message *message);

/* Memory that its bounce gets for a while (room.h). */
struct mgds_op_loan {
    bool waits;     /* for it */
    bool kept;      /* not given back early: streams were told where it is */
    uint64_t *unit; /* for the fetch out of it; NULL: nothing was lent */
};

/* Nobody may come to copy its message (hasten.h). */
struct mgds_op_late {
    struct mgds_work work;
    uint64_t passes; /* of its line when it was added */
};

/* A kernel stands for it that is told not to (quit.h). */
struct mgds_op_quit {
    struct mgds_quit *record; /* what tells it; or NULL */
    int error;                /* with which it ends then */
    int told;                 /* with which it has, and that was told */
    bool listed;              /* nobody knows yet whether it has */
    LIST_ENTRY(mgds_op) link;
};

/* A send whose wait takes too long (expire.h): ns, or 0. */
struct mgds_op_expiry {
    uint64_t came;    /* when its stream came to it; 0: or nothing is timed */
    uint64_t revoked; /* when its receiver was asked to do without it */
    uint64_t spared;  /* when that said that it has it */
    bool ended;       /* or that nobody will read it */
};

struct mgds_op {
    struct mgds_match_recv match; /* first; a receive */
    unsigned refs;                /* atomic */
    struct mgds_domain *domain;   /* a reference */
    struct mgds_ending ending;
    LIST_ENTRY(mgds_op)
    link; /* among the domain's, while the engine has its
             reference */
    bool send, sync, enqueued, stands;
    uint64_t cookie; /* what its peer names it by; 0: the peer was not told of
                        it */
    /* the program's buffer: constant */
    struct mgds_buffer user;    /* with a reference to the layout */
    size_t bytes;               /* of all of it, packed */
    struct mgds_bounce *bounce; /* GPU memory */
    char *copy;                 /* host memory of ours, or NULL: directly */
    int rank, tag;              /* the peer as it was called */
    unsigned index, from_index;
    /* steps */
    enum mgds_op_state state;
    bool reached, done;
    enum mgds_op_waiting waiting;
    bool dropped; /* the program freed its request: nobody will ask */
    bool lifting; /* the copy up was queued by a caller */
    bool seen;    /* a caller knows that it is done */
    int error;    /* negative errno */
    /* send */
    const struct mgds_protocol *protocol;   /* constant once it is called, */
    const struct mgds_transport *transport; /* as well */
    unsigned may; /* and which it might have (proto/select.h); rget not if its
                     memory will never be mapped */
    uint64_t number; /* a receive's as well: of all of this process */
    uint64_t answer;
    size_t wanted;
    /* receive */
    struct mgds_message *message;
    size_t got;
    struct mgds_op_status status;
    /* streams */
    struct mgds_line *line; /* that it was enqueued on, or NULL */
    uint64_t at; /* that stream's name, or of the one that waits for it; or 0 */
    struct mgds_mark mark;
    struct mgds_wait *wait;
    struct mgds_op_sink sink;
    struct mgds_gstream
        *stream;     /* whose bounce and words it has: a reference */
    uint64_t *words; /* a receive's, for its stream (words.h): a record for
                        TAKE, then the bytes, for UNPACK */
    uint64_t name;
    bool told; /* REACHED was posted */
    /* rings */
    struct mgds_channel *channel; /* where a send has its slot, until that is
                               given back */
    struct mgds_slot slot;
    bool near;     /* a receive into memory that kernels of its stream reach,
                      where a ring is: constant */
    bool demanded; /* but must not: somebody else than its stream asks */
    /* messages that their receivers copy */
    struct mgds_channel *words_of; /* whose word, until it is given back */
    uint32_t done_word;
    struct mgds_claim *claim; /* a receive that could take one, or NULL */
    uint64_t gen;             /* of the claim */
    struct mgds_fetch *fetch; /* under way, or NULL (fetch.h) */
    bool direct;              /* fetched to where it belongs */
    bool credited;            /* its sender was told that it was copied */
    /* the peer's end */
    struct mgds_line *stood; /* whose kernels wait for it: TAKING, AWAITING */
    const char *why;         /* it failed or will, or NULL */
    bool named;              /* in a line, with that */
    bool lost; /* failed, since its peer or its stream was, or its wait took
                  too long */
    /* parts, each of the file that it is named for */
    struct mgds_op_loan loan;
    struct mgds_op_late late;
    struct mgds_work copying; /* out of its bounce (orphan.h), or into it
                                 (fallback.h): has a reference */
    bool orphan;              /* that is to be added when it is done */
    struct mgds_op_quit quit;
    struct mgds_op_expiry expiry;
    STAILQ_ENTRY(mgds_op) lost_link;
    struct mgds_watched watched;
};

/* Where the records come from. */
extern struct mgds_spares mgds_op_spares, mgds_message_spares;

/* Might a send have this protocol, by what is known so far? */
static inline bool mgds_op_might(const struct mgds_op *op,
                                 enum mgds_protocol_id id)
{
    return op->may & 1u << id;
}

/* Could a receive's stream take its message? Constant. */
static inline bool mgds_op_can_take(const struct mgds_op *op)
{
    return op->near && op->enqueued;
}

/* Called with a way from GPU to GPU: constant from then on. */
static inline bool mgds_op_is_direct(const struct mgds_op *op)
{
    return op->send ? op->protocol->slotted : mgds_op_can_take(op);
}

/* The first byte of the program's, if there is one. */
char *mgds_op_user(const struct mgds_op *op);
/* The rank at its other end; negative: any, so far. */
int mgds_op_peer(const struct mgds_op *op);
/* How much of its message a receive has room for. */
size_t mgds_op_fitting(const struct mgds_op *op);
/* Where its message is in the ring. */
uint64_t mgds_op_units(const struct mgds_op *op);
struct mgds_op *mgds_op_get(struct mgds_op *op);
/* Its state after the event; false: that is nothing for it, and a line says so,
 * since whoever tells of one has to ask before if there is a doubt (may). Under
 * the lock, as all of these. */
bool mgds_op_step(struct mgds_op *op, enum mgds_op_event event);
bool mgds_op_may(const struct mgds_op *op, enum mgds_op_event event);
/* The same of what waits in streams make of it. */
bool mgds_op_wait_step(struct mgds_op *op, enum mgds_op_wait_event event);
/* The bytes are where they belong, or will not come. */
bool mgds_op_is_moved(const struct mgds_op *op);
/* A wait in its own stream has it, or had. */
bool mgds_op_is_taken(const struct mgds_op *op);
/* A reference less: under the lock, and without it. */
void mgds_op_put_later(struct mgds_op *op);
void mgds_op_release(struct mgds_op *op);
/* Where the wire reads a send's bytes, or puts a receive's. */
void *mgds_op_place(struct mgds_op *op);
enum { MGDS_OP_COUNT = 4 }; /* where the bytes are in op->words */
/* What it has of ours for its bytes, and the words, goes back. */
void mgds_op_give_means(struct mgds_op *op);
/* Its bytes have got memory of ours: counted until that goes back. */
void mgds_op_count_staged(void);
/* Whether any have. Any thread. */
bool mgds_ops_any_staged(void);
/* Gives a send its cookie, a receive a number. Under the lock. -ENOMEM, or what
 * getrandom failed with. */
int mgds_op_name(struct mgds_op *op);
/* Its peer is told of it: gives it a cookie, if it has none. As above. */
int mgds_op_tell_name(struct mgds_op *op);
/* What a peer names by a cookie, without a reference; NULL: nothing that is
 * under way, or was lost. Under the lock. */
struct mgds_op *mgds_op_find(uint64_t cookie);
/* It has left the engine: its cookie finds nothing any more. */
void mgds_op_forget(struct mgds_op *op);
/* Whether nothing is under way by that name any more, but was, and was lost.
 * Under the lock. */
bool mgds_op_was_lost(uint64_t cookie);
/* No cookie finds anything any more. */
void mgds_ops_forget(void);

#endif
