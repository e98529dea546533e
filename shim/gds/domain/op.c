/* Operations: made, asked, waited for; see domain.h and engine.h. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/ctx.h"
#include "shim/gds/domain/cookies.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/hostcopy.h"
#include "shim/gds/domain/memory.h"
#include "shim/gds/domain/pull.h"
#include "shim/gds/domain/put.h"
#include "shim/gds/queue/gstream.h"

/* A send of host memory up to this is copied: it ends without its receiver. */
#define MGDS_OP_SHORT ((size_t)64 << 10)

/* How long a send waits for room in a full ring: what its receiver needs for
 * many messages, staged ones too that are ahead of those in the ring. Else one
 * that is staged makes the next one miss its place, for ever (measured). */
enum { PATIENCE_NS = 2000000 };

/* How long a send waits for memory that earlier ones have: a sender whose
 * stream is never made to wait is soon ahead of its receiver by all there is.
 */
#define ROOM_NS 10000000000u

/* Sends whose bytes have memory of ours; atomic. */
static unsigned staged;

struct mgds_spares mgds_op_spares = MGDS_SPARES_INIT(sizeof(struct mgds_op));

struct mgds_op *mgds_op_get(struct mgds_op *op)
{
    __atomic_fetch_add(&op->refs, 1, __ATOMIC_RELAXED);
    return op;
}

