/* Messages that their receivers copy; see pull.h. */
#include "shim/gds/domain/pull.h"

#include <errno.h>
#include <sched.h>

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/mapping.h"
#include "shim/gds/domain/means.h"
#include "shim/gds/domain/memory.h"
#include "shim/gds/queue/gstream.h"

/* When a send is late, and how long a stream that is to take a message may
 * stand before that is fetched, ns. */
enum { LATE_NS = 100000, STUCK_NS = 500000 };

/* Sends. */

static bool is_wanted(const struct mgds_op *op, const struct mgds_xfer *xfer)
{
    uint64_t least = mgds_ctx()->config.pull;

    return least > 0 && op->bytes >= least && op->line && xfer->gpu &&
           !xfer->sync && xfer->peer != MGDS_PROC_NULL &&
           mgds_gstream_takes(op->line->stream, &op->user);
}

static bool is_inside(const struct mgds_op *op,
                      const struct mgds_export_handle *handle)
{
    uint64_t begin = (uintptr_t)mgds_op_user(op);

    return begin >= handle->base &&
           begin + op->bytes <= handle->base + handle->size;
}

/* Nobody would copy it: that stands behind it. */
static bool is_in_its_own_way(const struct mgds_domain *domain,
                              const struct mgds_xfer *xfer)
{
    return xfer->stands && xfer->peer == (int)domain->rank &&
           xfer->from_index == xfer->to_index;
}

/* Takes the lock, when the other end has mapped the memory, or will not soon.
 * Both may wait for each other. */
static enum mgds_memory
enter_with_memory(struct mgds_domain *domain, struct mgds_lane *lane,
                  const struct mgds_xfer *xfer, size_t bytes,
                  const struct mgds_export_handle *handle)
    MGDS_ACQUIRE(mgds_engine_lock)
{
    enum mgds_memory memory;

    mgds_engine_enter();
    memory = mgds_memory_look(domain, lane, xfer, bytes, handle);
    while (memory == MGDS_MEMORY_SOON) {
        mgds_engine_leave();
        mgds_wire_progress();
        mgds_memory_map();
        mgds_engine_enter();
        memory = mgds_memory_look(domain, lane, xfer, bytes, handle);
    }
    return memory;
}

static bool reserve(struct mgds_op *op, struct mgds_lane *lane)
{
    if (!mgds_lane_reserve(lane, &op->place, &op->done_word))
        return false;
    mgds_count(pull_sends);
    op->pull = true;
    op->lane = op->words_of = lane;
    return true;
}

bool mgds_pull_try(struct mgds_op *op, struct mgds_domain *domain,
                   const struct mgds_xfer *xfer)
{
    struct mgds_export_handle handle = {.id = 0};
    struct mgds_lane *lane;
    enum mgds_memory memory;
    bool may;

    if (!is_wanted(op, xfer) || is_in_its_own_way(domain, xfer))
        return false;
    lane = mgds_landing_lane(domain->landing, xfer->from_index,
                             domain->base[xfer->peer] + xfer->to_index);
    if (!mgds_lane_pulls(lane))
        return false;
    if (!mgds_lane_is_own(lane) &&
        (mgds_export_of(&handle, &op->user.ptr) < 0 || !is_inside(op, &handle)))
        return false;
    memory = enter_with_memory(domain, lane, xfer, op->bytes, &handle);
    may = memory != MGDS_MEMORY_REFUSED;
    if (memory == MGDS_MEMORY_KNOWN)
        may = reserve(op, lane);
    mgds_engine_leave();
    return may;
}

int mgds_pull_insist(struct mgds_op *op, struct mgds_domain *domain,
                     const struct mgds_xfer *xfer)
{
    uint64_t end = mgds_clock_ns() + MGDS_MEANS_INSIST_NS;

    while (!op->pull && mgds_clock_ns() < end) {
        mgds_wire_progress();
        mgds_memory_map();
        if (xfer->idle)
            xfer->idle();
        if (!mgds_pull_try(op, domain, xfer))
            break;
        sched_yield();
    }
    return op->pull ? 0 : -ENOMEM;
}

void mgds_pull_cancel(struct mgds_op *op)
{
    if (!op->pull)
        return;
    mgds_engine_enter();
    mgds_landing_give(op->lane, &op->place);
    mgds_lane_give_done(op->words_of, op->done_word);
    mgds_engine_leave();
}

/* After an error it may still be written, unless the receiver has said that
 * nobody will. */
void mgds_pull_release(struct mgds_op *op)
{
    if (!op->words_of || !op->moved || op->awaiting ||
        (op->error && !op->ended))
        return;
    mgds_lane_give_done(op->words_of, op->done_word);
    op->words_of = NULL;
}

void mgds_pull_describe(const struct mgds_op *op, struct mgds_rts *rts)
{
    if (!op->pull)
        return;
    rts->address = (uintptr_t)mgds_op_user(op);
    rts->export = mgds_lane_is_own(op->lane) ? 0 : op->user.ptr.id;
    rts->done = op->done_word & MGDS_RTS_DONE_MOST;
    rts->stands = op->stands;
}

/* Messages. */

/* Of this process: then the send is here, too. */
static bool is_own_send(const struct mgds_rts *rts)
{
    const struct mgds_op *op = mgds_op_find(rts->cookie);

    return op && op->send && op->pull && op->bytes == rts->bytes &&
           (uintptr_t)mgds_op_user(op) == rts->address;
}

