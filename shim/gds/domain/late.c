/* Operations that are late; see late.h. */
#include "shim/gds/domain/late.h"

#include "shim/base/clock.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/wire/wire.h"

/* When a send is late, and how long a stream that is to take a message may
 * stand before that is fetched, ns. */
enum { LATE_NS = 100000, STUCK_NS = 500000 };

/* In the order of `since`. */
struct late {
    TAILQ_HEAD(, mgds_op) ops;
    uint64_t patience;
};

static struct late sends = {TAILQ_HEAD_INITIALIZER(sends.ops), LATE_NS};
static struct late receives = {TAILQ_HEAD_INITIALIZER(receives.ops), STUCK_NS};
static uint64_t due; /* when the first of them is, 0: none; atomic */

static struct late *list_of(const struct mgds_op *op)
{
    return op->send ? &sends : &receives;
}

static uint64_t due_of(const struct late *late)
{
    const struct mgds_op *first = TAILQ_FIRST(&late->ops);

    return first ? first->late.since + late->patience : UINT64_MAX;
}

static void set_due(void)
{
    uint64_t first = due_of(&sends), second = due_of(&receives);

    first = first < second ? first : second;
    __atomic_store_n(&due, first == UINT64_MAX ? 0 : first, __ATOMIC_RELAXED);
}

void mgds_late_add(struct mgds_op *op)
{
    op->late.listed = true;
    op->late.since = mgds_clock_ns();
    TAILQ_INSERT_TAIL(&list_of(op)->ops, op, late.link);
    mgds_wire_hold();
    set_due();
}

void mgds_late_remove(struct mgds_op *op)
{
    if (!op->late.listed)
        return;
    op->late.listed = false;
    TAILQ_REMOVE(&list_of(op)->ops, op, late.link);
    mgds_wire_release();
    set_due();
}

bool mgds_late_due(void)
{
    uint64_t first = __atomic_load_n(&due, __ATOMIC_RELAXED);

    return first && mgds_clock_ns() >= first;
}

static struct mgds_op *take(const struct late *late, uint64_t now)
{
    struct mgds_op *op = due_of(late) <= now ? TAILQ_FIRST(&late->ops) : NULL;

    if (op)
        mgds_late_remove(op);
    return op;
}

struct mgds_op *mgds_late_take_send(uint64_t now)
{
    return take(&sends, now);
}

struct mgds_op *mgds_late_take_recv(uint64_t now)
{
    return take(&receives, now);
}

void mgds_late_fini(void)
{
    while (!TAILQ_EMPTY(&sends.ops))
        mgds_late_remove(TAILQ_FIRST(&sends.ops));
    while (!TAILQ_EMPTY(&receives.ops))
        mgds_late_remove(TAILQ_FIRST(&receives.ops));
}
