/* Tickets, events and pieces of a copy queue; see copyqueue.h. */
#include "shim/gds/mem/copyqueue.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/fault.h"
#include "shim/base/tls.h"
#include "shim/ctx.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/stream.h"
#include "shim/gds/mem/pack.h"

enum { QUESTIONS = 16 }; /* between two looks at the clock */

/* A small copy takes some 10 us, a sleep and its end more than that. */
#define SPIN_NS 100000

static MGDS_TLS struct {
    bool open;
    unsigned copies;              /* queued since its queue was entered */
    struct mgds_copyqueue *queue; /* a reference: its context was entered */
} batch;

/* A queue is made, counted and ended. */

static void fini_events(struct mgds_copyqueue *queue, unsigned count)
{
    while (count > 0)
        mgds_event_fini(&queue->event[--count].event);
}

static int init_events(struct mgds_copyqueue *queue)
{
    for (unsigned i = 0; i < MGDS_COPYQUEUE_EVENTS; i++) {
        int rc = mgds_event_init(&queue->event[i].event, queue->ctx);

        if (rc < 0) {
            fini_events(queue, i);
            return rc;
        }
    }
    return 0;
}

int mgds_copyqueue_create(struct mgds_copyqueue **out, struct mgds_context *ctx)
{
    struct mgds_copyqueue *queue =
        (struct mgds_copyqueue *)mgds_calloc(1, sizeof(*queue));
    int rc;

    if (!queue)
        return -ENOMEM;
    queue->ctx = ctx;
    queue->refs = 1;
    queue->done = queue->queued = queue->marked = MGDS_COUNT_FROM;
    queue->answers = MGDS_COUNT_FROM;
    rc = mgds_lock_init(&queue->lock, MGDS_LOCK_LEAF);
    if (rc < 0)
        goto free_queue;
    rc = mgds_stream_own(&queue->stream, ctx);
    if (rc < 0)
        goto fini_lock;
    rc = init_events(queue);
    if (rc < 0)
        goto fini_lock;
    rc = mgds_pool_create(&queue->pool, ctx, mgds_ctx()->config.stage_pool);
    if (rc < 0)
        goto fini_events;
    mgds_pack_load(&queue->kernel, ctx, queue->stream);
    queue->reads = mgds_reads_create(ctx);
    *out = queue;
    return 0;
fini_events:
    fini_events(queue, MGDS_COPYQUEUE_EVENTS);
fini_lock:
    mgds_lock_fini(&queue->lock);
free_queue:
    free(queue);
    return rc;
}

struct mgds_copyqueue *mgds_copyqueue_get(struct mgds_copyqueue *queue)
{
    __atomic_fetch_add(&queue->refs, 1, __ATOMIC_RELAXED);
    return queue;
}

