/*
 * What the files of this folder share: records of operations and messages, and
 * the lines between the CPU and the streams. domain.h is for who uses them.
 *
 * One lock, the engine's (rank COMM), guards all that is not said otherwise. It
 * is taken by callers, by the wire's handlers and by its poller, so it is never
 * held across a CUDA call. Posting to the wire under it is allowed (wire.h).
 *
 *   send                                       receive
 *   CALLED  RTS posted                          POSTED   in the matcher
 *     | stream came here, bytes staged           | paired: PULL posted
 *   reached                                    MATCHED  (into host memory of
 * the | PULL came                                |  program: PULL when reached)
 *   asked                                        | DATA landed, stream came
 * here | both: DATA posted                       ARRIVED  status known MOVED
 * the wire is done with the bytes      | copied up, by the stream or DONE by a
 * caller done for the caller: reached (bytes        or: cancelled while POSTED,
 * or an staged), else MOVED; synchronous ones      error instead of any step
 *   also asked
 *
 * References of an operation: one of the caller (its request, or the wait that
 * took it over), one of the engine until the last step, one of a mark that its
 * stream has not passed.
 */
#ifndef MGDS_DOMAIN_ENGINE_H
#define MGDS_DOMAIN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/lock.h"
#include "shim/gds/domain/domain.h"
#include "shim/gds/domain/envelope.h"
#include "shim/gds/domain/line.h"
#include "shim/gds/match/match.h"
#include "shim/gds/stage/bounce.h"
#include "shim/gds/wire/wire.h"

struct mgds_op;

/* A message at its receiver, from its RTS on. */
struct mgds_message {
    struct mgds_match_send match; /* first */
    unsigned to_index;            /* taken by a probe */
    struct mgds_domain *domain;   /* a reference */
    unsigned rank, index;         /* of the sender */
    uint64_t cookie;
    size_t bytes;
    bool sync; /* its sender waits for a receive that is reached */
};

struct mgds_op {
    struct mgds_match_recv match; /* first; a receive */
    unsigned refs;                /* atomic */
    struct mgds_domain *domain;   /* a reference */
    struct mgds_op *prev, *next;  /* among the domain's, while the engine has
                                     its reference */
    bool send, sync, enqueued;
    /* the program's buffer: constant */
    struct mgds_buffer user;    /* with a reference to the layout */
    size_t bytes;               /* of all of it, packed */
    struct mgds_bounce *bounce; /* GPU memory */
    char *copy;                 /* host memory of ours, or NULL: directly */
    int rank, tag;              /* the peer as it was called */
    unsigned index, from_index;
    /* steps */
    bool reached, asked, moved, arrived, done;
    bool waited;  /* a wait in a stream took it over */
    bool lifting; /* the copy up was queued by a caller */
    bool cancelled;
    bool seen; /* a caller knows that it is done */
    int error; /* negative errno */
    /* send */
    uint64_t number, answer;
    size_t wanted;
    /* receive */
    struct mgds_message *message;
    size_t got;
    struct mgds_op_status status;
    /* streams */
    struct mgds_line *line; /* that it was enqueued on, or NULL */
    struct mgds_mark mark;
    struct mgds_op *orphan; /* the next one */
    struct mgds_wait *wait;
    struct mgds_op_sink sink;
    uint64_t *count; /* a receive into GPU memory: bytes, for UNPACK */
    uint64_t name;
    bool pulled, posted, told; /* PULL, DATA, REACHED were posted */
};

struct mgds_domain {
    unsigned refs; /* atomic: the communicator, operations, messages */
    uint64_t id;
    unsigned rank, size, peers; /* peers: of the remote group, or size */
    unsigned streams;
    struct mgds_gstream **stream; /* references */
    struct mgds_wire_peer **peer; /* by rank */
    unsigned *base;               /* by rank: of its sources */
    unsigned sources;
    struct mgds_match **match; /* by own stream index, at least one */
    uint64_t *sent;            /* by own index, then by source */
    bool *subscriber;          /* by rank: wants REACHED */
    bool subscribed;           /* we told all that we want it */
    struct mgds_op *ops;
    int error; /* not yet told (mgds_domain_take_error); atomic */
    struct mgds_domain *next;
};

extern struct mgds_lock mgds_engine_lock;
void mgds_engine_enter(void) MGDS_ACQUIRE(mgds_engine_lock);
/* Also ends what was put meanwhile. */
void mgds_engine_leave(void) MGDS_RELEASE(mgds_engine_lock);

/* Under the lock: put, or freed, when it is free. */
void mgds_engine_put_later(struct mgds_op *op);
void mgds_engine_free_later(struct mgds_wait *wait);

/* The domain, without a reference, or NULL. Under the lock. */
struct mgds_domain *mgds_domain_find(uint64_t id);
void mgds_domain_get(struct mgds_domain *domain);
/* The first of all, chained by next. Under the lock. */
struct mgds_domain *mgds_domain_first(void);

/* exchange.c; all under the lock. */

/* Sets the wire's handlers: once. */
void mgds_exchange_init(void);
/* Tells the receiver of the send. */
void mgds_exchange_called(struct mgds_op *op, bool reached);
/* Envelopes that came before their domain did. */
void mgds_exchange_replay(void);
void mgds_exchange_forget(void);
/* The matcher paired them. */
void mgds_exchange_paired(void *domain, struct mgds_match_recv *recv,
                          struct mgds_match_send *send);
/* The stream came to it, and staged bytes are there. */
void mgds_exchange_reached(struct mgds_op *op);
/* Asks all members to tell what they reach. */
void mgds_exchange_subscribe(struct mgds_domain *domain);

/* op.c */
struct mgds_op *mgds_op_get(struct mgds_op *op);
/* A reference less; true if it was the last, and destroy must follow, without
 * the lock. */
bool mgds_op_drop(struct mgds_op *op);
void mgds_op_destroy(struct mgds_op *op);
/* Where the wire reads a send's bytes, or puts a receive's. */
void *mgds_op_place(struct mgds_op *op);
/* Receives into GPU memory whose requests were freed: their bytes are copied up
 * in host calls. How many of no line there are (a line counts its own); and a
 * step of each, without the lock. */
unsigned mgds_orphans(void);
void mgds_orphans_poll(void);
/* It is over, with this error or 0. Under the lock; once. */
void mgds_op_finish(struct mgds_op *op, int error);
/* The first error that no call has told yet. */
void mgds_domain_keep_error(struct mgds_domain *domain, int error);
/* A stream will pass it: its error is the stream's and the domain's. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_line *line);
/* The engine needs it no more. Under the lock; the reference is put later. */
void mgds_op_leave_engine(struct mgds_op *op);

#endif
