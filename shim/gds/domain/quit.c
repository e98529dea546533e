/*
 * Operations whose streams have passed the CPU's part of a wait, and stand, or
 * will, in a kernel for what may never come: given up one by one (queue/
 * quits.h), while the stream goes on. How each ends is known when a kernel says
 * that it has given it up, or when the stream has passed it without that: then
 * it has come after all.
 *
 * All under the engine's lock, but mgds_quitting_due.
 */
#include "shim/gds/domain/quit.h"

#include "shim/gds/domain/domain_state.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/lines.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/report.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/queue/quits.h"

/* Operations of which nobody knows yet whether their kernels have given up. */
static LIST_HEAD(, mgds_op) quitting = LIST_HEAD_INITIALIZER(quitting);
static unsigned count; /* how many; atomic: threads without the lock read it */

/* How many operations were given up whose streams may not say that they have
 * passed them unless they are asked (signals.h); and the item that has them
 * asked. */
static unsigned unsettled;
static struct mgds_work query;

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->waited->stood->stream;
}

/* The record names the word that the kernel looks at, and the value that it
 * would find there. */
static struct mgds_quit *name(const struct mgds_op *op)
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
static bool begin(struct mgds_op *op, int error)
{
    if (op->queued->quit.record || op->waited->stood->ruined)
        return true;
    op->queued->quit.record = name(op);
    if (!op->queued->quit.record)
        return false;
    op->queued->quit.error = error;
    LIST_INSERT_HEAD(&quitting, op, queued->quit.link);
    op->queued->quit.listed = true;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return true;
}

void mgds_quit_begin(struct mgds_op *op, int error)
{
    if (!begin(op, error))
        mgds_line_doom(op->waited->stood, error);
}

bool mgds_quit_release(struct mgds_op *op)
{
    return begin(op, 0);
}

/* False: the operation was not in the list. */
static bool unlist(struct mgds_op *op)
{
    if (!op->queued->quit.listed)
        return false;
    op->queued->quit.listed = false;
    LIST_REMOVE(op, queued->quit.link);
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    return true;
}

void mgds_quit_tell(struct mgds_op *op, int error)
{
    if (op->queued->quit.told || !error)
        return;
    op->queued->quit.told = error;
    if (op->fail->why)
        mgds_report_lost(op);
    mgds_report_debt(mgds_domain_debt(op->domain), error, op);
    mgds_report_debt(&op->waited->stood->owed, error, op);
}

int mgds_quit_settle(struct mgds_op *op)
{
    const struct mgds_line *line = op->waited->stood;

    if (op->recv && op->recv->fetch)
        mgds_fetch_settle(op);
    if (op->queued->quit.record) {
        if (!unlist(op))
            unsettled--;
        if (mgds_quit_is_gone(op->queued->quit.record))
            mgds_quit_tell(op, op->queued->quit.error);
        mgds_quits_forget(mgds_gstream_quits(stream_of(op)),
                          op->queued->quit.record);
        op->queued->quit.record = NULL;
    }
    /* nobody knows whether a kernel has had the message */
    if (line->ruined)
        mgds_quit_tell(op, line->ruined);
    return op->queued->quit.told;
}

bool mgds_quitting_due(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED) > 0;
}

/* The record stays until the stream has passed: other threads of the kernel
 * have still to find it. */
void mgds_quitting_look(void)
{
    struct mgds_op *next;

    for (struct mgds_op *op = LIST_FIRST(&quitting); op; op = next) {
        next = LIST_NEXT(op, queued->quit.link);

        if (mgds_quit_is_gone(op->queued->quit.record)) {
            unlist(op);
            unsettled++;
            if (!mgds_work_is_listed(&query))
                mgds_work_add(&query, MGDS_WORK_QUERY);
            mgds_quit_tell(op, op->queued->quit.error);
        }
    }
}

/* The caller has no lock. Whoever does work that needs the driver asks all
 * streams in the same pass (dispatch.c): the item is only to bring somebody. */
static bool run(struct mgds_work *work, enum mgds_work_by by)
{
    (void)by;
    mgds_engine_enter();
    if (unsettled > 0)
        mgds_work_again(work);
    else
        mgds_work_done(work);
    mgds_engine_leave();
    return true;
}

/* Records that stand are forgotten with their operations. */
static void drop(struct mgds_work *work)
{
    (void)work;
    mgds_engine_enter();
    unsettled = 0;
    mgds_engine_leave();
}

void mgds_quit_init(void)
{
    static const struct mgds_work_handler handler = {run, drop};

    mgds_work_handle(MGDS_WORK_QUERY, &handler);
}

void mgds_quitting_fini(void)
{
    struct mgds_op *op;

    mgds_engine_enter();
    while ((op = LIST_FIRST(&quitting)) != NULL)
        unlist(op);
    mgds_engine_leave();
}
