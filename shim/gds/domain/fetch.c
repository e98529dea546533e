/* Messages copied by kernels on a stream of ours; see fetch.h. */
#include "shim/gds/domain/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/mail.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/queue/claims.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/queue/quits.h"

/* How long a launch may take before the message is ordered, ns. */
enum { ORDER_NS = 2200000 };

/* What is in host memory one thread copies far more slowly than a launch that
 * only waits for its turn. */
enum { LENT_ORDER_NS = 100000000 };

/* In a line of words, the operation's or its own: the flag, and, in its own,
 * what tells that nobody else has the message. */
enum { FLAG = MGDS_OP_COUNT + 1, WON = FLAG + 1, FETCHED = 1 };

enum outcome { PENDING, LAUNCHED, UNNEEDED, FAILED };

struct mgds_fetch {
    struct mgds_work launch, watch;
    struct mgds_op *op;    /* a reference */
    struct mgds_step take; /* constant: the operation goes on meanwhile */
    enum outcome outcome;  /* of the launch */
    uint64_t since;        /* ns: when it was last due */
    uint64_t *line;        /* its own, if the operation has no words */
    uint64_t *flag;
    uint64_t *won;         /* of one that is to keep the message from others */
    const char *why;       /* and why; constant text */
    struct mgds_mail mail; /* the orders that were given */
    struct mgds_claim *claim; /* its own, if the operation has none */
    struct mgds_piece *room;  /* memory that stands for the program's */
    bool told;                /* that it is over */
    bool lost;                /* the program has freed the buffer */
};

/* Written before the wire is open. */
static const struct mgds_fetch_ends *ends;

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->domain->stream[op->call->index];
}

/* Out of the memory that it was lent: what says that it is read is for nobody.
 */
static void take_lent(struct mgds_step *take, const struct mgds_op *op)
{
    take->units = op->recv->loan.unit;
    take->serial = op->recv->loan.unit[MGDS_ROOM_SERIAL];
    take->length = op->recv->got;
    take->source = (uintptr_t)mgds_bounce_base(op->bounce);
    take->done = (uintptr_t)&op->recv->loan.unit[MGDS_ROOM_DONE];
}

/* To where it belongs. */
static struct mgds_step take_of(const struct mgds_op *op)
{
    struct mgds_step take = {.kind = MGDS_STEP_TAKE,
                             .user = mgds_op_user(op),
                             .bounce = op->recv->direct ? op->bounce : NULL,
                             .bytes = op->recv->got,
                             .units = (void *)(uintptr_t)mgds_op_units(op),
                             .serial = op->recv->message->serial,
                             .length = op->recv->message->bytes,
                             .claim = op->recv->claim,
                             .gen = op->recv->gen,
                             .delivers = true,
                             .source = op->recv->message->source,
                             .done = op->recv->message->done};

    if (op->recv->loan.unit)
        take_lent(&take, op);
    return take;
}

/* By which a launch and an order settle who copies. Where there is none left
 * nothing is ordered. */
static void take_claim(struct mgds_fetch *fetch)
{
    if (fetch->take.claim)
        return;
    fetch->claim = mgds_gstream_claim(stream_of(fetch->op));
    fetch->take.claim = fetch->claim;
    fetch->take.gen = mgds_claims_generation();
}

/* Where a kernel can put it: what is not the program's own place is copied
 * there when it is over. NULL: memory for that is pinned for the launch. */
static char *take_place(struct mgds_fetch *fetch)
{
    const struct mgds_op *op = fetch->op;

    if (op->recv->direct || fetch->take.bytes == 0)
        return mgds_op_user(op);
    if (op->bounce && op->stream)
        return (char *)mgds_bounce_base(op->bounce);
    fetch->room = mgds_gstream_pad(stream_of(op), fetch->take.bytes);
    return fetch->room ? (char *)fetch->room->addr : NULL;
}

