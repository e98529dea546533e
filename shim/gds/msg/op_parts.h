/*
 * The parts of an operation (op.h). Each is a record for one purpose; an
 * operation has only those that it needs, in one allocation with itself, and a
 * pointer to each that is NULL where there is none:
 *
 *   part     of               what it is
 *   call     all              how it was called: constant
 *   send     sends            what the sender knows
 *   recv     receives         the match, and the delivery
 *   ring     enqueued sends   what it has of its channel
 *   queued   enqueued ones    the fence, what is late, whom not to wait for
 *   waited   all              the wait in a stream
 *   caller   all              who asks for it by host calls
 *   fail     all              what lines about it say
 *
 * The states TAKEN and AWAITING, and a claim, are of enqueued ones alone.
 *
 * Words are written and read under the engine's lock (msg/engine.h), but where
 * it is said otherwise. Constant words are written by the thread that calls the
 * operation, before the engine has it, and may then be read by any thread.
 */
#ifndef MGDS_MSG_OP_PARTS_H
#define MGDS_MSG_OP_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/gds/comm/comm.h"
#include "shim/gds/msg/timeline.h"
#include "shim/gds/comm/watched.h"
#include "shim/gds/match/match.h"
#include "shim/gds/mem/bounce.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/proto/protocol.h"
#include "shim/gds/transport/channel.h"

struct mgds_claim;
struct mgds_fetch;
struct mgds_message;
struct mgds_op;
struct mgds_quit;

/* Bits of what an operation is. */
enum mgds_op_attribute {
    MGDS_OP_SYNC = 1,   /* a send is done when it was asked for */
    MGDS_OP_STANDS = 2, /* its stream waits for it at once */
    MGDS_OP_NEAR = 4,   /* a receive into memory that kernels of its stream
                           reach, where a ring is */
    MGDS_OP_LEAN = 8,   /* GPU memory for which no pinned memory was at hand */
    MGDS_OP_ORDINARY = 16, /* its bytes go through ordinary memory: a receive
                              (proto/lift.h); a lean send that must not wait
                              for its receiver (proto/flow.h) */
    MGDS_OP_SERVES = 32    /* waits of its stream serve orders while it lasts */
};

/* How an operation was called. Constant. */
struct mgds_op_call {
    unsigned is;             /* of mgds_op_attribute */
    int rank, tag;           /* the peer; a receive: or any */
    unsigned index;          /* of the receiver's stream */
    unsigned from_index;     /* of the sender's */
    uint64_t name;           /* the program's, for errors */
    uint64_t number;         /* of a send: counted for its pair of streams; of a
                                receive: of all of this process */
    size_t bytes;            /* of all of the buffer, packed */
    struct mgds_buffer user; /* with a reference to the layout */
};

/* What a send's receiver has answered, if its wait takes too long (expire.h).
 */
enum mgds_op_revoking {
    MGDS_OP_UNREVOKED, /* it was not asked */
    MGDS_OP_REVOKED,   /* it was asked to do without the send */
    MGDS_OP_SPARED,    /* it has the message */
    MGDS_OP_ENDED      /* it has not, and nobody will read the buffer */
};

/* What the sender knows. */
struct mgds_op_sender {
    /* constant once it is called, until its receiver refuses (fallback.h) */
    const struct mgds_protocol *protocol;
    const struct mgds_transport *transport;
    unsigned may;    /* the protocols that it might have (proto/select.h); rget
                        not if its memory will never be mapped */
    bool told;       /* REACHED was posted */
    uint64_t answer; /* from the PULL on: the receive's request ID, */
    size_t wanted;   /* and how many bytes that asks for, */
    size_t part;     /* and of how many in a part; 0: all at once */
    struct mgds_flow *keep;         /* to ordinary memory, or NULL */
    enum mgds_op_revoking revoking; /* expire.c's; rget.c reads it */
    uint64_t since;                 /* when revoking changed last, ns */
};

/* Bytes that the wire puts somewhere: who is told that they are there, or
 * negative errno; under the engine's lock. */
