/*
 * The copy queue of a context: a stream of ours, on which bytes move between
 * the program's memory and pinned memory beside whatever the program has
 * queued; with it the context's pinned pool, pack kernel and reads (reads.h). A
 * queue is made when the engine first meets its context, so that later nothing
 * of the driver is made.
 *
 * Whatever is queued between enter and leave gets one ticket, the next number.
 * Copies end in the order of their tickets, and a ticket goes through
 *
 *   queued   nothing stands behind its copies yet
 *   marked   an event stands behind them
 *   over     the driver said so of this ticket or of a later one
 *
 * Many copies are under way at a time, and a question to the driver costs as
 * much as queueing one. So the oldest event alone is asked for (for a lone copy
 * the stream itself: an event costs a call, and the GPU a step), and the answer
 * serves all holders of tickets: "over" those up to the event's ticket, "not
 * yet" each holder once, then the driver is asked again.
 *
 * The events are a ring, in the order of their tickets:
 *
 *   free       until a ticket needs an event: a thread reserves the next one
 *   recording  by that thread, without the lock: nobody asks for it
 *   recorded   until its ticket is over, and those of all events before it
 *
 * An event that is recorded again stands for a later ticket, so an answer that
 * comes late is true of the earlier ticket, too. Where all four are in use a
 * later poll records.
 *
 * A batch enters the context of a queue once for many copies, and one event
 * stands behind all of them. It is the calling thread's, and may use several
 * queues.
 *
 * Memory of the pool goes back when its copies are over. A piece that is given
 * back earlier is late: the next take, and close, look whether it is over.
 *
 * Concurrency. Any thread. All queues are in one list under the lock of
 * copyqueues.c (REGISTRY), which holds one reference; a queue that has late
 * pieces does not leave it. A queue's words are written under its lock (LEAF);
 * no lock is held across a driver call.
 */
#ifndef MGDS_MEM_COPYQUEUE_H
#define MGDS_MEM_COPYQUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/lock.h"
#include "shim/gds/cuda/context.h"
#include "shim/gds/cuda/event.h"
#include "shim/gds/cuda/ptr.h"
#include "shim/gds/mem/pool.h"
#include "shim/gds/mem/reads.h"
#include "shim/gds/mem/uploads.h"

enum { MGDS_COPYQUEUE_EVENTS = 4 };

struct mgds_copyqueue_event {
    struct mgds_event event;
    uint64_t ticket;
    bool recorded;
};

struct mgds_copyqueue {
    struct mgds_context *ctx;
    void *stream;
    void *kernel; /* of pack.h; NULL: none could be loaded */
    struct mgds_pool *pool;
    struct mgds_uploads uploads;
    struct mgds_reads *reads;    /* NULL: there are none */
    struct mgds_copyqueue *next; /* under the list's lock */
    unsigned refs;               /* atomic */
    bool stalled; /* atomic: nothing on the stream comes through, as far as is
                     known */
    struct mgds_lock lock;
    /* written under lock, read by anybody */
    uint64_t done;           /* the last ticket that is known to be over */
    uint64_t waiting;        /* the number of the last answer while that is "not
                                yet", else 0 */
    struct mgds_piece *late; /* pieces that copies may still use */
    /* under lock */
    uint64_t queued; /* the last ticket */
    uint64_t marked; /* the last ticket that has an event, or is over */
    uint64_t answers;
    unsigned first, end; /* of the ring: events [first, end) are in use */
    struct mgds_copyqueue_event event[MGDS_COPYQUEUE_EVENTS];
    bool closed; /* no piece becomes late any more */
};

/* The last copies that somebody has queued. All 0: none. One thread at a time.
 */
struct mgds_copy_ticket {
    uint64_t number; /* 0: nothing is under way */
    uint64_t answer; /* the last "not yet" that its holder was given */
    uint64_t upload; /* when a small plain upload was queued, ns, while its time
                        says something (uploads.h); or 0 */
};

/* The queue of the context that this memory is copied in, with a reference.
 * -ENOMEM, -ESHUTDOWN, -ENODEV and what the driver says. */
int mgds_copyqueue_of_ptr(struct mgds_copyqueue **out,
                          const struct mgds_ptr *ptr);

/* The queue of a context itself, likewise. */
int mgds_copyqueue_of_context(struct mgds_copyqueue **out,
                              struct mgds_context *ctx);

struct mgds_copyqueue *mgds_copyqueue_get(struct mgds_copyqueue *queue);
void mgds_copyqueue_put(struct mgds_copyqueue *queue);

/* Between them each queue that the thread uses is entered once. Batches do not
 * nest; no call of the program's may come in one, and nothing is waited for. */
void mgds_copyqueue_batch_begin(void);
void mgds_copyqueue_batch_end(void);

/* Driver calls of one copy stand between enter and leave. 0; or negative errno,
 * and then there is no leave. ticket: of the copies that were queued; NULL:
 * none were. */
int mgds_copyqueue_enter(struct mgds_copyqueue *queue);
void mgds_copyqueue_leave(struct mgds_copyqueue *queue,
                          struct mgds_copy_ticket *ticket);

/* A copy by itself, between the two. */
struct mgds_copy;
int mgds_copyqueue_copy(struct mgds_copyqueue *queue,
                        const struct mgds_copy *copy,
                        struct mgds_copy_ticket *ticket);

/* 1: the copies are over, or there are none; 0: they are not yet; or the error
 * of the work. After 1 and after an error no copy is under way. */
int mgds_copyqueue_poll(struct mgds_copyqueue *queue,
                        struct mgds_copy_ticket *ticket);

/* Polls briefly, then sleeps, until the copies are over: 0, or the error. idle,
 * if not NULL, is called now and then while it polls. */
int mgds_copyqueue_wait(struct mgds_copyqueue *queue,
                        struct mgds_copy_ticket *ticket, void (*idle)(void));

/* Whether copies may run in spite of this error of poll or wait: unless the
 * context broke, what cannot be asked for may (a capture of the program's
 * forbids to ask). Then their memory is never used again. */
bool mgds_copyqueue_may_run(int rc);

/* A piece of the pool (pool.h); gives back what copies of the ticket may still
 * use. Giving never blocks, unless the queue is closed. */
int mgds_copyqueue_take(struct mgds_piece **out, struct mgds_copyqueue *queue,
                        size_t bytes, enum mgds_pool_use use);
void mgds_copyqueue_give(struct mgds_copyqueue *queue, struct mgds_piece *piece,
                         const struct mgds_copy_ticket *ticket);

/* Idle pinned memory of all contexts is given up: it goes at the next safe
 * point (defer.h). Any thread, any time. */
void mgds_copyqueues_trim(void);

/* Forgets all queues, for tests: those that somebody still uses go with the
 * last reference. The engine may be used again. */
void mgds_copyqueues_fini(void);

/* For copyqueues.c: a queue is made, and takes over the reference to ctx if
 * that succeeds. */
int mgds_copyqueue_create(struct mgds_copyqueue **out,
                          struct mgds_context *ctx);

/* Before a queue leaves the list: true if no piece is late, and then none will
 * be. The caller has a reference. */
bool mgds_copyqueue_close(struct mgds_copyqueue *queue);

#endif
