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
 * A message that also comes by a ring (landing.h) is not PULLed while its
 * receive may still be taken there: HELD, from its match until
 *   a wait in the receive's own stream takes it   TAKEN, done; its place in the
 *                                                 ring is given back when the
 *                                                 stream has passed the wait
 *   somebody asks for it in another way           PULL, as every other
 *
 * One that its receiver copies (pull.h) is HELD likewise; who asks for it in
 * another way has it FETCHED (fetch.h), when its sender says that it may be.
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
#ifndef MGDS_DOMAIN_ENGINE_H
#define MGDS_DOMAIN_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "shim/base/lock.h"
#include "shim/base/spares.h"
#include "shim/gds/domain/credit.h"
#include "shim/gds/domain/domain.h"
#include "shim/gds/domain/envelope.h"
#include "shim/gds/domain/landing.h"
#include "shim/gds/domain/line.h"
#include "shim/gds/domain/watch.h"
#include "shim/gds/match/match.h"
#include "shim/gds/stage/bounce.h"
#include "shim/gds/stage/pool.h"
#include "shim/gds/wire/wire.h"

struct mgds_op;

/* A message at its receiver, from its RTS on. */
struct mgds_message {
    struct mgds_match_send match; /* first */
    unsigned to_index;            /* of the receiver's stream */
    struct mgds_domain *domain;   /* a reference */
    unsigned rank, index;         /* of the sender */
    uint64_t cookie;              /* of the send, there */
    size_t bytes;
    uint64_t serial; /* in the ring; 0: it does not come there */
    uint32_t units;
    bool sync; /* asked for when the receive's stream is there */
    /* one that its receiver copies (pull.h) */
    bool pull, stands;
    uint64_t source, done; /* addresses, as mapped here; source 0: the message
                              cannot be had */
    struct mgds_op *op;    /* that it was paired with */
    struct mgds_message *prev, *next; /* such ones of the domain */
};

/* Is it the one that the source has sent to that stream with that number?
 * Numbers are counted for each stream that a source sends to. */
bool mgds_message_is(const struct mgds_message *message, int source,
                     unsigned to_index, uint64_t number);

struct mgds_op {
    struct mgds_match_recv match; /* first; a receive */
    unsigned refs;                /* atomic */
    struct mgds_domain *domain;   /* a reference */
    struct mgds_op *prev, *next;  /* among the domain's, while the engine has
                                     its reference */
    bool send, sync, enqueued, stands;
    uint64_t cookie; /* what its peer names it by */
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
    bool dropped; /* the program freed its request: nobody will ask */
    bool lifting; /* the copy up was queued by a caller */
    bool cancelled;
    bool seen; /* a caller knows that it is done */
    int error; /* negative errno */
    /* send */
    bool offered; /* put where its receiver may take it (rings) */
    uint64_t number, answer;
    size_t wanted;
    /* receive */
    struct mgds_message *message;
    size_t got;
    struct mgds_op_status status;
    /* streams */
    struct mgds_line *line; /* that it was enqueued on, or NULL */
    uint64_t at; /* that stream's name, or of the one that waits for it; or 0 */
    struct mgds_mark mark;
    struct mgds_op *orphan; /* the next one */
    bool cared;             /* a thread looks after the orphan */
    struct mgds_wait *wait;
    struct mgds_op_sink sink;
    struct mgds_gstream
        *stream;     /* whose bounce and words it has: a reference */
    uint64_t *words; /* a receive's, for its stream (words.h): a record for
                        TAKE, then the bytes, for UNPACK */
    uint64_t name;
    bool pulled, posted, told; /* PULL, DATA, REACHED were posted */
    /* rings */
    struct mgds_lane *lane; /* a send that goes there, too */
    struct mgds_landing_place place;
    bool taker;    /* a receive that could come out of one */
    bool straight; /* called with a way from GPU to GPU: constant */
    bool demanded; /* but must not: somebody else than its stream asks */
    bool taking;   /* a wait in its stream took it over */
    bool held;     /* matched, to be taken */
    bool known;    /* before the wait was put: it says all itself */
    bool taken;    /* out of the ring */
    /* messages that their receivers copy */
    bool pull;     /* a send of one */
    bool mappable; /* or of one that could be, once its memory is mapped */
    bool answered; /* the receiver was told that it may */
    bool awaiting; /* a wait in its stream waits for the word */
    bool copied;   /* the stream has seen the word, so it was copied */
    struct mgds_lane *words_of; /* whose word, until it is given back */
    uint32_t done_word;
    struct mgds_claim *claim; /* a receive that could take one, or NULL */
    uint64_t gen;             /* of the claim */
    bool rooming;             /* its bounce gets memory (room.h) */
    uint64_t *lent;           /* and gives it back early: its fetch's unit */
    bool kept;                /* but not that: streams were told where it is */
    bool fetching;            /* under way (fetch.h) */
    bool direct;              /* fetched to where it belongs */
    struct mgds_piece *room;  /* else there, if nothing else is pinned */
    bool credited;            /* its sender was told that it was copied */
    bool late;                /* in a list of pull.c */
    uint64_t since;           /* in it, ns */
    uint64_t passes;          /* of its line then */
    struct mgds_op *prev_late, *next_late;
    /* a send whose wait takes too long (expire.h): when its receiver was asked
       to do without it, and when that said that it has it; ns, or 0 */
    uint64_t revoked, spared;
    uint64_t came; /* when its stream came to it, ns; 0: it did not, or nothing
                      is timed */
    bool ended;    /* its receiver said that nobody will read it */
    /* the peer's end */
    struct mgds_line *stood; /* whose kernels wait for it: taking, awaiting */
    struct mgds_quit *quit;  /* what tells them not to (quit.c) */
    int quit_error;
    const char *why; /* it failed or will, or NULL */
    bool named;      /* in a line, with that */
    int given_up;    /* the error with which it was, and that was told */
    struct mgds_op *next_quit;
    bool landing; /* the wire writes to its place */
    bool lost;    /* failed, since its peer or its stream was, or its wait took
                     too long */
    struct mgds_op *next_lost;
    struct mgds_watched watched;
};

