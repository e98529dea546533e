/* Copies beside the program's streams; see carry.h. */
#include "shim/gds/proto/carry.h"

#include <errno.h>

#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/gds/mem/bounce.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/stream/claims.h"
#include "shim/gds/stream/quits.h"

/* How long a launch may take before what it copies is ordered, ns. */
enum { ORDER_NS = 2200000 };

/* The same where a copy by order is slow, and launches come through. */
enum { SLOW_ORDER_NS = 100000000 };

enum { FLAGGED = 1 };

/* By which a launch and an order settle who copies. Where there is none left
 * nothing is ordered. */
static void take_claim(struct mgds_carry *carry)
{
    if (carry->take.claim)
        return;
    carry->claim = mgds_gstream_claim(carry->stream);
    carry->take.claim = carry->claim;
    carry->take.gen = mgds_claims_generation();
}

void mgds_carry_begin(struct mgds_carry *carry, enum mgds_work_kind launch)
{
    take_claim(carry);
    carry->since = mgds_clock_ns();
    mgds_work_add(&carry->launch, launch);
    mgds_work_add(&carry->watch, MGDS_WORK_DELIVERED);
}

/* A unit of the carry's own says that the bytes are there. */
static void set_timeline(struct mgds_carry *carry, uint64_t *timeline)
{
    carry->timeline = timeline;
    if (!timeline || carry->take.units)
        return;
    timeline[MGDS_CARRY_SERIAL] = 1;
    carry->take.done = (uintptr_t)&timeline[MGDS_CARRY_DONE];
    carry->take.units = timeline;
}

void mgds_carry_bytes(struct mgds_carry *carry, void *to, const void *from,
                      size_t bytes)
{
    struct mgds_command *take = &carry->take;

    take->kind = MGDS_COMMAND_TAKE;
    take->user = (char *)to;
    take->bytes = take->length = bytes;
    take->serial = 1;
    take->delivers = true;
    take->source = (uintptr_t)from;
    carry->slow_by_order = true;
    set_timeline(carry,
                 mgds_syncwords_take_idle(mgds_gstream_words(carry->stream)));
    mgds_carry_begin(carry, MGDS_WORK_PART);
}

struct mgds_bounce *mgds_carry_checked(const struct mgds_op *op)
{
    bool in_order =
        op->timeline && op->bounce && mgds_bounce_is_pooled(op->bounce);

    return in_order ? NULL : op->bounce;
}

static uint64_t *flag_of(const struct mgds_carry *carry)
{
    return &carry->timeline[MGDS_CARRY_FLAG];
}

/* Without the lock, as the launch: the timeline is its own, if there was none.
 */
static int make_timeline(struct mgds_carry *carry)
{
    uint64_t *timeline;
    int rc;

    if (carry->timeline)
        return 0;
    rc = mgds_syncwords_take(&timeline, mgds_gstream_words(carry->stream));
    if (rc < 0)
        return rc;
    mgds_engine_enter();
    set_timeline(carry, timeline);
    mgds_engine_leave();
    return 0;
}

static int launch_kernel(struct mgds_carry *carry)
{
    int rc = make_timeline(carry);

    if (rc < 0)
        return rc;
    rc = mgds_gstream_fetch(carry->stream, &carry->take, flag_of(carry),
                            FLAGGED);
    carry->lost = rc == -EFAULT;
    return carry->lost ? 0 : rc;
}

/* All of the following under the engine's lock, but what says otherwise. */

static bool is_flagged(const struct mgds_carry *carry)
{
    return __atomic_load_n(flag_of(carry), __ATOMIC_ACQUIRE) == FLAGGED;
}

/* All of its launches are through, or there is none. A launch that was not
 * begun is not made once somebody else has copied. */
static bool is_quiet(struct mgds_carry *carry)
{
    if (carry->outcome == MGDS_CARRY_LAUNCHED)
        return is_flagged(carry);
    if (carry->outcome == MGDS_CARRY_PENDING && carry->told &&
        mgds_work_cancel(&carry->launch))
        carry->outcome = MGDS_CARRY_UNNEEDED;
    return carry->outcome != MGDS_CARRY_PENDING;
}

/* A kernel that was launched is then still to come to that. */
void mgds_carry_tell(struct mgds_carry *carry, int error)
{
    if (carry->told)
        return;
    carry->told = true;
    if (error == 0)
        mgds_mail_take_back(&carry->mail);
    carry->owner->over(carry, error);
}

static uint64_t order_age(const struct mgds_carry *carry)
{
    bool patient = carry->slow_by_order &&
                   carry->outcome == MGDS_CARRY_LAUNCHED &&
                   !mgds_gstream_is_stalled(carry->stream);

    return patient ? SLOW_ORDER_NS : ORDER_NS;
}

/* Whatever keeps a launch, a stream may serve it. True: one has, and nobody was
 * told. */
static bool look_at_orders(struct mgds_carry *carry)
{
    uint64_t age = mgds_clock_ns() - carry->since;

    if (carry->told || !carry->take.units)
        return false;
    if (mgds_mail_is_served(&carry->mail))
        return true;
    if (age > order_age(carry) &&
        mgds_mail_send(&carry->mail, carry->stream, &carry->take))
        mgds_count(pull_orders);
    return false;
}