bool mgds_op_drop(struct mgds_op *op)
{
    return __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

/* What it needs to be done. */
static void give_room(struct mgds_op *op)
{
    mgds_bounce_destroy(op->bounce);
    if (op->send && op->bounce)
        __atomic_fetch_sub(&staged, 1, __ATOMIC_RELAXED);
    if (op->words)
        mgds_words_give(mgds_gstream_words(op->stream), op->words);
    if (op->claim)
        mgds_gstream_unclaim(op->line->stream, op->claim);
    if (op->stream)
        mgds_gstream_release(op->stream);
    free(op->copy);
}

void mgds_op_destroy(struct mgds_op *op)
{
    struct mgds_domain *domain = op->domain;

    if (op->room)
        mgds_gstream_room_give(domain->stream[op->index], op->room);
    give_room(op);
    mgds_layout_put(op->user.layout);
    mgds_spares_give(&mgds_message_spares, op->message);
    mgds_spares_give(&mgds_op_spares, op);
    mgds_domain_put(domain);
}

/* Host memory goes through a copy of ours if it is not in one piece, and when a
 * send is short, so that it need not wait for its receiver. */
static bool needs_copy(const struct mgds_op *op)
{
    if (op->bytes == 0)
        return false;
    return !mgds_layout_is_dense(op->user.layout) ||
           (op->send && op->bytes <= MGDS_OP_SHORT);
}

/* For the stream, if it is enqueued or a receive that the stream could be made
 * to wait for; if the buffer is not for it, for host calls alone. One that may
 * be copied out of its sender's memory gets room when that is not so. */
static int make_bounce(struct mgds_op *op, struct mgds_gstream *stream)
{
    int rc = -EXDEV;

    if (stream)
        rc = (op->claim ? mgds_gstream_bounce_later
                        : mgds_gstream_bounce)(&op->bounce, stream, &op->user);
    if (rc == 0)
        op->stream = mgds_gstream_get(stream);
    if (rc == 0 || op->line)
        return rc;
    return mgds_bounce_create(&op->bounce, &op->user, MGDS_BOUNCE_PACKED);
}

/* What lets a stream of its own and somebody else take a long message, one of
 * them. Without it only somebody else does. */
static void make_claim(struct mgds_op *op)
{
    static uint64_t gens;
    uint64_t least = mgds_ctx()->config.pull;

    if (!op->taker || least == 0 || op->bytes < least)
        return;
    op->claim = mgds_gstream_claim(op->line->stream);
    op->gen = __atomic_add_fetch(&gens, 1, __ATOMIC_RELAXED);
}

/* A record and a count for the stream. */
static int make_words(struct mgds_op *op)
{
    if (op->send || !op->stream)
        return 0;
    return mgds_words_take(&op->words, mgds_gstream_words(op->stream));
}

static int make_room(struct mgds_op *op, bool gpu, struct mgds_gstream *stream)
{
    if (op->pull)
        return 0;
    if (op->bytes == 0 && op->taker)
        op->stream = mgds_gstream_get(stream);
    if (gpu && op->bytes > 0) {
        int rc = make_bounce(op, stream);

        if (op->send && op->bounce)
            __atomic_fetch_add(&staged, 1, __ATOMIC_RELAXED);
        return rc;
    }
    if (gpu || !needs_copy(op))
        return 0;
    op->copy = (char *)mgds_malloc(op->bytes);
    return op->copy ? 0 : -ENOMEM;
}

/* For a send whose memory others have that are under way, or had: what is idle
 * was given up for it, and goes at a safe point. */
static int wait_for_room(struct mgds_op *op, bool gpu,
                         struct mgds_gstream *stream)
{
    uint64_t end = mgds_clock_ns() + ROOM_NS;
    bool again;
    int rc;

    do {
        unsigned others = __atomic_load_n(&staged, __ATOMIC_RELAXED);

        mgds_domains_safe_point();
        rc = make_room(op, gpu, stream);
        again = rc == -ENOMEM && others > 0;
        while (again && mgds_clock_ns() < end &&
               __atomic_load_n(&staged, __ATOMIC_RELAXED) == others) {
            mgds_wire_progress();
            sched_yield();
        }
    } while (again && mgds_clock_ns() < end);
    return rc;
}

/* Kernels of the stream read or write all of the buffer in a row. */
static bool fits_kernels(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    return op->line &&
           (op->bytes == 0 ||
            (xfer->gpu && mgds_gstream_takes(op->line->stream, &op->user)));
}

/* That it is enqueued on, or that could be made to wait for it. */
static struct mgds_gstream *stream_of(const struct mgds_op *op,
                                      const struct mgds_domain *domain,
                                      const struct mgds_xfer *xfer)
{
    if (op->line)
        return op->line->stream;
    return op->send || domain->streams == 0 ? NULL
                                            : domain->stream[xfer->to_index];
}

static int create(struct mgds_op **out, struct mgds_domain *domain,
                  const struct mgds_xfer *xfer, bool send)
{
    struct mgds_op *op = (struct mgds_op *)mgds_spares_take(&mgds_op_spares);
    bool may_pull = false;
    int rc = 0;

    mgds_memory_map();
    if (!op)
        return -ENOMEM;
    op->user = xfer->buffer;
    if (__builtin_mul_overflow(op->user.layout->size, op->user.count,
                               &op->bytes))
        rc = -EOVERFLOW;
    op->send = send;
    op->sync = xfer->sync;
    op->enqueued = xfer->enqueued;
    op->stands = xfer->stands;
    op->name = xfer->name;
    op->rank = xfer->peer;
    op->tag = xfer->tag;
    op->refs = 1;
    op->status =
        (struct mgds_op_status){MGDS_ANY_SOURCE, MGDS_ANY_TAG, 0, 0, 0, false};
    if (rc == 0 && xfer->enqueued)
        rc = mgds_line_of(
            &op->line,
            domain->stream[send ? xfer->from_index : xfer->to_index]);
    if (rc == 0 && xfer->peer != MGDS_PROC_NULL) {
        op->taker = !send && fits_kernels(op, xfer) &&
                    mgds_landing_takes(domain->landing, xfer->to_index);
        if (send)
            may_pull = mgds_pull_try(op, domain, xfer);
        make_claim(op);
        rc = make_room(op, xfer->gpu, stream_of(op, domain, xfer));
        if (rc == -ENOMEM && may_pull)
            rc = mgds_pull_insist(op, domain, xfer);
        if (rc == -ENOMEM && send)
            rc = wait_for_room(op, xfer->gpu, stream_of(op, domain, xfer));
        if (rc == 0)
            rc = make_words(op);
    }
    if (rc < 0) {
        mgds_pull_cancel(op);
        give_room(op);
        mgds_spares_give(&mgds_op_spares, op);
        return rc;
    }
    mgds_layout_get(op->user.layout);
    mgds_domain_get(domain);
    op->domain = domain;
    *out = op;
    return 0;
}

uint64_t mgds_op_units(const struct mgds_op *op)
{
    return mgds_landing_units(op->domain->landing, op->index,
                              (unsigned)op->message->match.source,
                              op->message->units);
}

char *mgds_op_user(const struct mgds_op *op)
{
    return op->bytes > 0 ? (char *)op->user.addr + op->user.layout->true_lb
                         : NULL;
}

void *mgds_op_place(struct mgds_op *op)
{
    if (op->bounce)
        return mgds_bounce_base(op->bounce);
    if (op->copy)
        return op->copy;
    return mgds_op_user(op);
}

/* Steps, under the engine's lock. */

static void enter_engine(struct mgds_op *op)
{
    struct mgds_domain *domain = op->domain;

    mgds_op_get(op);
    op->prev = NULL;
    op->next = domain->ops;
    if (domain->ops)
        domain->ops->prev = op;
    domain->ops = op;
}

/* By cookie: operations whose reference the engine has, or lost.c. Under the
 * engine's lock. */
static struct mgds_cookies known;

struct mgds_op *mgds_op_find(uint64_t cookie)
{
    return (struct mgds_op *)mgds_cookies_find(&known, cookie);
}

void mgds_op_forget(struct mgds_op *op)
{
    mgds_cookies_remove(&known, op->cookie, op);
}

void mgds_ops_forget(void)
{
    mgds_engine_enter();
    mgds_cookies_fini(&known);
    mgds_engine_leave();
}

void mgds_op_leave_engine(struct mgds_op *op)
{
    if (!op->lost)
        mgds_op_forget(op);
    *(op->prev ? &op->prev->next : &op->domain->ops) = op->next;
    if (op->next)
        op->next->prev = op->prev;
    mgds_pull_settled(op);
    mgds_pull_forget(op->message);
    mgds_engine_put_later(op);
}

/* What a stream will pass, or a freed request left, no host call was told of:
 * the domain keeps it until one is. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_line *line)
{
    if (!op->error)
        return;
    mgds_domain_keep_error(op->domain, op->error);
    if (line)
        mgds_line_fail(line, op->error, op->name);
}

void mgds_op_finish(struct mgds_op *op, int error)
{
    op->done = true;
    op->error = error;
    op->status.error = error;
    op->status.bytes = op->send ? 0 : op->got;
    if (!op->send && op->copy && op->got > 0)
        mgds_host_unpack(&op->user, op->copy, op->got);
    if (op->words) /* what its stream is to copy up */
        __atomic_store_n(&op->words[MGDS_OP_COUNT], op->direct ? 0 : op->got,
                         __ATOMIC_RELEASE);
    if (op->dropped && error)
        mgds_domain_keep_error(op->domain, error);
    if (!op->wait)
        return;
    mgds_op_keep_error(op, op->wait->line);
    mgds_wait_less(op->wait);
}