struct mgds_domain {
    unsigned refs; /* atomic: the communicator, operations, messages */
    uint64_t id;
    unsigned rank, size, peers; /* peers: of the remote group, or size */
    bool inter;
    unsigned streams;
    struct mgds_gstream **stream; /* references */
    struct mgds_wire_peer **peer; /* by rank */
    unsigned *base;               /* by rank: of its sources */
    struct mgds_landing *landing; /* a reference, or NULL: no rings */
    unsigned sources;
    struct mgds_match **match;   /* by own stream index, at least one */
    uint64_t *sent;              /* by own index, then by source */
    bool *subscriber;            /* by rank: wants REACHED */
    bool subscribed;             /* we told all that we want it */
    bool *met;                   /* by rank: it was posted to */
    int *lost;                   /* by rank: 0, or the errno that ended it */
    struct mgds_credit **credit; /* by rank: what it is not told yet, or NULL */
    struct mgds_op *ops;
    struct mgds_message *pulls; /* messages that we copy */
    struct mgds_debt owed;      /* not yet told (mgds_domain_take_error) */
    bool astray;     /* nobody asks for its errors by name any more */
    unsigned waited; /* operations that waits in streams have: atomic, and less
                        by one when all that such a wait does is over */
    char name[MGDS_DOMAIN_NAME]; /* the program's, for lines about it */
    struct mgds_domain *prev, *next;
    bool listed;                   /* among all, and among those alike */
    LIST_ENTRY(mgds_domain) alike; /* those whose ids have the same hash */
};

/* Where the records come from. */
extern struct mgds_spares mgds_op_spares, mgds_message_spares;
/* Waits for one operation; others have a size of their own. */
extern struct mgds_spares mgds_wait_spares;

extern struct mgds_lock mgds_engine_lock;
void mgds_engine_enter(void) MGDS_ACQUIRE(mgds_engine_lock);
/* Unless somebody has it. */
int mgds_engine_try(void) MGDS_TRY_ACQUIRE(mgds_engine_lock);
/* Also ends what was put meanwhile. */
void mgds_engine_leave(void) MGDS_RELEASE(mgds_engine_lock);

/* Under the lock: put, or freed, when it is free. */
void mgds_engine_put_later(struct mgds_op *op);
void mgds_engine_free_later(struct mgds_wait *wait);

