/*
 * Operations whose streams have passed the CPU's part of a wait, and stand, or
 * will, in a kernel for what may never come: given up one by one (queue/
 * quits.h), while the stream goes on. How each ends is known when a kernel says
 * that it has given it up, or when the stream has passed it without that: then
 * it has come after all.
 *
 * All under the engine's lock, but mgds_quitting_due and mgds_quitting_chore.
 */
#include "shim/gds/queue/quits.h"

#include "shim/base/clock.h"
#include "shim/base/log.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/fetch.h"
#include "shim/gds/domain/launcher.h"
#include "shim/gds/queue/gstream.h"

static struct mgds_op *quitting; /* those of which nobody knows yet */
static unsigned count;           /* of them; atomic: read without the lock */

/* Those that were given up, and whose streams may not say that they have passed
 * them unless they are asked (quiet marks, line.h). Atomic, as count. */
static unsigned unsettled;

/* From one time that they are asked to the next, ns. */
enum { ASK_NS = 1000000 };

static struct mgds_gstream *stream_of(const struct mgds_op *op)
{
    return op->stood->stream;
}

/* What the kernel looks at, and what it would find. */
static struct mgds_quit *name(const struct mgds_op *op)
{
    struct mgds_gstream *stream = stream_of(op);
    uint64_t at, serial;

    if (op->send) {
        at = (uintptr_t)mgds_lane_done_here(op->words_of, op->done_word);
        serial = op->place.serial;
    } else {
        at = mgds_op_units(op);
        serial = op->message->serial;
    }
    return mgds_quits_name(mgds_gstream_quits(stream),
                           mgds_gstream_words(stream), at, serial);
}

void mgds_quit_begin(struct mgds_op *op, int error)
{
    if (op->quit || op->stood->ruined)
        return;
    op->quit = name(op);
    if (!op->quit) {
        mgds_line_ruin(op->stood, error);
        return;
    }
    op->quit_error = error;
    op->next_quit = quitting;
    quitting = op;
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
}

/* False: it was not there. */
static bool unlist(struct mgds_op *op)
{
    struct mgds_op **at = &quitting;

    while (*at && *at != op)
        at = &(*at)->next_quit;
    if (!*at)
        return false;
    *at = op->next_quit;
    __atomic_fetch_sub(&count, 1, __ATOMIC_RELAXED);
    return true;
}

void mgds_quit_tell(struct mgds_op *op, int error)
{
    if (op->given_up)
        return;
    op->given_up = error;
    if (op->why)
        mgds_lost_name(op);
    mgds_debt_add(mgds_domain_debt(op->domain), error, op);
    mgds_debt_add(&op->stood->owed, error, op);
}

int mgds_quit_settle(struct mgds_op *op)
{
    const struct mgds_line *line = op->stood;

    if (op->fetching)
        mgds_fetch_settle(op);
    if (op->quit) {
        if (!unlist(op))
            __atomic_fetch_sub(&unsettled, 1, __ATOMIC_RELAXED);
        if (mgds_quit_is_gone(op->quit))
            mgds_quit_tell(op, op->quit_error);
        mgds_quits_forget(mgds_gstream_quits(stream_of(op)), op->quit);
        op->quit = NULL;
    }
    /* whether a kernel has had it is not known */
    if (line->ruined)
        mgds_quit_tell(op, line->ruined);
    return op->given_up;
}

bool mgds_quitting_due(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED) > 0;
}

/* The quit itself stays until the stream has passed: other threads of the
 * kernel have still to find it. */
void mgds_quitting_look(void)
{
    struct mgds_op *op = quitting;

    while (op) {
        struct mgds_op *next = op->next_quit;

        if (mgds_quit_is_gone(op->quit)) {
            unlist(op);
            __atomic_fetch_add(&unsettled, 1, __ATOMIC_RELAXED);
            mgds_quit_tell(op, op->quit_error);
        }
        op = next;
    }
}

void mgds_quitting_chore(void)
{
    static uint64_t due;
    uint64_t now;

    if (__atomic_load_n(&unsettled, __ATOMIC_RELAXED) == 0)
        return;
    now = mgds_clock_ns();
    if (now < due)
        return;
    due = now + ASK_NS;
    mgds_launcher_call(mgds_last_resort);
}

void mgds_quitting_fini(void)
{
    quitting = NULL;
    __atomic_store_n(&count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&unsettled, 0, __ATOMIC_RELAXED);
}
