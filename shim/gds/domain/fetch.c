/* Messages copied by kernels on a stream of ours; see fetch.h. */
#include "shim/gds/domain/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/alloc.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/launcher.h"
#include "shim/gds/domain/mail.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/queue/claims.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/queue/quits.h"
#include "shim/gds/wire/wire.h"

/* How long host calls have before the launcher is called, and how long that
 * has before the message is ordered, ns. */
enum { GRACE_NS = 200000, ORDER_NS = 2000000 };

/* What is in host memory one thread copies far more slowly than a launch that
 * only waits for its turn. */
enum { LENT_ORDER_NS = 100000000 };

/* In a line of words, the operation's or its own: the flag, and, in its own,
 * what tells that nobody else has the message. */
enum { FLAG = MGDS_OP_COUNT + 1, WON = FLAG + 1, FETCHED = 1 };

/* BUSY, ENDING: a thread is at it. */
enum state { QUEUED, BUSY, LAUNCHED, SERVED, ENDING };

struct fetch {
    struct fetch *next;
    struct mgds_op *op;    /* a reference */
    struct mgds_step take; /* constant: the operation goes on meanwhile */
    enum state state;
    uint64_t since;
    uint64_t *line; /* its own, if the operation has no words */
    uint64_t *flag;
    uint64_t *won;   /* of one that is to keep the message from all others */
    const char *why; /* and why; constant text */
    struct mgds_mail mail; /* the orders that were given */
    struct mgds_claim *claim; /* its own, if the operation has none */
    struct mgds_piece *room;  /* memory that stands for the program's */
    bool told;       /* that it is over */
    bool again;      /* a launch found no memory */
    bool lost;       /* the program has freed the buffer */
    bool hurried;    /* a host call waits, and must not launch it itself */
};

static struct fetch *fetches; /* under the engine's lock */
static unsigned count;        /* atomic: read without it, too */

/* Written before the wire is open. */
static const struct mgds_fetch_ends *ends;

void mgds_fetch_init(const struct mgds_fetch_ends *told)
{
    ends = told;
}

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->domain->stream[op->index];
}

/* Out of the memory that it was lent: what says that it is read is for nobody.
 */
static void take_lent(struct mgds_step *take, const struct mgds_op *op)
{
    take->units = op->loan.unit;
    take->serial = op->loan.unit[MGDS_ROOM_SERIAL];
    take->length = op->got;
    take->source = (uintptr_t)mgds_bounce_base(op->bounce);
    take->done = (uintptr_t)&op->loan.unit[MGDS_ROOM_DONE];
}

/* To where it belongs. */
static struct mgds_step take_of(const struct mgds_op *op)
{
    struct mgds_step take = {.kind = MGDS_STEP_TAKE,
                             .user = mgds_op_user(op),
                             .bounce = op->direct ? op->bounce : NULL,
                             .bytes = op->got,
                             .units = (void *)(uintptr_t)mgds_op_units(op),
                             .serial = op->message->serial,
                             .length = op->message->bytes,
                             .claim = op->claim,
                             .gen = op->gen,
                             .delivers = true,
                             .source = op->message->source,
                             .done = op->message->done};

    if (op->loan.unit)
        take_lent(&take, op);
    return take;
}

/* By which a launch and an order settle who copies. Where there is none left
 * nothing is ordered. */
static void take_claim(struct fetch *fetch)
{
    if (fetch->take.claim)
        return;
    fetch->claim = mgds_gstream_claim(stream_of(fetch->op));
    fetch->take.claim = fetch->claim;
    fetch->take.gen = mgds_claims_generation();
}

/* Where a kernel can put it: what is not the program's own place is copied
 * there when it is over. NULL: memory for that is pinned for the launch. */
static char *take_place(struct fetch *fetch)
{
    const struct mgds_op *op = fetch->op;

    if (op->direct || fetch->take.bytes == 0)
        return mgds_op_user(op);
    if (op->bounce && op->stream)
        return (char *)mgds_bounce_base(op->bounce);
    fetch->room = mgds_gstream_pad(stream_of(op), fetch->take.bytes);
    return fetch->room ? (char *)fetch->room->addr : NULL;
}

static struct fetch *add(struct mgds_op *op)
{
    struct fetch *fetch = (struct fetch *)mgds_calloc(1, sizeof(*fetch));
    struct fetch **last = &fetches;

    if (!fetch)
        return NULL;
    op->fetching = true;
    op->direct = op->near;
    fetch->op = mgds_op_get(op);
    fetch->take = take_of(op);
    take_claim(fetch);
    fetch->take.user = take_place(fetch);
    fetch->since = mgds_clock_ns();
    while (*last)
        last = &(*last)->next;
    *last = fetch;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    mgds_wire_hold();
    return fetch;
}