/* The stream came to the operation. */
static void came(struct mgds_mark *mark)
{
    struct mgds_op *op =
        (struct mgds_op *)(void *)((char *)mark -
                                   offsetof(struct mgds_op, mark));

    if (op->send && op->copy)
        mgds_host_pack(op->copy, &op->user, op->bytes);
    mgds_exchange_reached(op);
    mgds_engine_put_later(op); /* the mark's */
}

static void mark(struct mgds_op *op)
{
    op->mark.passed = came;
    mgds_op_get(op);
    mgds_line_mark(op->line, &op->mark);
}

static void call_send(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    struct mgds_domain *domain = op->domain;
    unsigned to = domain->base[op->rank] + xfer->to_index;

    op->from_index = xfer->from_index;
    op->index = xfer->to_index;
    op->number = domain->sent[xfer->from_index * domain->sources + to]++;
    enter_engine(op);
    mgds_exchange_called(op, !op->enqueued);
    mgds_lost_check(op);
    if (!op->enqueued)
        mgds_exchange_reached(op);
}

static void call_recv(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    struct mgds_domain *domain = op->domain;

    op->match.source = op->rank;
    if (op->rank >= 0)
        op->match.source = (int)(domain->base[op->rank] + xfer->from_index);
    mgds_exchange_meet(domain, op->rank);
    op->match.tag = op->tag;
    op->index = xfer->to_index;
    op->reached = !op->mark.passed;
    enter_engine(op);
    mgds_match_post(domain->match[xfer->to_index], &op->match);
    mgds_lost_check(op);
}

static int prepare_plain(struct mgds_op *op)
{
    int rc;

    if (!op->send || op->enqueued)
        return 0;
    if (op->copy)
        mgds_host_pack(op->copy, &op->user, op->bytes);
    if (!op->bounce)
        return 0;
    rc = mgds_bounce_down(op->bounce, 0, SIZE_MAX);
    return rc < 0 ? rc : mgds_bounce_wait(op->bounce, NULL);
}

static int make(struct mgds_op **out, struct mgds_domain *domain,
                const struct mgds_xfer *xfer, bool send)
{
    int rc = create(out, domain, xfer, send);

    if (rc < 0)
        return rc;
    if (xfer->peer == MGDS_PROC_NULL) {
        (*out)->done = (*out)->reached = true;
        (*out)->status.source = MGDS_PROC_NULL;
        return 0;
    }
    rc = prepare_plain(*out);
    if (rc < 0)
        mgds_op_put(*out);
    return rc;
}

/* True if it may help to look again for a place in the receiver's ring. */
static bool look_for_place(struct mgds_op *op, const struct mgds_xfer *xfer,
                           bool late)
{
    const struct mgds_landing *landing = op->domain->landing;
    unsigned to = op->domain->base[op->rank] + xfer->to_index;
    bool full;

    op->lane = mgds_landing_place(landing, xfer->from_index, to, op->bytes,
                                  &op->place);
    full = !op->lane &&
           mgds_landing_is_full(landing, xfer->from_index, to, op->bytes);
    if (full && late)
        mgds_landing_despair(landing, xfer->from_index, to);
    return full && !late;
}

/* Takes the lock, with a place in the receiver's ring for a send, if there is
 * one. */
