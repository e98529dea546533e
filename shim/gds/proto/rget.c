/* Messages that their receivers copy; see rget.h. */
#include "shim/gds/proto/rget.h"

#include <errno.h>
#include <sched.h>

#include "device/abi.h"
#include "device/impl/mem.h"
#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/late.h"
#include "shim/gds/domain/mapping.h"
#include "shim/gds/domain/means.h"
#include "shim/gds/domain/memory.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/proto/slot.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/wire/wire.h"

/* Sends. */

static bool is_inside(const struct mgds_op *op,
                      const struct mgds_export_handle *handle)
{
    uint64_t begin = (uintptr_t)mgds_op_user(op);

    return begin >= handle->base &&
           begin + op->bytes <= handle->base + handle->size;
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
    op->protocol = &mgds_rget;
    op->lane = op->words_of = lane;
    return true;
}

bool mgds_rget_try(struct mgds_op *op, struct mgds_domain *domain,
                   const struct mgds_xfer *xfer)
{
    struct mgds_export_handle handle = {.id = 0};
    struct mgds_lane *lane =
        mgds_landing_lane(domain->landing, xfer->from_index,
                          domain->base[xfer->peer] + xfer->to_index);
    enum mgds_memory memory;
    bool may;

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

int mgds_rget_insist(struct mgds_op *op, struct mgds_domain *domain,
                     const struct mgds_xfer *xfer)
{
    uint64_t end = mgds_clock_ns() + MGDS_MEANS_INSIST_NS;

    while (!op->protocol->copied && mgds_clock_ns() < end) {
        mgds_wire_progress();
        mgds_memory_map();
        if (xfer->idle)
            xfer->idle();
        if (!mgds_rget_try(op, domain, xfer))
            break;
        sched_yield();
    }
    return op->protocol->copied ? 0 : -ENOMEM;
}

void mgds_rget_cancel(struct mgds_op *op)
{
    if (op->protocol != &mgds_rget)
        return;
    mgds_engine_enter();
    mgds_landing_give(op->lane, &op->place);
    mgds_lane_give_done(op->words_of, op->done_word);
    mgds_engine_leave();
}

/* After an error it may still be written, unless the receiver has said that
 * nobody will. */
void mgds_rget_release(struct mgds_op *op)
{
    if (!op->words_of || !mgds_op_is_moved(op) ||
        op->waiting == MGDS_OP_AWAITING || (op->error && !op->expiry.ended))
        return;
    mgds_lane_give_done(op->words_of, op->done_word);
    op->words_of = NULL;
}

static void describe(const struct mgds_op *op, struct mgds_rts *rts)
{
    mgds_slot_describe(op, rts);
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

    return op && op->send && op->protocol == &mgds_rget &&
           op->bytes == rts->bytes &&
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

/* One that cannot be had is lost; by fragments it does not come. */
static bool accept(struct mgds_message *message, const struct mgds_rts *rts)
{
    struct mgds_lane *lane =
        mgds_landing_lane(message->domain->landing, rts->to_index,
                          (unsigned)message->match.source);

    message->stands = rts->stands;
    message->listed = true;
    LIST_INSERT_HEAD(&message->domain->pulls, message, pull_link);
    if (mgds_slot_accept(message, rts, 0) && mgds_lane_pulls(lane)) {
        message->source = source_of(lane, rts);
        message->done = (uintptr_t)mgds_lane_done_there(lane, rts->done);
    }
    if (!message->done)
        message->source = 0;
    if (!message->source)
        mgds_err("rank %u sends from memory that is not mapped here: its "
                 "message of %zu bytes is lost",
                 message->rank, message->bytes);
    return true;
}

/* Who may come to copy it is told some time later. */
static void reached(struct mgds_op *op)
{
    if (!mgds_op_is_moved(op) && !op->error && !op->told && !op->late.listed)
        mgds_late_add(op);
}

void mgds_rget_reached(const struct mgds_domain *domain, int source,
                       unsigned to_index, uint64_t number)
{
    struct mgds_message *message;

    LIST_FOREACH(message, &domain->pulls, pull_link)
    {
        if (mgds_message_is(message, source, to_index, number))
            break;
    }
    if (!message)
        return;
    message->match.reached = true;
    if (message->op)
        mgds_rget_consider(message->op);
}

/* By nobody but this process. */
static bool is_to_be_copied(const struct mgds_op *op)
{
    return op->state == MGDS_OP_HELD || op->state == MGDS_OP_WANTED ||
           op->state == MGDS_OP_TAKEN;
}

bool mgds_rget_may_be_fetched(const struct mgds_op *op)
{
    return op->message && op->message->protocol->copied &&
           op->message->match.reached && op->message->source && op->reached &&
           op->claim && !op->fetching && !op->credited && !op->quit.record &&
           is_to_be_copied(op);
}

void mgds_rget_consider(struct mgds_op *op)
{
    if (!mgds_rget_may_be_fetched(op) || op->late.listed)
        return;
    op->late.passes = op->line->passes;
    if (op->waiting == MGDS_OP_TAKING)
        mgds_late_add(op);
    else
        mgds_fetch_add(op);
}

/* Its receiver may copy it from here on. */
static bool command(const struct mgds_op *op, struct mgds_step *step)
{
    struct mgds_unit *unit = (struct mgds_unit *)op->place.address;

    *step = (struct mgds_step){.kind = MGDS_STEP_POST,
                               .units = &unit->word,
                               .serial = op->place.serial};
    return true;
}

static void record(const struct mgds_op *op, struct mgds_take_record *record)
{
    mgds_slot_record(op, record);
    record->form = MGDS_TAKE_PULL;
    record->source = op->message->source;
    record->done = op->message->done;
}

const struct mgds_protocol mgds_rget = {
    .id = MGDS_PROTOCOL_RGET,
    .slotted = true,
    .copied = true,
    .describe = describe,
    .command = command,
    .reached = reached,
    .answer = mgds_slot_answer,
    .accept = accept,
    .record = record,
};
