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
#include "shim/gds/proto/fetch.h"
#include "shim/gds/comm/means.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/am.h"
#include "shim/gds/proto/slot.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/transport/dones.h"
#include "shim/gds/wire/wire.h"

/* Sends. */

/* Takes the lock, when the other end can read the memory, or will not soon.
 * Both may wait for each other. Without what else a message needs the memory is
 * of no use there. */
static enum mgds_exposure
enter_with_exposure(const struct mgds_transport *transport,
                    const struct mgds_exposing *exposing)
    MGDS_ACQUIRE(mgds_engine_lock)
{
    enum mgds_exposure exposure;

    mgds_engine_enter();
    if (!mgds_channel_may_get(exposing->channel))
        return MGDS_EXPOSURE_REFUSED;
    exposure = transport->expose(exposing);
    while (exposure == MGDS_EXPOSURE_SOON) {
        mgds_engine_leave();
        mgds_wire_progress();
        mgds_works_run_kind(MGDS_WORK_IMPORT, MGDS_WORK_BY_HOST);
        mgds_engine_enter();
        exposure = transport->expose(exposing);
    }
    return exposure;
}

static bool reserve_words(struct mgds_op *op, struct mgds_channel *channel)
{
    if (!mgds_channel_reserve(channel, &op->ring->slot, &op->ring->done_word))
        return false;
    mgds_count(pull_sends);
    op->send->protocol = &mgds_rget;
    op->send->transport = mgds_channel_transport(channel);
    op->ring->channel = op->ring->words_of = channel;
    return true;
}

bool mgds_rget_try(struct mgds_op *op, struct mgds_comm *comm,
                   const struct mgds_xfer *xfer)
{
    struct mgds_exposing exposing = {
        .comm = comm,
        .channel = mgds_comm_channel(comm, xfer->from_index,
                                     (unsigned)xfer->peer, xfer->to_index),
        .xfer = xfer,
        .bytes = op->call->bytes};
    const struct mgds_transport *transport =
        mgds_channel_transport(exposing.channel);
    enum mgds_exposure exposure;
    bool may;

    if (!transport->name_memory(&exposing, op))
        return false;
    exposure = enter_with_exposure(transport, &exposing);
    may = exposure != MGDS_EXPOSURE_REFUSED;
    if (exposure == MGDS_EXPOSURE_KNOWN)
        may = reserve_words(op, exposing.channel);
    mgds_engine_leave();
    return may;
}

static bool are_words_coming(const struct mgds_comm *comm,
                             const struct mgds_xfer *xfer)
{
    struct mgds_channel *channel = mgds_comm_channel(
        comm, xfer->from_index, (unsigned)xfer->peer, xfer->to_index);
    bool coming;

    mgds_engine_enter();
    coming = channel && mgds_channel_words_are_coming(channel, true);
    mgds_engine_leave();
    return coming;
}

int mgds_rget_insist(struct mgds_op *op, struct mgds_comm *comm,
                     const struct mgds_xfer *xfer)
{
    uint64_t end = mgds_clock_ns() + MGDS_MEANS_INSIST_NS;

    while (!op->send->protocol->copied && mgds_clock_ns() < end) {
        mgds_wire_progress();
        mgds_works_run_kind(MGDS_WORK_IMPORT, MGDS_WORK_BY_HOST);
        if (xfer->idle)
            xfer->idle();
        if (!mgds_rget_try(op, comm, xfer) && !are_words_coming(comm, xfer))
            break;
        sched_yield();
    }
    return op->send->protocol->copied ? 0 : -ENOMEM;
}

void mgds_rget_cancel(struct mgds_op *op)
{
    if (op->ring->words_of)
        mgds_channel_give_done(op->ring->words_of, op->ring->done_word);
}

/* After an error it may still be written, unless the receiver has said that
 * nobody will, or that it cannot copy the message. */
static bool may_be_written(const struct mgds_op *op)
{
    return op->error && op->send->revoking != MGDS_OP_ENDED &&
           op->send->protocol->copied;
}

