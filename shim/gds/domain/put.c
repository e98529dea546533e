/* Steps of operations and waits; see put.h. */
#include "shim/gds/domain/put.h"

#include <stdlib.h>
#include <string.h>

#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/domain/debt.h"
#include "shim/gds/domain/domain_state.h"
#include "shim/gds/domain/exchange.h"
#include "shim/gds/domain/op.h"

void mgds_put_begin(struct mgds_put *put, struct mgds_line *line)
{
    put->line = line;
    put->op = NULL;
    put->wait = NULL;
    put->step = put->own;
    put->n = 0;
    put->room = NULL;
}

static void add(struct mgds_put *put, struct mgds_step step)
{
    /* the turn is taken with the first step */
    if (put->n == 0)
        put->ticket = mgds_gstream_ticket(put->line->stream);
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    put->step[put->n++] = step;
}

static unsigned add_flag(struct mgds_put *put, const struct mgds_mark *mark)
{
    add(put, (struct mgds_step){.kind = MGDS_STEP_FLAG,
                                .word = put->line->reach,
                                .value = mark->number});
    return put->n - 1;
}

void mgds_put_op(struct mgds_put *put, struct mgds_op *op)
{
    struct mgds_step step;

    put->op = op;
    if (op->send && op->protocol->command(op, &step))
        add(put, step);
    put->op_flag = add_flag(put, &op->mark);
    if (op->send)
        mgds_signals_send(&put->line->signals, &op->mark);
    put->domain = op->domain->id;
    put->name = op->name;
}

/* What the stream copies up behind the wait: as many bytes as came. */
static bool is_copied_up(const struct mgds_op *op)
{
    return !op->send && op->bounce && op->state != MGDS_OP_CANCELLED &&
           op->waiting != MGDS_OP_TAKING && !op->lifting && !op->direct;
}

static struct mgds_step unpack_of(const struct mgds_op *op)
{
    return (struct mgds_step){.kind = MGDS_STEP_UNPACK,
                              .bounce = op->bounce,
                              .word = op->words + MGDS_OP_COUNT};
}

/* Those without gaps one behind the other: they go in one launch. */
static void add_unpacks(struct mgds_put *put, const struct mgds_wait *wait,
                        bool dense)
{
    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (is_copied_up(op) && mgds_layout_is_dense(op->user.layout) == dense)
            add(put, unpack_of(op));
    }
}

/* Where the message is, if that is known, else where it will be said. */
static struct mgds_step take_of(const struct mgds_put *put,
                                const struct mgds_op *op)
{
    struct mgds_step step = {.kind = MGDS_STEP_TAKE,
                             .stand = put->wait->number,
                             .user = mgds_op_user(op),
                             .bytes = op->bytes,
                             .record = op->words,
                             .claim = op->claim,
                             .gen = op->gen};
    struct mgds_take_record record;

    /* a buffer of an earlier call is looked at again */
    if (put->op != op)
        step.bounce = op->bounce;
    if (op->known) {
        op->message->protocol->record(op, &record);
        step.record = NULL;
        step.serial = record.serial;
        step.units = (void *)(uintptr_t)record.address;
        step.length = record.length;
        step.source = record.source;
        step.done = record.done;
    }
    return step;
}

/* Sends that wait until they were copied. */
static unsigned add_awaits(struct mgds_put *put, const struct mgds_wait *wait)
{
    unsigned n = 0;

    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (op->waiting != MGDS_OP_AWAITING)
            continue;
        add(put, (struct mgds_step){.kind = MGDS_STEP_AWAIT,
                                    .stand = wait->number,
                                    .word = mgds_channel_done_here(
                                        op->words_of, op->done_word),
                                    .value = op->slot.serial});
        n++;
    }
    return n;
}

/* A long message's sender may wait for it by its CPU, which is told at once. If
 * it is known that its stream waits, which is told anyway: every second time.
 */
static bool is_urgent(const struct mgds_put *put, const struct mgds_op *op)
{
    return op->waiting == MGDS_OP_TAKING && op->claim &&
           (!op->known || !op->message->stands ||
            mgds_signals_any_deferred(&put->line->signals));
}

static bool is_any_urgent(const struct mgds_put *put,
                          const struct mgds_wait *wait)
{
    bool any = false;

    for (unsigned i = 0; i < wait->count; i++)
        any |= is_urgent(put, wait->op[i]);
    return any;
}

/* Of rings, at most. */
static size_t bytes_taken(const struct mgds_wait *wait)
{
    size_t most = mgds_ctx()->config.eager, bytes = 0;

    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (op->waiting == MGDS_OP_TAKING && !op->claim)
            bytes += op->bytes < most ? op->bytes : most;
    }
    return 2 * bytes;
}