/* Nobody stores to its words any more. */
static void give_back(struct mgds_carry *carry)
{
    if (carry->timeline)
        mgds_syncwords_give(mgds_gstream_words(carry->stream), carry->timeline);
    carry->timeline = NULL;
    if (carry->claim)
        mgds_gstream_unclaim(carry->stream, carry->claim);
    carry->claim = NULL;
}

static bool is_shared(const struct mgds_carry *carry)
{
    return carry->owner->is_shared && carry->owner->is_shared(carry);
}

/* Memory may be short for a while. Where an order stands, or a TAKE is on the
 * stream, a kernel may copy at any time: nobody may be told that it has failed,
 * since the buffer would be used for something else. */
static bool may_go_on(const struct mgds_carry *carry, int rc)
{
    return rc == -ENOMEM && !carry->told &&
           (carry->mail.count > 0 || is_shared(carry));
}

static void settle_launch(struct mgds_carry *carry, int rc)
{
    if (may_go_on(carry, rc)) {
        carry->since = mgds_clock_ns();
        mgds_work_again(&carry->launch);
        return;
    }
    mgds_work_done(&carry->launch);
    carry->outcome = rc == 0       ? MGDS_CARRY_LAUNCHED
                     : carry->told ? MGDS_CARRY_UNNEEDED
                                   : MGDS_CARRY_FAILED;
    if (carry->outcome == MGDS_CARRY_FAILED)
        mgds_carry_tell(carry, rc);
}

/* Without the lock. */
static bool run_launch(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_carry *carry =
        MGDS_CONTAINER_OF(work, struct mgds_carry, launch);
    int rc = launch_kernel(carry);

    if (carry->take.source)
        mgds_count(pull_fetches);
    else
        mgds_count(ring_fetches);
    if (by != MGDS_WORK_BY_HOST)
        mgds_count(pull_late);
    mgds_engine_enter();
    settle_launch(carry, rc);
    mgds_engine_leave();
    return true;
}

/* A stream that was ruined has its fetches give up, too: nobody knows whether
 * this one did. */
static int error_of(const struct mgds_carry *carry)
{
    if (carry->lost)
        return -EFAULT;
    return mgds_quits_are_all(mgds_gstream_quits(carry->stream)) ? -ECANCELED
                                                                 : 0;
}

/* An order that a kernel may have begun stands for ever, with what it names. */
static bool stream_stands(const struct mgds_carry *carry)
{
    return carry->outcome == MGDS_CARRY_FAILED && carry->mail.count > 0;
}

/* Tells those that wait for their launches whether any come through: a copy by
 * order was first, or a launch was soon through, first or not. */
static void note_order(struct mgds_carry *carry, bool served)
{
    bool soon = mgds_clock_ns() - carry->since < SLOW_ORDER_NS;

    if (carry->slow_by_order && (served || soon))
        mgds_gstream_note_stalled(carry->stream, served);
}

/* Without the lock; the watch is this thread's. */
static void settle_claim(struct mgds_carry *carry)
{
    if (carry->owner->settle)
        carry->owner->settle(carry);
}

static void end_served(struct mgds_carry *carry)
{
    settle_claim(carry);
    mgds_engine_enter();
    note_order(carry, true);
    mgds_carry_tell(carry, 0);
    mgds_engine_leave();
}

/* told: before now. */
static void end_carry(struct mgds_carry *carry, bool told)
{
    int error = error_of(carry);
    bool stays;

    if (!told && error == 0)
        settle_claim(carry);
    mgds_engine_enter();
    mgds_work_done(&carry->watch);
    if (carry->outcome == MGDS_CARRY_LAUNCHED)
        note_order(carry, false);
    mgds_carry_tell(carry, error);
    stays = stream_stands(carry);
    if (!stays)
        give_back(carry);
    mgds_engine_leave();
    if (!stays)
        carry->owner->gone(carry);
}

static bool run_watch(struct mgds_work *work, enum mgds_work_by by)
{
    struct mgds_carry *carry =
        MGDS_CONTAINER_OF(work, struct mgds_carry, watch);
    bool served, quiet, told;

    (void)by;
    mgds_engine_enter();
    served = look_at_orders(carry);
    mgds_engine_leave();
    if (served)
        end_served(carry);
    mgds_engine_enter();
    quiet = is_quiet(carry);
    told = carry->told;
    if (!quiet)
        mgds_work_again(work);
    mgds_engine_leave();
    if (quiet)
        end_carry(carry, told);
    return true;
}

/* By a kernel that may still write to what it was given. */
static bool is_named(const struct mgds_carry *carry)
{
    if (carry->outcome == MGDS_CARRY_LAUNCHED)
        return !is_flagged(carry);
    return carry->mail.count > 0;
}

/* The launch was dropped ahead of it, if it was not begun. */
static void drop_watch(struct mgds_work *work)
{
    struct mgds_carry *carry =
        MGDS_CONTAINER_OF(work, struct mgds_carry, watch);

    if (is_named(carry))
        return;
    mgds_engine_enter();
    mgds_mail_take_back(&carry->mail);
    give_back(carry);
    mgds_engine_leave();
    carry->owner->gone(carry);
}

void mgds_carry_init(void)
{
    static const struct mgds_work_handler launches = {.run = run_launch};
    static const struct mgds_work_handler watches = {run_watch, drop_watch};

    mgds_work_handle(MGDS_WORK_DELIVERY, &launches);
    mgds_work_handle(MGDS_WORK_PART, &launches);
    mgds_work_handle(MGDS_WORK_DELIVERED, &watches);
}