struct mgds_landing {
    void (*landed)(struct mgds_landing *landing, int error);
};

/* A receive: what the matcher has, its message, and how that is delivered. */
struct mgds_op_receiver {
    struct mgds_match_recv match; /* first; the matcher's once it is posted */
    struct mgds_op *op;           /* constant: that it is a part of */
    struct mgds_message *message; /* that it was paired with, or NULL */
    size_t got;      /* bytes of it that are asked for, or were delivered */
    uint64_t *words; /* for its stream (syncwords.h): a record for TAKE, then
                        the bytes, for UNPACK. Constant; what it points to is
                        written under the lock, and read by the stream */
    bool demanded;   /* somebody else than its stream asks: that must not take
                        the message */
    bool direct;     /* it was brought to where it belongs */
    bool lifted;     /* the copy there was queued: lift.c's */
    bool credited;   /* its sender was told that it was copied */
    struct mgds_claim *claim; /* constant: by which its stream and others settle
                                 who copies; NULL: only one of them may */
    uint64_t gen;             /* constant: of the claim */
    struct mgds_fetch *fetch; /* under way (fetch.c's), or NULL */
    struct mgds_landing landing; /* of all bytes at once: arrive.c's */
};

/* What an enqueued send has of its channel, until it is given back. */
struct mgds_op_ring {
    struct mgds_channel *channel; /* whose slot; NULL: none, or given back */
    struct mgds_slot slot;
    struct mgds_channel *words_of; /* whose done word (rget); NULL as above */
    uint32_t done_word;
};

/* Nobody may come to copy its message: hasten.c's. */
struct mgds_op_late {
    struct mgds_work work;
    uint64_t passes; /* of its timeline when it was added */
};

/* A kernel stands for it that is told not to: quit.c's. */
struct mgds_op_quit {
    struct mgds_quit *record; /* what tells it; or NULL */
    int error;                /* with which it ends then */
    int told;                 /* with which it has, and that was told */
    struct mgds_work work;    /* until the stream has passed: has a reference */
};

/* What an operation that was enqueued has of its stream. */
struct mgds_op_queued {
    struct mgds_fence fence; /* where it stands in its stream; its members are
                                the timeline's */
    struct mgds_op *op;      /* constant: that it is a part of */
    uint64_t came; /* when its stream came to it, ns; 0: it has not, or
                      nothing is timed */
    struct mgds_op_late late;
    struct mgds_op_quit quit;
};

/* The wait in a stream that has taken it over: wait_fill.c's, and put.c's if it
 * could not be put. */
struct mgds_op_waited {
    struct mgds_wait *wait;      /* that misses it, or NULL */
    struct mgds_timeline *stood; /* that passes it, or whose kernels wait for it
                                    (TAKING, KNOWN, AWAITING); NULL: none */
    struct mgds_op_sink sink;    /* wait.c's */
    uint64_t at; /* for errors: the name of its stream, or, of a host call's, of
                    the one that waits for it; or 0 */
};

/* Whether a host call still asks for it. */
enum mgds_op_asking {
    MGDS_OP_OWNED,   /* a program has its request, or a wait has it */
    MGDS_OP_SEEN,    /* and knows that it is done */
    MGDS_OP_DROPPED, /* nobody will ask: an error of it is the communicator's */
    MGDS_OP_ORPHANED, /* and it has bytes that are to be copied out (orphan.h)
                       */
};

/* The host calls that ask for it. */
struct mgds_op_caller {
    enum mgds_op_asking asking; /* SEEN is written without the lock, by the
                                   thread that asks, when it is done: until it
                                   puts it nobody else looks any more */
    bool lifting; /* the copy up was queued by a caller: written under the lock,
                     read without it by the threads that have its request */
    struct mgds_watched watched;
};

/* What lines about it say when it fails. */
struct mgds_op_failing {
    const char *why;            /* constant text: it failed or will; or NULL */
    bool named;                 /* in a line, with that */
    STAILQ_ENTRY(mgds_op) link; /* lost.c's */
};

#endif