/* Where the last step is a TAKE its flag can be quiet. */
static void end(struct mgds_put *put, const struct mgds_wait *wait)
{
    struct mgds_step *flag = &put->step[put->wait_flag];

    flag->quiet = put->n > 1 && flag[-1].kind == MGDS_STEP_TAKE &&
                  !is_any_urgent(put, wait) &&
                  mgds_signals_defer(&put->line->signals, put->line->stream,
                                     bytes_taken(wait));
    if (!flag->quiet)
        mgds_signals_cover(&put->line->signals);
    else if (flag[-1].claim)
        mgds_count(pull_quiet);
}

/* Who looks for where the stream stands finds the wait by its number, or by the
 * flag just ahead of it. */
static void add_go(struct mgds_put *put, struct mgds_wait *wait)
{
    const struct mgds_step *ahead = put->n ? &put->step[put->n - 1] : NULL;

    if (ahead && ahead->kind == MGDS_STEP_FLAG && !ahead->quiet)
        wait->behind = ahead->value;
    add(put, (struct mgds_step){.kind = MGDS_STEP_WAIT,
                                .word = put->line->go,
                                .value = wait->number,
                                .stand = wait->number});
}

/* Takes come first: what they wait for comes by itself, whatever the stream
 * does. */
void mgds_put_wait(struct mgds_put *put, struct mgds_wait *wait)
{
    unsigned before = put->n;

    put->wait = wait;
    put->room = wait->step;
    wait->step = NULL;
    if (put->room) {
        memcpy(put->room, put->step, before * sizeof(*put->step));
        put->step = put->room;
    }
    if (wait->count > 0)
        put->domain = wait->op[0]->domain->id;
    for (unsigned i = 0; i < wait->count; i++)
        if (wait->op[i]->waiting == MGDS_OP_TAKING)
            add(put, take_of(put, wait->op[i]));
    wait->takes = put->n - before;
    /* that the stream has come to the receive matters while it is not known
     * where the message is */
    if (put->op && wait->takes > 0)
        put->step[put->op_flag].quiet = true;
    if (wait->put)
        add_go(put, wait);
    add_unpacks(put, wait, true);
    add_unpacks(put, wait, false);
    wait->takes += add_awaits(put, wait);
    if (put->n == before && !wait->signalled) {
        mgds_line_ride(put->line, &wait->mark);
        put->wait = NULL;
        return;
    }
    mgds_line_mark(put->line, &wait->mark);
    put->wait_flag = add_flag(put, &wait->mark);
    end(put, wait);
}

static bool stands(const struct mgds_step *step)
{
    return step->kind == MGDS_STEP_TAKE || step->kind == MGDS_STEP_AWAIT;
}

/* Those that were put will be passed, and counted then. */
static void count_put(struct mgds_put *put)
{
    struct mgds_wait *wait = put->wait;

    wait->takes = 0;
    for (unsigned i = 0; i < put->n; i++) {
        wait->takes += put->step[i].put && stands(&put->step[i]);
        if (put->step[i].kind == MGDS_STEP_WAIT)
            wait->put = put->step[i].put;
    }
}

/* The stream will not come to it. */
static void fail_wait(struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        struct mgds_op *op = wait->op[i];

        if (!op->wait &&
            op->waiting != MGDS_OP_AWAITING) /* the stream does not pass it */
            op->stood = NULL;
        if (op->wait != wait || op->done)
            continue;
        op->wait = NULL;
        op->stood = NULL;
        op->waiting = MGDS_OP_UNPUT;
        op->dropped = true;
        mgds_exchange_demand(op);
    }
    wait->missing = 0;
    wait->broken = true;
    mgds_line_go(wait->line);
    mgds_line_break(wait->line, &wait->mark);
}

static void fail(struct mgds_put *put, int rc)
{
    struct mgds_domain *domain;

    mgds_engine_enter();
    mgds_debt_add(&put->line->owed, rc, put->name, NULL);
    domain = mgds_domain_find(put->domain);
    if (domain)
        mgds_debt_add(mgds_domain_debt(domain), rc, put->name, NULL);
    if (put->op && !put->step[put->op_flag].put) {
        put->op->error = rc;
        mgds_line_break(put->line, &put->op->mark);
    }
    if (put->wait && !put->step[put->wait_flag].put) {
        count_put(put);
        fail_wait(put->wait);
    }
    mgds_engine_leave();
}

void mgds_put_all(struct mgds_put *put)
{
    int rc = put->n > 0 ? mgds_gstream_put(put->line->stream, put->ticket,
                                           put->step, put->n)
                        : 0;

    if (rc < 0)
        fail(put, rc);
    free(put->room);
}