static struct mgds_fetch *add(struct mgds_op *op)
{
    struct mgds_fetch *fetch =
        (struct mgds_fetch *)mgds_calloc(1, sizeof(*fetch));

    if (!fetch)
        return NULL;
    op->recv->fetch = fetch;
    op->recv->direct = mgds_op_is_near(op);
    fetch->op = mgds_op_get(op);
    fetch->take = take_of(op);
    take_claim(fetch);
    fetch->take.user = take_place(fetch);
    fetch->since = mgds_clock_ns();
    mgds_work_add(&fetch->launch, MGDS_WORK_DELIVERY);
    mgds_work_add(&fetch->watch, MGDS_WORK_DELIVERED);
    return fetch;
}

/* Without memory for it the receive fails. */
void mgds_fetch_add(struct mgds_op *op)
{
    if (op->recv->fetch || op->recv->credited)
        return;
    op->recv->got = mgds_op_fitting(op);
    if (!add(op)) {
        ends->unread(op, -ENOMEM);
        ends->fetched(op, -ENOMEM);
    }
}

/* Copies nothing, so who gets the claim by it has kept the message from the
 * stream's TAKE: that is told here, and not to the sender. */
void mgds_fetch_withdraw(struct mgds_op *op, const char *why)
{
    struct mgds_words *words = mgds_gstream_words(stream_of(op));
    uint64_t *line = mgds_words_take_idle(words);
    struct mgds_fetch *fetch = line ? add(op) : NULL;

    if (!fetch) {
        if (line)
            mgds_words_give(words, line);
        return;
    }
    fetch->line = line;
    fetch->won = &line[WON];
    fetch->why = why;
    fetch->take.bytes = fetch->take.length = 0;
    fetch->take.done = (uintptr_t)fetch->won;
}

/* Pinned memory where the kernel can put it. Without a lock; no order is given
 * of one that has none yet. */
static int make_room(struct mgds_fetch *fetch)
{
    int rc;

    if (fetch->take.user || fetch->take.bytes == 0)
        return 0;
    rc = mgds_gstream_room(&fetch->room, stream_of(fetch->op),
                           fetch->take.bytes);
    if (rc == 0) {
        mgds_engine_enter();
        fetch->take.user = (char *)fetch->room->addr;
        mgds_engine_leave();
    }
    return rc;
}

static int make_flag(struct mgds_fetch *fetch)
{
    struct mgds_op *op = fetch->op;
    int rc = 0;

    if (!op->recv->words && !fetch->line)
        rc = mgds_words_take(&fetch->line, mgds_gstream_words(stream_of(op)));
    if (rc == 0)
        fetch->flag = &(fetch->line ? fetch->line : op->recv->words)[FLAG];
    return rc;
}

static int launch(struct mgds_fetch *fetch)
{
    int rc = make_room(fetch);

    if (rc == 0)
        rc = make_flag(fetch);
    if (rc < 0)
        return rc;
    rc = mgds_gstream_fetch(stream_of(fetch->op), &fetch->take, fetch->flag,
                            FETCHED);
    fetch->lost = rc == -EFAULT;
    return fetch->lost ? 0 : rc;
}

/* All of the following under the engine's lock, but what says otherwise. */

/* All of its launches are through, or there is none. A launch that was not
 * begun is not made once somebody else has copied the message. */
static bool is_quiet(struct mgds_fetch *fetch)
{
    if (fetch->outcome == LAUNCHED)
        return __atomic_load_n(fetch->flag, __ATOMIC_ACQUIRE) == FETCHED;
    if (fetch->outcome == PENDING && fetch->told &&
        mgds_work_cancel(&fetch->launch))
        fetch->outcome = UNNEEDED;
    return fetch->outcome != PENDING;
}

static bool has_won(const struct mgds_fetch *fetch)
{
    return fetch->won && __atomic_load_n(fetch->won, __ATOMIC_ACQUIRE) != 0;
}

/* The watch's thread, when the launch does not need it any more, or copies
 * nothing since the claim is taken. With the lock or without. */