/* Without memory for it the receive fails. */
void mgds_fetch_add(struct mgds_op *op)
{
    if (op->fetching || op->credited)
        return;
    op->got = mgds_op_fitting(op);
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
    struct fetch *fetch = line ? add(op) : NULL;

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
static int make_room(struct fetch *fetch)
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

static int make_flag(struct fetch *fetch)
{
    struct mgds_op *op = fetch->op;
    int rc = 0;

    if (!op->words && !fetch->line)
        rc = mgds_words_take(&fetch->line, mgds_gstream_words(stream_of(op)));
    if (rc == 0)
        fetch->flag = &(fetch->line ? fetch->line : op->words)[FLAG];
    return rc;
}

static int launch(struct fetch *fetch)
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

/* All of its launches are through, or there was none. */
static bool is_quiet(const struct fetch *fetch)
{
    if (fetch->state == LAUNCHED)
        return __atomic_load_n(fetch->flag, __ATOMIC_ACQUIRE) == FETCHED;
    return fetch->state == SERVED || (fetch->state == QUEUED && fetch->told);
}

static bool is_due(const struct fetch *fetch, uint64_t age)
{
    return fetch->state == QUEUED && !fetch->told &&
           (age > GRACE_NS || fetch->hurried);
}

static struct fetch *find_due(bool host)
{
    uint64_t now = mgds_clock_ns();
    struct fetch *fetch = fetches;

    while (fetch && !is_due(fetch, host && !fetch->again ? UINT64_MAX
                                                         : now - fetch->since))
        fetch = fetch->next;
    return fetch;
}

static struct fetch *find_quiet(void)
{
    struct fetch *fetch = fetches;

    while (fetch && !is_quiet(fetch))
        fetch = fetch->next;
    return fetch;
}

static void drop(struct fetch *fetch)
{
    struct fetch **at = &fetches;

    while (*at != fetch)
        at = &(*at)->next;
    *at = fetch->next;
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    mgds_wire_release();
}

static bool has_won(const struct fetch *fetch)
{
    return fetch->won && __atomic_load_n(fetch->won, __ATOMIC_ACQUIRE) != 0;
}

/* To where it belongs. What is still launched finds the claim taken, and writes
 * nothing there. */
static void give_room(struct fetch *fetch, bool whole)
{
    if (!fetch->room)
        return;
    if (whole)
        memcpy(mgds_op_place(fetch->op), fetch->room->addr, fetch->take.bytes);
    mgds_gstream_room_give(stream_of(fetch->op), fetch->room);
    fetch->room = NULL;
}

/* Once, as soon as somebody has copied it, or nobody will: what was launched is
 * then still to come to that. */
static void tell(struct fetch *fetch, int error)
{
    if (fetch->told)
        return;
    fetch->told = true;
    if (error == 0)
        give_room(fetch, true);
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
    struct fetch *fetch = fetches;

    while (fetch && fetch->op != op)
        fetch = fetch->next;
    if (fetch && has_won(fetch))
        tell(fetch, 0);
}

static uint64_t order_age(const struct fetch *fetch)
{
    if (fetch->op->loan.unit && fetch->state == LAUNCHED)
        return LENT_ORDER_NS;
    return GRACE_NS + ORDER_NS;
}

/* Whatever keeps a launch, the stream may serve it. */
static void look_at_order(struct fetch *fetch, uint64_t age)
{
    struct mgds_gstream *stream = stream_of(fetch->op);

    if (fetch->told || fetch->state == ENDING ||
        (!fetch->take.user && fetch->take.bytes > 0))
        return;
    if (mgds_mail_is_served(&fetch->mail))
        tell(fetch, 0);
    else if (age > order_age(fetch) &&
             mgds_mail_send(&fetch->mail, stream, &fetch->take))
        mgds_count(pull_orders);
}

static void look_at_orders(void)
{
    uint64_t now = mgds_clock_ns();

    for (struct fetch *fetch = fetches; fetch; fetch = fetch->next)
        look_at_order(fetch, now - fetch->since);
}

/* Nothing was launched, or ordered, that would store there, or it has. */
static void give_flag(struct fetch *fetch)
{
    if (fetch->line)
        mgds_words_give(mgds_gstream_words(stream_of(fetch->op)), fetch->line);
    fetch->line = NULL;
}

/* The fetch is out of the list, and nobody stores to its words any more. */
static void give_back(struct fetch *fetch)
{
    give_flag(fetch);
    give_room(fetch, false);
    if (fetch->claim)
        mgds_gstream_unclaim(stream_of(fetch->op), fetch->claim);
    mgds_op_put_later(fetch->op);
}

/* An order that a kernel may have begun stands for ever, and so does what it
 * names: the context is broken, or it would be launched again. A TAKE that is
 * on the stream may copy the message: nobody hears that it was not read. */
static void fail(struct fetch *fetch, int rc)
{
    errno = -rc;
    mgds_warn("a message of rank %u cannot be copied: %m",
              fetch->op->message->rank);
    tell(fetch, rc);
    drop(fetch);
    if (fetch->mail.count > 0)
        return;
    if (!mgds_op_is_taken(fetch->op))
        ends->unread(fetch->op, rc);
    give_back(fetch);
}

/* Memory may be short for a while. Where an order stands, or a TAKE is on the
 * stream, a kernel may copy the message at any time: nobody may be told that
 * the receive has failed, since its buffer would be used for something else. */
static bool may_go_on(const struct fetch *fetch, int rc)
{
    return rc == -ENOMEM && (fetch->mail.count > 0 || mgds_op_is_taken(fetch->op));
}

/* True if it has failed, and is the caller's to free. */
static bool settle(struct fetch *fetch, int rc)
{
    fetch->state = rc < 0 ? SERVED : LAUNCHED;
    if (rc == 0 || fetch->told)
        return false;
    if (may_go_on(fetch, rc)) {
        fetch->state = QUEUED;
        fetch->again = true;
        fetch->since = mgds_clock_ns();
        return false;
    }
    fail(fetch, rc);
    return true;
}

/* Without the lock. */
static void begin(struct fetch *fetch, bool host)
{
    int rc = launch(fetch);
    bool failed;

    if (fetch->take.source)
        mgds_count(pull_fetches);
    else
        mgds_count(ring_fetches);
    if (!host)
        mgds_count(pull_late);
    mgds_engine_enter();
    failed = settle(fetch, rc);
    mgds_engine_leave();
    if (failed)
        free(fetch);
}

/* A stream that was ruined has its fetches give up, too: nobody knows whether
 * this one did. */
static int error_of(const struct fetch *fetch)
{
    if (fetch->lost)
        return -EFAULT;
    return mgds_quits_are_all(mgds_gstream_quits(stream_of(fetch->op)))
               ? -ECANCELED
               : 0;
}

/* Without the lock. */
static void end(struct fetch *fetch)
{
    int error = error_of(fetch);

    if (error == 0) /* it may be long: not under the lock */
        give_room(fetch, !fetch->told);
    mgds_engine_enter();
    drop(fetch);
    tell(fetch, error);
    give_back(fetch);
    mgds_engine_leave();
    free(fetch);
}

/* Who finds one has it for itself. Without the lock. */
static struct fetch *take_due(bool host)
{
    struct fetch *fetch;

    mgds_engine_enter();
    fetch = find_due(host);
    if (fetch)
        fetch->state = BUSY;
    mgds_engine_leave();
    return fetch;
}

static struct fetch *take_quiet(void)
{
    struct fetch *fetch;

    mgds_engine_enter();
    look_at_orders();
    fetch = find_quiet();
    if (fetch)
        fetch->state = ENDING;
    mgds_engine_leave();
    return fetch;
}

static void launch_all(bool host)
{
    struct fetch *fetch;

    while ((fetch = take_due(host)) != NULL)
        begin(fetch, host);
}

static void end_all(void)
{
    struct fetch *fetch;

    while ((fetch = take_quiet()) != NULL)
        end(fetch);
}

void mgds_fetches_late(void)
{
    launch_all(false);
}

bool mgds_fetches_hurry(void)
{
    bool any = false;

    if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0)
        return false;
    mgds_engine_enter();
    for (struct fetch *fetch = fetches; fetch; fetch = fetch->next) {
        any |= fetch->state == QUEUED && !fetch->told && !fetch->hurried;
        fetch->hurried = true;
    }
    mgds_engine_leave();
    return any;
}

static bool any_late(void)
{
    bool any;

    mgds_engine_enter();
    any = find_due(false) != NULL;
    mgds_engine_leave();
    return any;
}

void mgds_fetches_run(void)
{
    if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0)
        return;
    launch_all(true);
    end_all();
}

void mgds_fetches_chore(void)
{
    if (__atomic_load_n(&count, __ATOMIC_RELAXED) == 0)
        return;
    end_all();
    if (any_late())
        mgds_launcher_call();
}

/* Kernels may still write to what they were given: that stays. */
void mgds_fetches_fini(void)
{
    struct fetch *fetch;

    mgds_engine_enter();
    while ((fetch = fetches) != NULL) {
        drop(fetch);
        if (fetch->state == QUEUED && fetch->mail.count == 0) {
            give_back(fetch);
            free(fetch);
        }
    }
    mgds_engine_leave();
}
