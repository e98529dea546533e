/* Waits in streams; see domain.h. */
#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/queue/gstream.h"

/* The stream has passed the wait and the copies behind it. */
static void passed(struct mgds_mark *mark)
{
    struct mgds_wait *wait = (struct mgds_wait *)(void *)mark;

    if (!wait->failed)
        mgds_gstream_passed(wait->line->stream, wait->takes);
    for (unsigned i = 0; i < wait->count; i++) {
        if (wait->op[i]->taken)
            mgds_exchange_taken(wait->op[i]);
        mgds_engine_put_later(wait->op[i]);
    }
    mgds_engine_free_later(wait);
}

/* A send whose bytes the same stream has staged is done where the stream has
 * come to: nothing is to be waited for. */
static bool is_in_order(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send && (op->bounce || op->bytes == 0) && op->line == line &&
           !op->sync && !op->error;
}

static void take(struct mgds_op *op, struct mgds_wait *wait,
                 const struct mgds_op_sink *sink)
{
    op->waited = true;
    op->sink = *sink;
    if (op->done) {
        if (sink->store)
            sink->store(sink->arg, &op->status);
        mgds_op_keep_error(op, wait->line);
        return;
    }
    if (op->taker && !op->demanded && op->line == wait->line) {
        op->taking = true;
        if (op->held)
            mgds_exchange_take(op);
        return;
    }
    if (is_in_order(op, wait->line)) {
        if (sink->store)
            sink->store(sink->arg, &op->status);
        op->sink.store = NULL;
        return;
    }
    mgds_exchange_demand(op);
    op->wait = wait;
    wait->missing++;
}

/* What the stream copies up behind the wait: as many bytes as came. */
static bool is_copied_up(const struct mgds_op *op)
{
    return !op->send && op->bounce && !op->cancelled && !op->taking;
}

static struct mgds_step unpack_of(const struct mgds_op *op)
{
    return (struct mgds_step){.kind = MGDS_STEP_UNPACK,
                              .bounce = op->bounce,
                              .word =
                                  op->words ? op->words + MGDS_OP_COUNT : NULL};
}

/* Where the message is, if that is known, else where it will be said. */
static struct mgds_step take_of(const struct mgds_op *op)
{
    struct mgds_step step = {.kind = MGDS_STEP_TAKE,
                             .user = (char *)op->user.addr,
                             .bytes = op->bytes,
                             .bounce = op->bounce,
                             .record = op->words};

    if (op->bytes > 0)
        step.user += op->user.layout->true_lb;
    if (op->taken) {
        step.record = NULL;
        step.serial = op->words[0];
        step.units = (void *)(uintptr_t)op->words[1];
        step.length = op->words[2];
    }
    return step;
}

/* False: its message was refused, or had no bytes, and is done. */
static bool is_to_be_taken(const struct mgds_op *op)
{
    return op->taking && (op->taken || !op->done);
}

/* Under the engine's lock. Takes come first: what they wait for comes by
 * itself, whatever the stream does. */
static unsigned steps_of(struct mgds_step *step, struct mgds_wait *wait)
{
    unsigned n = 0;

    for (unsigned i = 0; i < wait->count; i++)
        if (is_to_be_taken(wait->op[i]))
            step[n++] = take_of(wait->op[i]);
    wait->takes = n;
    if (wait->put)
        step[n++] = (struct mgds_step){.kind = MGDS_STEP_WAIT,
                                       .word = wait->line->go,
                                       .value = wait->number};
    for (unsigned i = 0; i < wait->count; i++)
        if (is_copied_up(wait->op[i]))
            step[n++] = unpack_of(wait->op[i]);
    return n;
}

static struct mgds_wait *create(struct mgds_step **step, unsigned count)
{
    struct mgds_wait *wait = (struct mgds_wait *)mgds_calloc(
        1, sizeof(*wait) + count * sizeof(struct mgds_op *));

    *step = (struct mgds_step *)mgds_calloc(count + 2, sizeof(**step));
    if (wait && *step)
        return wait;
    free(wait);
    free(*step);
    return NULL;
}

/* A copy up that a caller began must be over before the stream goes on. */
static void settle(struct mgds_op *const ops[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (ops[i]->lifting)
            mgds_bounce_wait(ops[i]->bounce, NULL);
}

/* The stream will not do it, so nothing is to be waited for. */
static void fail(struct mgds_wait *wait, int rc)
{
    mgds_engine_enter();
    wait->failed = true;
    mgds_line_fail(wait->line, rc, 0);
    mgds_line_break(wait->line, &wait->mark);
    mgds_engine_leave();
}

static void fill(struct mgds_wait *wait, struct mgds_line *line, unsigned count,
                 struct mgds_op *const ops[], const struct mgds_op_sink sinks[])
{
    wait->line = line;
    wait->count = count;
    wait->mark.passed = passed;
    for (unsigned i = 0; i < count; i++) {
        wait->op[i] = ops[i];
        take(ops[i], wait, &sinks[i]);
    }
    wait->put = wait->missing > 0;
    if (wait->put)
        mgds_line_wait(line, wait);
}

static void put(struct mgds_wait *wait, struct mgds_step *step, unsigned n,
                uint64_t ticket)
{
    int rc;

    step[n++] = (struct mgds_step){.kind = MGDS_STEP_FLAG,
                                   .word = wait->line->reach,
                                   .value = wait->mark.number};
    rc = mgds_gstream_put(wait->line->stream, ticket, step, n);
    if (rc < 0)
        fail(wait, rc);
}

int mgds_op_wait_enqueue(struct mgds_gstream *stream, unsigned count,
                         struct mgds_op *const ops[],
                         const struct mgds_op_sink sinks[])
{
    struct mgds_line *line;
    struct mgds_wait *wait;
    struct mgds_step *step;
    uint64_t ticket = 0;
    unsigned n;
    int rc = mgds_line_of(&line, stream);

    if (rc < 0)
        return rc;
    wait = create(&step, count);
    if (!wait)
        return -ENOMEM;
    settle(ops, count);
    mgds_engine_enter();
    fill(wait, line, count, ops, sinks);
    n = steps_of(step, wait);
    if (n > 0) {
        mgds_line_mark(line, &wait->mark);
        ticket = mgds_gstream_ticket(stream);
    } else {
        mgds_line_ride(line, &wait->mark);
    }
    mgds_engine_leave();
    if (n > 0)
        put(wait, step, n, ticket);
    free(step);
    return 0;
}