void mgds_rget_release(struct mgds_op *op)
{
    if (!op->ring || !op->ring->words_of || !mgds_op_is_moved(op) ||
        op->waiting == MGDS_OP_AWAITING || may_be_written(op))
        return;
    mgds_channel_give_done(op->ring->words_of, op->ring->done_word);
    op->ring->words_of = NULL;
}

static void rget_describe(const struct mgds_op *op, struct mgds_rts *rts)
{
    mgds_slot_describe(op, rts);
    rts->address = (uintptr_t)mgds_op_user(op);
    rts->export = op->send->transport->key_of(op);
    rts->done = mgds_dones_name(mgds_channel_pair(op->ring->words_of),
                                op->ring->done_word) &
                MGDS_RTS_DONE_MOST;
    rts->stands = (op->call->is & MGDS_OP_STANDS) != 0;
}

/* Messages. */

static uint64_t source_of(const struct mgds_message *message,
                          const struct mgds_rts *rts, uint64_t *done)
{
    struct mgds_channel *channel =
        mgds_channels_find(message->comm->channels, rts->to_index,
                           (unsigned)message->match.source);

    if (!mgds_channel_can_get(channel))
        return 0;
    *done = (uintptr_t)mgds_dones_there(mgds_channel_pair(channel), rts->done);
    return *done ? mgds_channel_transport(channel)->reach(channel, rts) : 0;
}

static int rget_accept(struct mgds_message *message, const struct mgds_rts *rts)
{
    uint64_t done = 0, source = source_of(message, rts, &done);
    int rc = source ? mgds_slot_accept(message, rts, 0) : -EFAULT;

    if (rc < 0) {
        mgds_warn_once("rank %u sends from memory that cannot be read here: "
                       "its message of %zu bytes is staged",
                       message->rank, message->bytes);
        return rc;
    }
    message->stands = rts->stands;
    message->source = source;
    message->done = done;
    mgds_message_link(message);
    return 0;
}

/* Who may come to copy it is told some time later. */
static void rget_reached(struct mgds_op *op)
{
    if (!mgds_op_is_moved(op) && !op->error && !op->send->told &&
        !mgds_work_is_listed(&op->queued->late.work))
        mgds_work_add(&op->queued->late.work, MGDS_WORK_LATE_SEND);
}

void mgds_rget_reached(struct mgds_comm *comm, int source, unsigned to_index,
                       uint64_t number)
{
    struct mgds_message *message =
        mgds_message_find(comm, source, to_index, number);

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
    return op->recv->message && op->recv->message->protocol->copied &&
           op->recv->message->match.reached && mgds_op_is_reached(op) &&
           op->recv->claim && !op->recv->fetch && !op->recv->credited &&
           !op->queued->quit.record && is_to_be_copied(op);
}

void mgds_rget_consider(struct mgds_op *op)
{
    if (!mgds_rget_may_be_fetched(op) ||
        mgds_work_is_listed(&op->queued->late.work))
        return;
    op->queued->late.passes = op->timeline->passes;
    if (mgds_op_waiting_takes(op->waiting))
        mgds_work_add(&op->queued->late.work, MGDS_WORK_LATE_RECV);
    else
        mgds_fetch_add(op);
}

/* Its receiver may copy it from here on. */
static bool rget_command(const struct mgds_op *op, struct mgds_command *command)
{
    struct mgds_unit *unit = (struct mgds_unit *)op->ring->slot.address;

    *command = (struct mgds_command){.kind = MGDS_COMMAND_POST,
                                     .units = &unit->word,
                                     .serial = op->ring->slot.serial};
    return true;
}

static void rget_record(const struct mgds_op *op,
                        struct mgds_take_record *record)
{
    mgds_slot_record(op, record);
    record->form = MGDS_TAKE_PULL;
    record->source = op->recv->message->source;
    record->done = op->recv->message->done;
}

const struct mgds_protocol mgds_rget = {
    .id = MGDS_PROTOCOL_RGET,
    .slotted = true,
    .copied = true,
    .describe = rget_describe,
    .command = rget_command,
    .reached = rget_reached,
    .answer = mgds_slot_answer,
    .accept = rget_accept,
    .record = rget_record,
};