/* What nobody came by to do, and the driver may keep: by a thread that does
 * nothing else (launcher.h). */
void mgds_last_resort(void);

/* The domain, without a reference, or NULL. Under the lock. */
struct mgds_domain *mgds_domain_find(uint64_t id);
/* Whether there was one, which will not come again. Under the lock. */
bool mgds_domain_is_gone(uint64_t id);
/* Domains that find has looked at so far. Under the lock. */
uint64_t mgds_domain_steps(void);
void mgds_domain_get(struct mgds_domain *domain);
/* The first of all, chained by next. Under the lock. */
struct mgds_domain *mgds_domain_first(void);

/* exchange.c; all under the lock. */

/* The wire is done with the bytes of a send; those of a receive are there, or
 * will not come. */
void mgds_exchange_send_moved(struct mgds_op *op, int rc);
void mgds_exchange_recv_moved(struct mgds_op *op, int error);
/* The wire has put them to where they were to go, or negative errno. */
void mgds_exchange_landed(struct mgds_op *op, int error);
/* The receiver asked for a send's bytes. */
void mgds_exchange_asked(struct mgds_op *op);
/* A member that subscribed, or anyway, is told that a send was reached. */
void mgds_exchange_tell(struct mgds_op *op, bool anyway);

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
/* Somebody else than the receive's stream waits for it: it is not held any
 * more. */
void mgds_exchange_demand(struct mgds_op *op);
/* A held message is its wait's: done, before its stream has taken it. */
void mgds_exchange_take(struct mgds_op *op);
/* The stream has passed the TAKE, and has taken it unless it was given up. */
void mgds_exchange_taken(struct mgds_op *op, bool given_up);
/* The stream has passed the AWAIT: it was copied, unless there is an error. */
void mgds_exchange_awaited(struct mgds_op *op, int error);
/* It was fetched, and is where it belongs if op->direct; or negative errno. */
void mgds_exchange_fetched(struct mgds_op *op, int error);
/* Nobody will copy what was taken: its stream, when it comes there, passes. */
void mgds_exchange_withdrawn(struct mgds_op *op, int error);
/* Its bounce has got memory, or could not. */
void mgds_exchange_has_room(struct mgds_op *op, int error);
/* A post of ours to a rank's process: negative errno, and one line. */
int mgds_exchange_post(struct mgds_wire_peer *peer,
                       const struct mgds_wire_message *message);
/* Tells a rank that messages of it were taken. */
void mgds_exchange_give(struct mgds_domain *domain, unsigned rank,
                        const struct mgds_taken *taken);
/* Tells a process how a send of it ends (envelope.h). */
void mgds_exchange_end(struct mgds_wire_peer *peer,
                       const struct mgds_ended *ended);
/* A receive that has failed tells the sender of its message, if it has one:
 * nobody will read that. */
void mgds_exchange_unread(const struct mgds_op *op, int error);
/* Asks all members to tell what they reach. */
void mgds_exchange_subscribe(struct mgds_domain *domain);
/* Before a receive: has a connection to the rank, so that its end is seen;
 * from any source, subscribes. */
void mgds_exchange_meet(struct mgds_domain *domain, int rank);
/* Its peer is lost. What the wire still has of it ends by itself. */
void mgds_exchange_fail(struct mgds_op *op, int error);

/* quit.c; under the lock, but due and chore. */

/* A wait of which nothing is left but a kernel that waits (op->stood) is not to
 * wait for the operation's message: it ends with the error, unless the message
 * is there in the end. Where that cannot be said the stream is ruined. */
void mgds_quit_begin(struct mgds_op *op, int error);
/* Such a wait ends with the error: the first time that it does, this is told.
 */
void mgds_quit_tell(struct mgds_op *op, int error);
/* The stream has passed it: 0, or the error with which it was given up. */
int mgds_quit_settle(struct mgds_op *op);
/* What kernels have given up is told. */
bool mgds_quitting_due(void);
void mgds_quitting_look(void);
/* For the wire's thread, without the lock: has streams asked how far they have
 * come, where only that is still to be known. */
void mgds_quitting_chore(void);
void mgds_quitting_fini(void);