static uint64_t source_of(struct mgds_lane *lane, const struct mgds_rts *rts)
{
    const struct mgds_mapping *memory;
    const struct mgds_export_handle *handle;

    if (rts->export == 0)
        return mgds_lane_is_own(lane) && is_own_send(rts) ? rts->address : 0;
    memory = mgds_mapping_find(mgds_lane_theirs(lane), rts->export);
    if (!memory || !memory->import)
        return 0;
    handle = &memory->handle;
    if (rts->address < handle->base || rts->bytes > handle->size ||
        rts->address - handle->base > handle->size - rts->bytes)
        return 0;
    return (uintptr_t)mgds_import_addr(memory->import) +
           (rts->address - handle->base);
}

static void link_message(struct mgds_message *message)
{
    struct mgds_domain *domain = message->domain;

    message->prev = NULL;
    message->next = domain->pulls;
    if (domain->pulls)
        domain->pulls->prev = message;
    domain->pulls = message;
}

void mgds_pull_arrived(struct mgds_message *message, const struct mgds_rts *rts)
{
    struct mgds_lane *lane =
        mgds_landing_lane(message->domain->landing, rts->to_index,
                          (unsigned)message->match.source);

    if (rts->address == 0)
        return;
    message->pull = true;
    message->stands = rts->stands;
    link_message(message);
    if (mgds_lane_pulls(lane) && message->serial != 0) {
        message->source = source_of(lane, rts);
        message->done = (uintptr_t)mgds_lane_done_there(lane, rts->done);
    }
    if (!message->done)
        message->source = 0;
    if (!message->source)
        mgds_err("rank %u sends from memory that is not mapped here: its "
                 "message of %zu bytes is lost",
                 message->rank, message->bytes);
}

void mgds_pull_forget(struct mgds_message *message)
{
    if (!message || !message->pull)
        return;
    *(message->prev ? &message->prev->next : &message->domain->pulls) =
        message->next;
    if (message->next)
        message->next->prev = message->prev;
    message->pull = false;
}

/* What is late. */

/* In the order of `since`. */
struct late {
    struct mgds_op *first, *last;
    uint64_t patience;
};

static struct late sends = {NULL, NULL, LATE_NS};
static struct late receives = {NULL, NULL, STUCK_NS};
static uint64_t due; /* when the first of them is, 0: none; atomic */

static struct late *list_of(const struct mgds_op *op)
{
    return op->send ? &sends : &receives;
}

static uint64_t due_of(const struct late *late)
{
    return late->first ? late->first->since + late->patience : UINT64_MAX;
}

static void set_due(void)
{
    uint64_t first = due_of(&sends), second = due_of(&receives);

    first = first < second ? first : second;
    __atomic_store_n(&due, first == UINT64_MAX ? 0 : first, __ATOMIC_RELAXED);
}

static void add_late(struct mgds_op *op)
{
    struct late *late = list_of(op);

    op->late = true;
    op->since = mgds_clock_ns();
    op->next_late = NULL;
    op->prev_late = late->last;
    *(late->last ? &late->last->next_late : &late->first) = op;
    late->last = op;
    mgds_wire_hold();
    set_due();
}

void mgds_pull_settled(struct mgds_op *op)
{
    struct late *late = list_of(op);

    if (!op->late)
        return;
    op->late = false;
    *(op->prev_late ? &op->prev_late->next_late : &late->first) = op->next_late;
    *(op->next_late ? &op->next_late->prev_late : &late->last) = op->prev_late;
    mgds_wire_release();
    set_due();
}

void mgds_pull_posted(struct mgds_op *op)
{
    if (op->pull && !op->moved && !op->error && !op->told && !op->late)
        add_late(op);
}

void mgds_pull_reached(struct mgds_domain *domain, int source,
                       unsigned to_index, uint64_t number)
{
    struct mgds_message *message = domain->pulls;

    while (message && !mgds_message_is(message, source, to_index, number))
        message = message->next;
    if (!message)
        return;
    message->match.reached = true;
    if (message->op)
        mgds_pull_consider(message->op);
}

static bool may_be_fetched(const struct mgds_op *op)
{
    return op->message && op->message->pull && op->message->match.reached &&
           op->message->source && op->reached && op->claim && !op->fetching &&
           !op->credited && !op->pulled && !op->quit;
}

void mgds_pull_consider(struct mgds_op *op)
{
    if (!may_be_fetched(op) || op->late)
        return;
    op->passes = op->line->passes;
    if (op->taking)
        add_late(op);
    else
        mgds_fetch_add(op);
}

bool mgds_pulls_due(void)
{
    uint64_t first = __atomic_load_n(&due, __ATOMIC_RELAXED);

    return first && mgds_clock_ns() >= first;
}

static struct mgds_op *next_late(struct late *late, uint64_t now)
{
    struct mgds_op *op = due_of(late) <= now ? late->first : NULL;

    if (op)
        mgds_pull_settled(op);
    return op;
}

/* One whose stream has gone on meanwhile has time again. */
static void look_at(struct mgds_op *op)
{
    if (!may_be_fetched(op))
        return;
    if (op->passes != op->line->passes) {
        op->passes = op->line->passes;
        add_late(op);
    } else {
        mgds_fetch_add(op);
    }
}

void mgds_pulls_look(void)
{
    uint64_t now = mgds_clock_ns();
    struct mgds_op *op;

    while ((op = next_late(&sends, now)) != NULL)
        mgds_exchange_tell(op, true);
    while ((op = next_late(&receives, now)) != NULL)
        look_at(op);
}

void mgds_pulls_fini(void)
{
    while (sends.first)
        mgds_pull_settled(sends.first);
    while (receives.first)
        mgds_pull_settled(receives.first);
}
