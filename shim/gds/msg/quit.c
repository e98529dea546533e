/*
 * Operations whose streams have passed the CPU's part of a wait, and stand, or
 * will, in a kernel for what may never come: given up one by one (queue/
 * quits.h), while the stream goes on. How each ends is known when a kernel says
 * that it has given it up, or when the stream has passed it without that: then
 * it has come after all.
 *
 * An operation that is being given up is a work item, which has a reference to
 * it: GIVE_UP until a kernel has said so; then QUERY until the stream has
 * passed, which it may not say unless it is asked (signals.h).
 *
 * All under the engine's lock.
 */
#include "shim/gds/msg/quit.h"

#include "shim/base/container.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/proto/fetch.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/comm/report.h"
#include "shim/gds/stream/gstream.h"
#include "shim/gds/stream/quits.h"

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->waited->stood->stream;
}

/* The record names the word that the kernel looks at, and the value that it
 * would find there. */
static struct mgds_quit *name_wait(const struct mgds_op *op)
{
    struct mgds_gstream *stream = stream_of(op);
    uint64_t at, serial;

    if (op->send) {
        at = (uintptr_t)mgds_channel_done_here(op->ring->words_of,
                                               op->ring->done_word);
        serial = op->ring->slot.serial;
    } else {
        at = mgds_op_units(op);
        serial = op->recv->message->serial;
    }
    return mgds_quits_name(mgds_gstream_quits(stream),
                           mgds_gstream_words(stream), at, serial);
}

/* False: no record is free that could tell the kernel. */
static bool begin_quit(struct mgds_op *op, int error)
{
    if (op->queued->quit.record || op->waited->stood->ruin.ruined)
        return true;
    op->queued->quit.record = name_wait(op);
    if (!op->queued->quit.record)
        return false;
    op->queued->quit.error = error;
    mgds_op_get(op);
    mgds_work_add(&op->queued->quit.work, MGDS_WORK_GIVE_UP);
    return true;
}

void mgds_quit_begin(struct mgds_op *op, int error)
{
    if (!begin_quit(op, error))
        mgds_timeline_doom(op->waited->stood, error);
}

bool mgds_quit_release(struct mgds_op *op)
{
    return begin_quit(op, 0);
}

/* Who is at the item finds that there is no record any more. */
static void end_quit(struct mgds_op *op)
{
    struct mgds_work *work = &op->queued->quit.work;

    mgds_quits_forget(mgds_gstream_quits(stream_of(op)),
                      op->queued->quit.record);
    op->queued->quit.record = NULL;
    if (mgds_work_is_listed(work) && mgds_work_cancel(work))
        mgds_op_put_later(op);
}

void mgds_quit_tell(struct mgds_op *op, int error)
{
    if (op->queued->quit.told || !error)
        return;
    op->queued->quit.told = error;
    if (op->fail->why)
        mgds_report_lost(op);
    mgds_report_debt(mgds_comm_debt(op->comm), error, op);
    mgds_report_debt(&op->waited->stood->owed, error, op);
}

int mgds_quit_settle(struct mgds_op *op)
{
    const struct mgds_timeline *timeline = op->waited->stood;

    if (op->recv && op->recv->fetch)
        mgds_fetch_settle(op);
    if (op->queued->quit.record) {
        if (mgds_quit_is_gone(op->queued->quit.record))
            mgds_quit_tell(op, op->queued->quit.error);
        end_quit(op);
    }
    /* nobody knows whether a kernel has had the message */
    if (timeline->ruin.ruined)
        mgds_quit_tell(op, timeline->ruin.ruined);
    return op->queued->quit.told;
}

static struct mgds_op *op_of(struct mgds_work *work)
{
    return MGDS_CONTAINER_OF(work, struct mgds_op_queued, quit.work)->op;
}

/* The stream has passed: the item's reference goes, too. */
static void drop_reference(struct mgds_work *work)
{
    mgds_work_done(work);
    mgds_op_put_later(op_of(work));
}

/* The record stays until the stream has passed: other threads of the kernel
 * have still to find it. */
static void await_kernel(struct mgds_work *work)
{
    struct mgds_op *op = op_of(work);

    if (!op->queued->quit.record) {
        drop_reference(work);
    } else if (mgds_quit_is_gone(op->queued->quit.record)) {
        mgds_work_done(work);
        mgds_work_add(work, MGDS_WORK_QUERY);
        mgds_quit_tell(op, op->queued->quit.error);
    } else {
        mgds_work_again(work);
    }
}

static bool run_give_up(struct mgds_work *work, enum mgds_work_by by)
{
    (void)by;
    mgds_engine_enter();
    await_kernel(work);
    mgds_engine_leave();
    return true;
}

static bool run_query(struct mgds_work *work, enum mgds_work_by by)
{
    (void)by;
    mgds_timelines_query();
    mgds_engine_enter();
    if (op_of(work)->queued->quit.record)
        mgds_work_again(work);
    else
        drop_reference(work);
    mgds_engine_leave();
    return true;
}

/* Whoever is at the item, or comes to it, finds that it was told. */
static void tell_if_given_up(struct mgds_work *work)
{
    struct mgds_op *op = op_of(work);

    if (op->queued->quit.record && mgds_quit_is_gone(op->queued->quit.record))
        mgds_quit_tell(op, op->queued->quit.error);
}

/* A kernel that gives a message up says so before its stream goes on, so who
 * has waited for the stream is told. */
int mgds_gstream_take_error(struct mgds_gstream *stream,
                            struct mgds_failure *out)
{
    struct mgds_timeline *timeline;
    int error = 0;

    mgds_engine_enter();
    mgds_works_visit(MGDS_WORK_GIVE_UP, tell_if_given_up);
    timeline = mgds_timelines_find(stream);
    if (timeline)
        error = mgds_debt_pay(&timeline->owed, out);
    mgds_engine_leave();
    return error;
}

void mgds_quit_init(void)
{
    static const struct mgds_work_handler gives_up = {.run = run_give_up};
    static const struct mgds_work_handler query = {.run = run_query};

    mgds_work_handle(MGDS_WORK_GIVE_UP, &gives_up);
    mgds_work_handle(MGDS_WORK_QUERY, &query);
}