static void give_room(struct mgds_fetch *fetch)
{
    if (fetch->room)
        mgds_gstream_room_give(stream_of(fetch->op), fetch->room);
    fetch->room = NULL;
}

/* To where it belongs. It may be long: without the lock. */
static void empty_room(struct mgds_fetch *fetch)
{
    if (fetch->room)
        memcpy(mgds_op_place(fetch->op), fetch->room->addr, fetch->take.bytes);
    give_room(fetch);
}

/* Once, as soon as somebody has copied it, or nobody will: what was launched is
 * then still to come to that. */
static void tell(struct mgds_fetch *fetch, int error)
{
    if (fetch->told)
        return;
    fetch->told = true;
    fetch->op->recv->fetch = NULL;
    if (error == 0)
        mgds_mail_take_back(&fetch->mail);
    if (has_won(fetch))
        ends->withdrawn(fetch->op, -ETIMEDOUT, fetch->why);
    else
        ends->fetched(fetch->op, error);
}

/* What has won let the TAKE pass: that may be known first. */
void mgds_fetch_settle(const struct mgds_op *op)
{
    if (op->recv->fetch && has_won(op->recv->fetch))
        tell(op->recv->fetch, 0);
}

static uint64_t order_age(const struct mgds_fetch *fetch)
{
    if (fetch->op->recv->loan.unit && fetch->outcome == LAUNCHED)
        return LENT_ORDER_NS;
    return ORDER_NS;
}

/* A kernel that stands could put it there. */
static bool may_be_ordered(const struct mgds_fetch *fetch)
{
    return !fetch->told && (fetch->take.user || fetch->take.bytes == 0);
}

/* Whatever keeps a launch, a stream may serve it. True: one has, and nobody was
 * told. */
static bool look_at_orders(struct mgds_fetch *fetch)
{
    uint64_t age = mgds_clock_ns() - fetch->since;

    if (!may_be_ordered(fetch))
        return false;
    if (mgds_mail_is_served(&fetch->mail))
        return true;
    if (age > order_age(fetch) &&
        mgds_mail_send(&fetch->mail, stream_of(fetch->op), &fetch->take))
        mgds_count(pull_orders);
    return false;
}

/* Nothing was launched, or ordered, that would store there, or it has. */
static void give_flag(struct mgds_fetch *fetch)
{
    if (fetch->line)
        mgds_words_give(mgds_gstream_words(stream_of(fetch->op)), fetch->line);
    fetch->line = NULL;
}

/* Nobody stores to its words any more. */
static void give_back(struct mgds_fetch *fetch)
{
    give_flag(fetch);
    give_room(fetch);
    if (fetch->claim)
        mgds_gstream_unclaim(stream_of(fetch->op), fetch->claim);
    mgds_op_put_later(fetch->op);
}

/* The context is broken, or the launch would be made again. A TAKE that is on
 * the stream, or a kernel by order, may copy the message: nobody hears that it
 * was not read. */
static void fail(struct mgds_fetch *fetch, int rc)
{
    errno = -rc;
    mgds_warn("a message of rank %u cannot be copied: %m",
              fetch->op->recv->message->rank);
    tell(fetch, rc);
    if (fetch->mail.count == 0 && !mgds_op_is_taken(fetch->op))
        ends->unread(fetch->op, rc);
}

/* Memory may be short for a while. Where an order stands, or a TAKE is on the
 * stream, a kernel may copy the message at any time: nobody may be told that
 * the receive has failed, since its buffer would be used for something else. */
static bool may_go_on(const struct mgds_fetch *fetch, int rc)
{
    return rc == -ENOMEM && !fetch->told &&
           (fetch->mail.count > 0 || mgds_op_is_taken(fetch->op));
}