/* lost.c; all but init under the lock. */

/* From now on the ends of peers are heard of: once. */
void mgds_lost_init(void);
/* Nothing of the peer comes any more: all that is under way with it fails. */
void mgds_lost_peer(const struct mgds_wire_peer *peer);
/* Of a rank, or any source, which is lost when all other members are: 0, or
 * what a call that names it ends with. */
int mgds_lost_rank(const struct mgds_domain *domain, int rank);
/* An operation that has just been called fails if its peer is lost. */
void mgds_lost_check(struct mgds_op *op);
/* One fails by itself, with one line that says why. */
void mgds_lost_op(struct mgds_op *op, int error, const char *why);
/* The line alone, with op->why: once. */
void mgds_lost_name(struct mgds_op *op);
/* The stream is ruined: all that is under way on it fails. */
void mgds_lost_line(const struct mgds_line *line, int error);

/* wait.c; all but create, free and speak under the lock. */
struct mgds_wait *mgds_wait_create(unsigned count);
void mgds_wait_free(struct mgds_wait *wait);
void mgds_wait_put(struct mgds_wait *wait);
/* Takes the references to the ops, which are as many as it was made for. */
void mgds_wait_fill(struct mgds_wait *wait, struct mgds_line *line,
                    struct mgds_op *const ops[],
                    const struct mgds_op_sink sinks[]);
/* It may pass: its statuses; then what takes that stand are to take. */
void mgds_wait_store(const struct mgds_wait *wait);
void mgds_wait_publish(const struct mgds_wait *wait);
/* Nobody hears of it any more; puts the line's reference. */
void mgds_wait_leave(struct mgds_wait *wait);
/* Has the stream store how far it has come, if marks of it are quiet: puts, so
 * without the lock, in a call that the program makes with the stream. */
void mgds_wait_speak(struct mgds_gstream *stream);
/* That the mark is of, or NULL: it is of an operation. */
struct mgds_wait *mgds_wait_of(struct mgds_mark *mark);
/* The stream will not come to it. */
void mgds_wait_fail(struct mgds_wait *wait);

/* op.c */
/* The first byte of the program's, if there is one. */
char *mgds_op_user(const struct mgds_op *op);
/* How much of its message a receive has room for. */
size_t mgds_op_fitting(const struct mgds_op *op);
/* Where its message is in the ring. */
uint64_t mgds_op_units(const struct mgds_op *op);
struct mgds_op *mgds_op_get(struct mgds_op *op);
/* A reference less; true if it was the last, and destroy must follow, without
 * the lock. */
bool mgds_op_drop(struct mgds_op *op);
void mgds_op_destroy(struct mgds_op *op);
/* Where the wire reads a send's bytes, or puts a receive's. */
void *mgds_op_place(struct mgds_op *op);
enum { MGDS_OP_COUNT = 4 }; /* where the bytes are in op->words */
/* It is over, with this error or 0. Under the lock; once. */
void mgds_op_finish(struct mgds_op *op, int error);
/* The first error that no call has told yet is kept: where, in the end, the
 * program is told of the domain's. */
struct mgds_debt *mgds_domain_debt(struct mgds_domain *domain);
/* A stream will pass it: its error is the stream's and the domain's. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_line *line);
/* The engine needs it no more. Under the lock; the reference is put later. */
void mgds_op_leave_engine(struct mgds_op *op);
/* What a peer names by a cookie, without a reference; NULL: nothing that is
 * under way, or was lost. Under the lock. */
struct mgds_op *mgds_op_find(uint64_t cookie);
/* Whether nothing is under way by that name any more, but was, and was lost.
 * Under the lock. */
bool mgds_op_was_lost(uint64_t cookie);
/* No cookie finds anything any more. */
void mgds_ops_forget(void);

/* lift.c */
/* Receives into GPU memory whose requests were freed: their bytes are copied up
 * in host calls. How many there are, of a stream or of all (NULL); and a step
 * of each, without the lock. */
extern struct mgds_op *mgds_orphan; /* under the lock */
unsigned mgds_orphans(const struct mgds_gstream *stream,
                      const struct mgds_domain *domain);
void mgds_orphans_poll(void);

#endif