void mgds_copyqueue_put(struct mgds_copyqueue *queue)
{
    if (__atomic_sub_fetch(&queue->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    mgds_reads_destroy(queue->reads);
    mgds_pack_unload(queue->kernel, queue->ctx);
    mgds_pool_destroy(queue->pool);
    fini_events(queue, MGDS_COPYQUEUE_EVENTS);
    mgds_lock_fini(&queue->lock);
    mgds_context_put(queue->ctx);
    free(queue);
}

/* Events, and what the driver says of them. */

/* Acquire: see advance_done. */
static bool is_over(const struct mgds_copyqueue *queue, uint64_t ticket)
{
    return __atomic_load_n(&queue->done, __ATOMIC_ACQUIRE) >= ticket;
}

static struct mgds_copyqueue_event *event_at(struct mgds_copyqueue *queue,
                                             unsigned i)
{
    return &queue->event[i % MGDS_COPYQUEUE_EVENTS];
}

/* Called where done grows and where an event is recorded: so the first event in
 * use is recording, or its ticket is not over. */
static void free_events_locked(struct mgds_copyqueue *queue)
{
    while (queue->first != queue->end &&
           event_at(queue, queue->first)->recorded &&
           event_at(queue, queue->first)->ticket <= queue->done)
        queue->first++;
}

/* Release: the driver said that the copies are over, and who sees it may use
 * the memory that they used. */
static void advance_done(struct mgds_copyqueue *queue, uint64_t ticket)
{
    mgds_lock_acquire(&queue->lock);
    if (ticket > queue->done) {
        __atomic_store_n(&queue->done, ticket, __ATOMIC_RELEASE);
        __atomic_store_n(&queue->waiting, 0, __ATOMIC_RELAXED);
        if (ticket > queue->marked)
            queue->marked = ticket;
    }
    free_events_locked(queue);
    mgds_lock_release(&queue->lock);
}

/* The next event, for all that is queued, or NULL: there is one, or none is
 * free. */
static struct mgds_copyqueue_event *reserve_event(struct mgds_copyqueue *queue)
{
    struct mgds_copyqueue_event *event = NULL;

    mgds_lock_acquire(&queue->lock);
    if (queue->queued > queue->marked &&
        queue->end - queue->first < MGDS_COPYQUEUE_EVENTS) {
        event = event_at(queue, queue->end++);
        event->ticket = queue->marked = queue->queued;
        event->recorded = false;
    }
    mgds_lock_release(&queue->lock);
    return event;
}

/* An event is put behind all that is queued, if there is none yet and one is
 * free. What the driver refuses to mark the next poll marks: one event too
 * many, then, if another thread has marked it meanwhile. */
static int mark_queued(struct mgds_copyqueue *queue)
{
    struct mgds_copyqueue_event *event = reserve_event(queue);
    int rc;

    if (!event)
        return 0;
    rc = mgds_event_record(&event->event, queue->stream);
    mgds_lock_acquire(&queue->lock);
    event->recorded = true;
    if (rc < 0)
        event->ticket = queue->marked = queue->done;
    free_events_locked(queue);
    mgds_lock_release(&queue->lock);
    return rc;
}

/* The oldest event that may be asked for, or NULL, and its ticket. */
static struct mgds_copyqueue_event *oldest_event(struct mgds_copyqueue *queue,
                                                 uint64_t *ticket)
{
    struct mgds_copyqueue_event *found = NULL;

    mgds_lock_acquire(&queue->lock);
    for (unsigned i = queue->first; i != queue->end && !found; i++) {
        struct mgds_copyqueue_event *event = event_at(queue, i);

        if (event->recorded && event->ticket > queue->done) {
            found = event;
            *ticket = event->ticket;
        }
    }
    mgds_lock_release(&queue->lock);
    return found;
}

/* True if the ticket is the last, and no event is in use: the stream itself
 * says whether the ticket is over. */
static bool is_lone(struct mgds_copyqueue *queue, uint64_t ticket)
{
    bool lone;

    mgds_lock_acquire(&queue->lock);
    lone = queue->queued == ticket && queue->first == queue->end;
    mgds_lock_release(&queue->lock);
    return lone;
}

/* The oldest event says whether its ticket is over, and all before. */
static int ask_event(struct mgds_copyqueue *queue, uint64_t *ticket)
{
    struct mgds_copyqueue_event *event;
    int rc = mark_queued(queue);

    if (rc < 0)
        return rc;
    event = oldest_event(queue, ticket);
    return event ? mgds_event_query(&event->event) : 0;
}

/* The driver says 1, 0 or an error: inside of mgds_capture_ignore, and the
 * context was found alive. */
static int ask_driver(struct mgds_copyqueue *queue, uint64_t ticket)
{
    int rc = 1;

    while (rc == 1 && !is_over(queue, ticket)) {
        uint64_t covered = ticket;

        rc = is_lone(queue, ticket) ? mgds_stream_query(queue->stream)
                                    : ask_event(queue, &covered);
        if (rc == 1)
            advance_done(queue, covered);
    }
    return rc;
}

/* True if the last answer, "not yet", is new to this holder. */
static bool is_answer_new(const struct mgds_copyqueue *queue,
                          struct mgds_copy_ticket *ticket)
{
    uint64_t waiting = __atomic_load_n(&queue->waiting, __ATOMIC_RELAXED);

    if (waiting == 0 || waiting == ticket->answer)
        return false;
    ticket->answer = waiting;
    return true;
}

/* No memory goes with the answer: relaxed. */
static void note_waiting(struct mgds_copyqueue *queue,
                         struct mgds_copy_ticket *ticket)
{
    mgds_lock_acquire(&queue->lock);
    ticket->answer = ++queue->answers;
    __atomic_store_n(&queue->waiting, ticket->answer, __ATOMIC_RELAXED);
    mgds_lock_release(&queue->lock);
}

/* The driver says 1, 0 or an error, or the answer is what others were told. */
static int ask_for_ticket(struct mgds_copyqueue *queue,
                          struct mgds_copy_ticket *ticket)
{
    int rc;

    if (is_over(queue, ticket->number))
        return 1;
    if (is_answer_new(queue, ticket))
        return 0;
    /* The events go with their context: the driver must not see them again. */
    if (!mgds_context_lives(queue->ctx))
        return -ESHUTDOWN;
    mgds_capture_ignore();
    rc = ask_driver(queue, ticket->number);
    mgds_capture_heed();
    if (rc == 0)
        note_waiting(queue, ticket);
    return rc;
}

/* The time that an upload takes may say how the next ones are made. */
static void observe_upload(struct mgds_copyqueue *queue,
                           struct mgds_copy_ticket *ticket, bool over)
{
    if (ticket->upload)
        mgds_uploads_observe(&queue->uploads, &ticket->upload, over,
                             mgds_clock_ns());
}

int mgds_copyqueue_poll(struct mgds_copyqueue *queue,
                        struct mgds_copy_ticket *ticket)
{
    int rc;

    if (ticket->number == 0)
        return 1;
    rc = ask_for_ticket(queue, ticket);
    observe_upload(queue, ticket, rc != 0);
    if (rc != 0)
        ticket->number = 0;
    return rc;
}

static int ask_driver_often(struct mgds_copyqueue *queue, uint64_t ticket,
                            int times)
{
    int rc = 0;

    mgds_capture_ignore();
    while (rc == 0 && times-- > 0)
        rc = ask_driver(queue, ticket);
    mgds_capture_heed();
    return rc;
}

static int poll_briefly(struct mgds_copyqueue *queue, uint64_t ticket,
                        void (*idle)(void))
{
    uint64_t end = mgds_clock_ns() + SPIN_NS;
    int times = idle ? 1 : QUESTIONS;

    do {
        for (int i = 0; i < QUESTIONS; i += times) {
            int rc = ask_driver_often(queue, ticket, times);

            if (rc != 0)
                return rc;
            if (idle)
                idle();
        }
    } while (mgds_clock_ns() < end);
    return 0;
}

/* 1, or the error of the work. The context was found alive. */
static int sleep_until_over(struct mgds_copyqueue *queue, uint64_t ticket)
{
    int rc = 0;

    mgds_capture_ignore();
    while (rc == 0 && !is_over(queue, ticket)) {
        struct mgds_copyqueue_event *event = NULL;
        uint64_t covered;

        rc = mark_queued(queue);
        if (rc == 0)
            event = oldest_event(queue, &covered);
        if (!event)
            continue;
        rc = mgds_event_synchronize(&event->event);
        if (rc == 0)
            advance_done(queue, covered);
    }
    mgds_capture_heed();
    return rc < 0 ? rc : 1;
}

/* How a copy is waited for is decided here alone: by asking, which sees the end
 * of a small one soonest, then asleep. */
int mgds_copyqueue_wait(struct mgds_copyqueue *queue,
                        struct mgds_copy_ticket *ticket, void (*idle)(void))
{
    int rc = -ESHUTDOWN;

    if (ticket->number == 0)
        return 0;
    if (mgds_context_lives(queue->ctx)) {
        rc = poll_briefly(queue, ticket->number, idle);
        observe_upload(queue, ticket, rc != 0);
        if (rc == 0)
            rc = sleep_until_over(queue, ticket->number);
    }
    ticket->number = 0;
    return rc < 0 ? rc : 0;
}

/* Batches. */

/* A ticket that cannot be marked now is marked by the poll that needs it. */
static void leave_batched(void)
{
    if (!batch.queue)
        return;
    if (batch.copies > 1)
        (void)mark_queued(batch.queue);
    batch.copies = 0;
    mgds_context_leave();
    mgds_copyqueue_put(batch.queue);
    batch.queue = NULL;
}

void mgds_copyqueue_batch_begin(void)
{
    batch.open = true;
}

void mgds_copyqueue_batch_end(void)
{
    leave_batched();
    batch.open = false;
}

int mgds_copyqueue_enter(struct mgds_copyqueue *queue)
{
    int rc;

    if (batch.queue == queue)
        return 0;
    leave_batched();
    rc = mgds_context_enter(queue->ctx);
    if (rc == 0 && batch.open)
        batch.queue = mgds_copyqueue_get(queue);
    return rc;
}

void mgds_copyqueue_leave(struct mgds_copyqueue *queue,
                          struct mgds_copy_ticket *ticket)
{
    if (ticket) {
        mgds_lock_acquire(&queue->lock);
        ticket->number = ++queue->queued;
        mgds_lock_release(&queue->lock);
    }
    if (batch.open)
        batch.copies += ticket != NULL;
    else
        mgds_context_leave();
}

/* Pieces. */

int mgds_copyqueue_copy(struct mgds_copyqueue *queue,
                        const struct mgds_copy *copy,
                        struct mgds_copy_ticket *ticket)
{
    int rc = mgds_copyqueue_enter(queue);

    if (rc < 0)
        return rc;
    rc = mgds_copy_async(copy, queue->stream);
    mgds_copyqueue_leave(queue, rc == 0 ? ticket : NULL);
    return rc;
}

bool mgds_copyqueue_may_run(int rc)
{
    return rc < 0 && !mgds_context_broke(rc);
}

/* False if the queue is closed. */
static bool put_late(struct mgds_copyqueue *queue, struct mgds_piece *piece,
                     uint64_t ticket)
{
    bool open;

    mgds_lock_acquire(&queue->lock);
    open = !queue->closed;
    if (open) {
        piece->ticket = ticket;
        piece->late = queue->late;
        __atomic_store_n(&queue->late, piece, __ATOMIC_RELAXED);
    }
    mgds_lock_release(&queue->lock);
    return open;
}

/* In a closed queue nobody looks after late pieces: the copies are waited for.
 */
static void give_piece(struct mgds_copyqueue *queue, struct mgds_piece *piece,
                       struct mgds_copy_ticket *ticket)
{
    uint64_t number = ticket->number;
    int rc = mgds_copyqueue_poll(queue, ticket);

    if (rc == 0 && put_late(queue, piece, number))
        return;
    if (rc == 0)
        rc = sleep_until_over(queue, number);
    if (!mgds_copyqueue_may_run(rc))
        mgds_pool_give(queue->pool, piece);
}

/* A ticket that was given the last answer asks the driver. */
static struct mgds_copy_ticket asking_ticket(const struct mgds_copyqueue *queue,
                                             uint64_t number)
{
    return (struct mgds_copy_ticket){
        .number = number,
        .answer = __atomic_load_n(&queue->waiting, __ATOMIC_RELAXED)};
}

void mgds_copyqueue_give(struct mgds_copyqueue *queue, struct mgds_piece *piece,
                         const struct mgds_copy_ticket *ticket)
{
    struct mgds_copy_ticket asks;

    if (ticket->number == 0) {
        mgds_pool_give(queue->pool, piece);
        return;
    }
    asks = asking_ticket(queue, ticket->number);
    give_piece(queue, piece, &asks);
}

/* One question serves all pieces that are not over. */
static void reap_late(struct mgds_copyqueue *queue)
{
    const struct mgds_copy_ticket asks = asking_ticket(queue, 0);
    struct mgds_piece *piece;

    mgds_lock_acquire(&queue->lock);
    piece = queue->late;
    __atomic_store_n(&queue->late, NULL, __ATOMIC_RELAXED);
    mgds_lock_release(&queue->lock);
    while (piece) {
        struct mgds_piece *next = piece->late;
        struct mgds_copy_ticket ticket = asks;

        ticket.number = piece->ticket;
        give_piece(queue, piece, &ticket);
        piece = next;
    }
}

int mgds_copyqueue_take(struct mgds_piece **out, struct mgds_copyqueue *queue,
                        size_t bytes, enum mgds_pool_use use)
{
    if (__atomic_load_n(&queue->late, __ATOMIC_RELAXED))
        reap_late(queue);
    return mgds_pool_take(out, queue->pool, bytes, use);
}

bool mgds_copyqueue_close(struct mgds_copyqueue *queue)
{
    bool closed;

    reap_late(queue);
    mgds_lock_acquire(&queue->lock);
    closed = queue->closed = queue->late == NULL;
    mgds_lock_release(&queue->lock);
    return closed;
}
