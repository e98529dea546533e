/* Operations: made, asked, waited for; see domain.h and engine.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/hostcopy.h"
#include "shim/gds/queue/gstream.h"

/* A send of host memory up to this is copied: it ends without its receiver. */
#define MGDS_OP_SHORT ((size_t)64 << 10)

struct mgds_op *mgds_op_get(struct mgds_op *op)
{
    __atomic_fetch_add(&op->refs, 1, __ATOMIC_RELAXED);
    return op;
}

bool mgds_op_drop(struct mgds_op *op)
{
    return __atomic_sub_fetch(&op->refs, 1, __ATOMIC_ACQ_REL) == 0;
}

void mgds_op_destroy(struct mgds_op *op)
{
    struct mgds_domain *domain = op->domain;

    mgds_bounce_destroy(op->bounce);
    if (op->count)
        mgds_words_give(mgds_gstream_words(op->line->stream), op->count);
    mgds_layout_put(op->user.layout);
    free(op->message);
    free(op->copy);
    free(op);
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

static int make_bounce(struct mgds_op *op)
{
    struct mgds_gstream *stream = op->line ? op->line->stream : NULL;
    int rc;

    if (!stream)
        return mgds_bounce_create(&op->bounce, &op->user, MGDS_BOUNCE_PACKED);
    rc = mgds_gstream_bounce(&op->bounce, stream, &op->user);
    if (rc == 0 && !op->send)
        rc = mgds_words_take(&op->count, mgds_gstream_words(stream));
    return rc;
}

static int make_room(struct mgds_op *op, bool gpu)
{
    if (gpu && op->bytes > 0)
        return make_bounce(op);
    if (gpu || !needs_copy(op))
        return 0;
    op->copy = (char *)mgds_malloc(op->bytes);
    return op->copy ? 0 : -ENOMEM;
}

static int create(struct mgds_op **out, struct mgds_domain *domain,
                  const struct mgds_xfer *xfer, bool send)
{
    struct mgds_op *op = (struct mgds_op *)mgds_calloc(1, sizeof(*op));
    int rc = 0;

    if (!op)
        return -ENOMEM;
    op->user = xfer->buffer;
    if (__builtin_mul_overflow(op->user.layout->size, op->user.count,
                               &op->bytes))
        rc = -EOVERFLOW;
    op->send = send;
    op->sync = xfer->sync;
    op->enqueued = xfer->enqueued;
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
    if (rc == 0 && xfer->peer != MGDS_PROC_NULL)
        rc = make_room(op, xfer->gpu);
    if (rc < 0) {
        mgds_bounce_destroy(op->bounce);
        free(op->copy);
        free(op);
        return rc;
    }
    mgds_layout_get(op->user.layout);
    mgds_domain_get(domain);
    op->domain = domain;
    *out = op;
    return 0;
}

void *mgds_op_place(struct mgds_op *op)
{
    if (op->bounce)
        return mgds_bounce_base(op->bounce);
    if (op->copy)
        return op->copy;
    return (char *)op->user.addr + op->user.layout->true_lb;
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

void mgds_op_leave_engine(struct mgds_op *op)
{
    *(op->prev ? &op->prev->next : &op->domain->ops) = op->next;
    if (op->next)
        op->next->prev = op->prev;
    mgds_engine_put_later(op);
}

/* What a stream will pass, or a freed request left, no host call was told of:
 * the domain keeps it until one is. */
void mgds_op_keep_error(struct mgds_op *op, struct mgds_line *line)
{
    if (!op->error)
        return;
    mgds_domain_keep_error(op->domain, op->error);
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
    if (op->count)
        __atomic_store_n(op->count, op->got, __ATOMIC_RELEASE);
    if (op->sink.store)
        op->sink.store(op->sink.arg, &op->status);
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

static void mark(struct mgds_op *op, uint64_t *ticket)
{
    op->mark.passed = came;
    mgds_op_get(op);
    mgds_line_mark(op->line, &op->mark);
    *ticket = mgds_gstream_ticket(op->line->stream);
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
    if (!op->enqueued)
        mgds_exchange_reached(op);
}

static void call_recv(struct mgds_op *op, const struct mgds_xfer *xfer)
{
    struct mgds_domain *domain = op->domain;

    op->match.source = op->rank;
    if (op->rank >= 0)
        op->match.source = (int)(domain->base[op->rank] + xfer->from_index);
    else
        mgds_exchange_subscribe(domain);
    op->match.tag = op->tag;
    op->index = xfer->to_index;
    op->reached = !op->enqueued;
    enter_engine(op);
    mgds_match_post(domain->match[xfer->to_index], &op->match);
}

/* What goes on the stream for an operation. If it cannot be put there the
 * operation fails, as one that the stream came to: its partner is told. */
static void put(struct mgds_op *op, uint64_t ticket)
{
    struct mgds_step step[2] = {{0}};
    unsigned n = 0;
    int rc;

    if (op->send && op->bounce)
        step[n++] =
            (struct mgds_step){.kind = MGDS_STEP_PACK, .bounce = op->bounce};
    step[n++] = (struct mgds_step){.kind = MGDS_STEP_FLAG,
                                   .word = op->line->reach,
                                   .value = op->mark.number};
    rc = mgds_gstream_put(op->line->stream, ticket, step, n);
    if (rc == 0)
        return;
    mgds_engine_enter();
    op->error = rc;
    mgds_line_break(op->line, &op->mark);
    mgds_engine_leave();
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

static int start(struct mgds_op **out, struct mgds_domain *domain,
                 const struct mgds_xfer *xfer, bool send)
{
    struct mgds_op *op;
    uint64_t ticket = 0;
    int rc = create(&op, domain, xfer, send);

    if (rc < 0)
        return rc;
    if (xfer->peer == MGDS_PROC_NULL) {
        op->done = op->reached = true;
        op->status.source = MGDS_PROC_NULL;
        *out = op;
        return 0;
    }
    rc = prepare_plain(op);
    if (rc < 0) {
        mgds_op_put(op);
        return rc;
    }
    mgds_engine_enter();
    if (op->line)
        mark(op, &ticket);
    (send ? call_send : call_recv)(op, xfer);
    mgds_engine_leave();
    *out = op;
    if (op->line)
        put(op, ticket);
    return 0;
}

static void call_taken(struct mgds_op *op, struct mgds_message *message)
{
    op->index = message->to_index;
    op->reached = true;
    op->match.source = message->match.source;
    enter_engine(op);
    mgds_exchange_paired(op->domain, &op->match, &message->match);
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
    mgds_engine_enter();
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

/* Copies up by a caller. */

static bool claims_lift(struct mgds_op *op)
{
    bool mine;

    mgds_engine_enter();
    mine = op->done && !op->send && op->bounce && op->got > 0 && !op->lifting &&
           !op->waited;
    if (mine)
        op->lifting = true;
    mgds_engine_leave();
    return mine;
}

static void fail(struct mgds_op *op, int rc)
{
    mgds_engine_enter();
    if (!op->error)
        op->error = op->status.error = rc;
    mgds_engine_leave();
}

static bool is_over(struct mgds_op *op)
{
    bool over;

    mgds_engine_enter();
    over = op->done;
    mgds_engine_leave();
    return over;
}

/* The copy up of what arrived: 1 it is over, or there is none (yet). */
static int lift(struct mgds_op *op)
{
    int rc = 1;

    if (claims_lift(op)) {
        rc = mgds_bounce_up(op->bounce, 0, op->got);
        rc = rc < 0 ? rc : 1;
    }
    if (rc > 0 && op->lifting)
        rc = mgds_bounce_poll(op->bounce);
    if (rc < 0) {
        fail(op, rc);
        return 1;
    }
    return rc;
}

int mgds_op_test(struct mgds_op *op)
{
    mgds_op_progress();
    if (!lift(op) || !is_over(op) || !lift(op))
        return 0;
    op->seen = true;
    return 1;
}

void mgds_op_status(const struct mgds_op *op, struct mgds_op_status *out)
{
    *out = op->status;
    out->cancelled = op->cancelled;
}

int mgds_op_cancel(struct mgds_op *op)
{
    bool taken = false;

    if (op->send)
        return 0;
    mgds_engine_enter();
    if (!op->done && op->match.posted)
        taken = mgds_match_cancel(op->domain->match[op->index], &op->match);
    if (taken) {
        op->cancelled = op->status.cancelled = true;
        mgds_op_finish(op, 0);
        mgds_op_leave_engine(op);
    }
    mgds_engine_leave();
    return taken;
}

/* Requests that were freed. */

static struct mgds_op *orphans; /* under the engine's lock */
static unsigned orphan_count;   /* those being polled included; of no line */

static bool needs_lift(const struct mgds_op *op)
{
    return !op->send && op->bounce && !op->waited && !op->cancelled &&
           !op->error;
}

/* Whose drain they hold up. */
static unsigned *orphans_of(const struct mgds_op *op)
{
    return op->line ? &op->line->orphans : &orphan_count;
}

static void adopt(struct mgds_op *op)
{
    mgds_engine_enter();
    op->orphan = orphans;
    orphans = op;
    ++*orphans_of(op);
    mgds_engine_leave();
}

static struct mgds_op *take_orphans(void)
{
    struct mgds_op *taken;

    mgds_engine_enter();
    taken = orphans;
    orphans = NULL;
    mgds_engine_leave();
    return taken;
}

unsigned mgds_orphans(void)
{
    unsigned count;

    mgds_engine_enter();
    count = orphan_count;
    mgds_engine_leave();
    return count;
}

static void let_go(struct mgds_op *op)
{
    if (mgds_op_drop(op))
        mgds_op_destroy(op);
}

void mgds_orphans_poll(void)
{
    struct mgds_op *op = take_orphans();

    while (op) {
        struct mgds_op *next = op->orphan;
        bool over = lift(op) != 0 && is_over(op);

        mgds_engine_enter();
        if (over) {
            --*orphans_of(op);
        } else {
            op->orphan = orphans;
            orphans = op;
        }
        mgds_engine_leave();
        if (over)
            let_go(op);
        op = next;
    }
}

/* An error that nobody asked for is told by the domain. */
void mgds_op_put(struct mgds_op *op)
{
    bool orphaned;

    if (!op)
        return;
    mgds_engine_enter();
    orphaned = !op->seen && needs_lift(op);
    if (!orphaned && op->done && !op->seen && op->error)
        mgds_domain_keep_error(op->domain, op->error);
    mgds_engine_leave();
    if (orphaned)
        adopt(op);
    else
        let_go(op);
}