static void enter_with_place(struct mgds_op *op, const struct mgds_xfer *xfer)
    MGDS_ACQUIRE(mgds_engine_lock)
{
    uint64_t begin = 0;
    bool late = false;

    mgds_engine_enter();
    if (!op->send || op->sync || op->pull || xfer->peer == MGDS_PROC_NULL ||
        !fits_kernels(op, xfer))
        return;
    while (look_for_place(op, xfer, late)) {
        mgds_engine_leave();
        if (begin == 0)
            begin = mgds_clock_ns();
        mgds_wire_progress();
        late = mgds_clock_ns() - begin > PATIENCE_NS;
        mgds_engine_enter();
    }
}

/* Likewise, and with a cookie. -ENOMEM: it cannot be called. */
static int enter_to_call(struct mgds_op *op, const struct mgds_xfer *xfer)
    MGDS_ACQUIRE(mgds_engine_lock)
{
    enter_with_place(op, xfer);
    return xfer->peer == MGDS_PROC_NULL
               ? 0
               : mgds_cookies_put(&known, op, &op->cookie);
}

/* Nobody has heard of it. */
static void leave_uncalled(struct mgds_op *op) MGDS_RELEASE(mgds_engine_lock)
{
    if (op->lane && !op->pull)
        mgds_landing_give(op->lane, &op->place);
    mgds_engine_leave();
    mgds_pull_cancel(op);
    mgds_op_destroy(op);
}

/* Takes its number. Under the engine's lock. */
static void call(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    if (op->line)
        mark(op);
    (op->send ? call_send : call_recv)(op, xfer);
}

static int start(struct mgds_op **out, struct mgds_domain *domain,
                 const struct mgds_xfer *xfer, bool send)
{
    struct mgds_put put;
    struct mgds_op *op;
    int rc = make(&op, domain, xfer, send);

    if (rc < 0)
        return rc;
    if (xfer->peer == MGDS_PROC_NULL) {
        *out = op;
        return 0;
    }
    rc = enter_to_call(op, xfer);
    if (rc < 0) {
        leave_uncalled(op);
        return rc;
    }
    call(op, xfer);
    if (op->line) {
        mgds_put_begin(&put, op->line);
        mgds_put_op(&put, op);
    }
    mgds_engine_leave();
    if (op->line)
        mgds_put_all(&put);
    *out = op;
    return 0;
}

int mgds_op_run(struct mgds_domain *domain, const struct mgds_xfer *xfer,
                bool send, const struct mgds_op_sink *sink)
{
    struct mgds_wait *wait = mgds_wait_create(1);
    struct mgds_xfer standing = *xfer;
    struct mgds_put put;
    struct mgds_op *op;
    int rc = -ENOMEM;

    standing.stands = true;
    if (wait)
        rc = make(&op, domain, &standing, send);

    if (rc < 0) {
        if (wait)
            mgds_wait_free(wait);
        return rc;
    }
    rc = enter_to_call(op, xfer);
    if (rc < 0) {
        leave_uncalled(op);
        mgds_wait_free(wait);
        return rc;
    }
    mgds_put_begin(&put, op->line);
    if (xfer->peer != MGDS_PROC_NULL) {
        call(op, xfer);
        mgds_put_op(&put, op);
    }
    mgds_wait_fill(wait, op->line, &op, sink);
    mgds_put_wait(&put, wait);
    mgds_engine_leave();
    mgds_put_all(&put);
    return 0;
}

static void call_taken(struct mgds_op *op, struct mgds_message *message)
{
    op->index = message->to_index;
    op->reached = true;
    op->match.source = message->match.source;
    enter_engine(op);
    mgds_exchange_paired(op->domain, &op->match, &message->match);
    mgds_lost_check(op);
}

int mgds_op_mrecv(struct mgds_op **out, struct mgds_message *message,
                  const struct mgds_xfer *xfer)
{
    struct mgds_domain *domain = message->domain;
    struct mgds_xfer plain = *xfer;
    struct mgds_op *op;
    int rc;

    plain.enqueued = false;
    plain.peer = (int)message->rank;
    plain.tag = message->match.tag;
    rc = create(&op, domain, &plain, false);
    if (rc < 0)
        return rc;
    rc = enter_to_call(op, &plain);
    if (rc < 0) {
        leave_uncalled(op);
        return rc;
    }
    call_taken(op, message);
    mgds_engine_leave();
    mgds_domain_put(domain); /* the message's */
    *out = op;
    return 0;
}

int mgds_op_send(struct mgds_op **out, struct mgds_domain *domain,
                 const struct mgds_xfer *xfer)
{
    return start(out, domain, xfer, true);
}

int mgds_op_recv(struct mgds_op **out, struct mgds_domain *domain,
                 const struct mgds_xfer *xfer)
{
    return start(out, domain, xfer, false);
}
