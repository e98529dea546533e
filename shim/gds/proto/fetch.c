/* Messages copied by kernels on a stream of ours; see fetch.h. */
#include "shim/gds/proto/fetch.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/gds/proto/carry.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/gstream.h"

struct mgds_fetch {
    struct mgds_carry carry;
    struct mgds_op *op; /* a reference */
    uint64_t *won;      /* of one that is to keep the message from others: tells
                           that it has */
    const char *why;    /* and why; constant text */
};

/* Written before the wire is open. */
static const struct mgds_fetch_ends *ends;

static struct mgds_fetch *fetch_of(const struct mgds_carry *carry)
{
    return MGDS_CONTAINER_OF(carry, struct mgds_fetch, carry);
}

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->comm->stream[op->call->index];
}

/* Where a kernel can put it: what is not the program's own place is copied
 * there when it is over. */
static char *place_of(const struct mgds_op *op)
{
    if (op->recv->direct || op->recv->got == 0)
        return mgds_op_user(op);
    return (char *)mgds_bounce_base(op->bounce);
}

static struct mgds_command take_of(const struct mgds_op *op)
{
    struct mgds_bounce *checked =
        op->recv->direct ? mgds_carry_checked(op) : NULL;

    return (struct mgds_command){.kind = MGDS_COMMAND_TAKE,
                                 .user = place_of(op),
                                 .bounce = checked,
                                 .bytes = op->recv->got,
                                 .units = (void *)(uintptr_t)mgds_op_units(op),
                                 .serial = op->recv->message->serial,
                                 .length = op->recv->message->bytes,
                                 .claim = op->recv->claim,
                                 .gen = op->recv->gen,
                                 .delivers = true,
                                 .source = op->recv->message->source,
                                 .done = op->recv->message->done};
}

static bool has_won(const struct mgds_fetch *fetch)
{
    return fetch->won && __atomic_load_n(fetch->won, __ATOMIC_ACQUIRE) != 0;
}

/* All of the following under the engine's lock, but what says otherwise. */

/* A TAKE that is on the stream, or a kernel by order, may copy the message:
 * nobody hears that it was not read. */
static void fail_fetch(const struct mgds_fetch *fetch, int error)
{
    const struct mgds_op *op = fetch->op;

    errno = -error;
    mgds_warn("a message of rank %u cannot be copied: %m",
              op->recv->message->rank);
    if (!mgds_carry_is_ordered(&fetch->carry) && !mgds_op_is_taken(op))
        ends->unread(op, error);
}

/* Once, as soon as somebody has copied it, or nobody will. */
static void end_fetch(struct mgds_carry *carry, int error)
{
    struct mgds_fetch *fetch = fetch_of(carry);

    fetch->op->recv->fetch = NULL;
    if (has_won(fetch))
        ends->withdrawn(fetch->op, -ETIMEDOUT, fetch->why);
    else
        ends->fetched(fetch->op, error);
    if (carry->outcome == MGDS_CARRY_FAILED)
        fail_fetch(fetch, error);
}

static bool is_shared(const struct mgds_carry *carry)
{
    return mgds_op_is_taken(fetch_of(carry)->op);
}

/* Without the lock. */
static void free_fetch(struct mgds_carry *carry)
{
    struct mgds_fetch *fetch = fetch_of(carry);

    mgds_engine_enter();
    if (fetch->op->recv->fetch == fetch)
        fetch->op->recv->fetch = NULL;
    mgds_op_put_later(fetch->op);
    mgds_engine_leave();
    free(fetch);
}

static struct mgds_fetch *create_fetch(struct mgds_op *op)
{
    static const struct mgds_carry_owner owner = {
        .over = end_fetch, .is_shared = is_shared, .gone = free_fetch};
    struct mgds_fetch *fetch =
        (struct mgds_fetch *)mgds_calloc(1, sizeof(*fetch));

    if (!fetch)
        return NULL;
    op->recv->fetch = fetch;
    op->recv->direct = mgds_op_is_near(op);
    fetch->op = mgds_op_get(op);
    fetch->carry.owner = &owner;
    fetch->carry.stream = stream_of(op);
    fetch->carry.take = take_of(op);
    return fetch;
}

/* Without memory for it the receive fails. */
void mgds_fetch_add(struct mgds_op *op)
{
    struct mgds_fetch *fetch;

    if (op->recv->fetch || op->recv->credited)
        return;
    op->recv->got = mgds_op_fitting(op);
    fetch = create_fetch(op);
    if (fetch) {
        mgds_carry_begin(&fetch->carry, MGDS_WORK_DELIVERY);
        return;
    }
    ends->unread(op, -ENOMEM);
    ends->fetched(op, -ENOMEM);
}

/* Copies nothing, so who gets the claim by it has kept the message from the
 * stream's TAKE: that is told here, and not to the sender. */
void mgds_fetch_withdraw(struct mgds_op *op, const char *why)
{
    struct mgds_syncwords *words = mgds_gstream_words(stream_of(op));
    uint64_t *timeline = mgds_syncwords_take_idle(words);
    struct mgds_fetch *fetch = timeline ? create_fetch(op) : NULL;

    if (!fetch) {
        if (timeline)
            mgds_syncwords_give(words, timeline);
        return;
    }
    fetch->carry.timeline = timeline;
    fetch->won = &timeline[MGDS_CARRY_WON];
    fetch->why = why;
    fetch->carry.take.bytes = fetch->carry.take.length = 0;
    fetch->carry.take.done = (uintptr_t)fetch->won;
    mgds_carry_begin(&fetch->carry, MGDS_WORK_DELIVERY);
}

/* What has won let the TAKE pass: that may be known first. */
void mgds_fetch_settle(const struct mgds_op *op)
{
    if (op->recv->fetch && has_won(op->recv->fetch))
        mgds_carry_tell(&op->recv->fetch->carry, 0);
}

void mgds_fetch_init(const struct mgds_fetch_ends *told)
{
    ends = told;
    mgds_carry_init();
}