static void settle_launch(struct mgds_fetch *fetch, int rc)
{
    if (may_go_on(fetch, rc)) {
        fetch->since = mgds_clock_ns();
        mgds_work_again(&fetch->launch);
        return;
    }
    mgds_work_done(&fetch->launch);
    fetch->outcome = rc == 0 ? LAUNCHED : fetch->told ? UNNEEDED : FAILED;
    if (fetch->outcome == FAILED)
        fail(fetch, rc);
}

/* Without the lock. */
static bool run_launch(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_fetch *fetch =
        MGDS_CONTAINER_OF(work, struct mgds_fetch, launch);
    int rc = launch(fetch);

    if (fetch->take.source)
        mgds_count(pull_fetches);
    else
        mgds_count(ring_fetches);
    if (by != MGDS_WORK_BY_HOST)
        mgds_count(pull_late);
    mgds_engine_enter();
    settle_launch(fetch, rc);
    mgds_engine_leave();
    return true;
}

/* A stream that was ruined has its fetches give up, too: nobody knows whether
 * this one did. */
static int error_of(const struct mgds_fetch *fetch)
{
    if (fetch->lost)
        return -EFAULT;
    return mgds_quits_are_all(mgds_gstream_quits(stream_of(fetch->op)))
               ? -ECANCELED
               : 0;
}

/* An order that a kernel may have begun stands for ever, with what it names. */
static bool stands(const struct mgds_fetch *fetch)
{
    return fetch->outcome == FAILED && fetch->mail.count > 0;
}

/* Both without the lock; the watch is this thread's. */

static void end_served(struct mgds_fetch *fetch)
{
    empty_room(fetch);
    mgds_engine_enter();
    tell(fetch, 0);
    mgds_engine_leave();
}

/* told: before now. */
static void end(struct mgds_fetch *fetch, bool told)
{
    int error = error_of(fetch);
    bool stays;

    if (!told && error == 0)
        empty_room(fetch);
    mgds_engine_enter();
    mgds_work_done(&fetch->watch);
    tell(fetch, error);
    stays = stands(fetch);
    if (!stays)
        give_back(fetch);
    mgds_engine_leave();
    if (!stays)
        free(fetch);
}

static bool run_watch(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_fetch *fetch =
        MGDS_CONTAINER_OF(work, struct mgds_fetch, watch);
    bool served, quiet, told;

    (void)by;
    mgds_engine_enter();
    served = look_at_orders(fetch);
    mgds_engine_leave();
    if (served)
        end_served(fetch);
    mgds_engine_enter();
    quiet = is_quiet(fetch);
    told = fetch->told;
    if (!quiet)
        mgds_work_again(work);
    mgds_engine_leave();
    if (quiet)
        end(fetch, told);
    return true;
}

/* The record is the watch's. */
static void drop_launch(struct mgds_work *work)
{
    (void)work;
}

/* By a kernel that may still write to what it was given. */
static bool is_named(const struct mgds_fetch *fetch)
{
    if (fetch->outcome == LAUNCHED)
        return __atomic_load_n(fetch->flag, __ATOMIC_ACQUIRE) != FETCHED;
    return fetch->mail.count > 0;
}

/* The launch was dropped ahead of it, if it was not begun. */
static void drop_watch(struct mgds_work *work)
{
    struct mgds_fetch *fetch =
        MGDS_CONTAINER_OF(work, struct mgds_fetch, watch);

    if (is_named(fetch))
        return;
    mgds_engine_enter();
    mgds_mail_take_back(&fetch->mail);
    if (!fetch->told)
        fetch->op->recv->fetch = NULL;
    give_back(fetch);
    mgds_engine_leave();
    free(fetch);
}

void mgds_fetch_init(const struct mgds_fetch_ends *told)
{
    static const struct mgds_work_handler launches = {run_launch, drop_launch};
    static const struct mgds_work_handler watches = {run_watch, drop_watch};

    ends = told;
    mgds_work_handle(MGDS_WORK_DELIVERY, &launches);
    mgds_work_handle(MGDS_WORK_DELIVERED, &watches);
}
