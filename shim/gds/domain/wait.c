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

    for (unsigned i = 0; i < wait->count; i++)
        mgds_engine_put_later(wait->op[i]);
    mgds_engine_free_later(wait);
}

/* A send whose bytes the same stream has staged is done where the stream has
 * come to: nothing is to be waited for. */
static bool is_in_order(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send && op->bounce && op->line == line && !op->sync &&
           !op->error;
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
    if (is_in_order(op, wait->line)) {
        if (sink->store)
            sink->store(sink->arg, &op->status);
        op->sink.store = NULL;
        return;
    }
    op->wait = wait;
    wait->missing++;
}

/* What the stream copies up behind the wait: as many bytes as came. */
static bool is_copied_up(const struct mgds_op *op)
{
    return !op->send && op->bounce && !op->cancelled;
}

static unsigned steps_of(struct mgds_step *step, const struct mgds_wait *wait,
                         bool waits)
{
    unsigned n = 0;

    if (waits)
        step[n++] = (struct mgds_step){.kind = MGDS_STEP_WAIT,
                                       .word = wait->line->go,
                                       .value = wait->number};
    for (unsigned i = 0; i < wait->count; i++)
        if (is_copied_up(wait->op[i]))
            step[n++] = (struct mgds_step){.kind = MGDS_STEP_UNPACK,
                                           .bounce = wait->op[i]->bounce,
                                           .word = wait->op[i]->count};
    step[n++] = (struct mgds_step){.kind = MGDS_STEP_FLAG,
                                   .word = wait->line->reach,
                                   .value = wait->mark.number};
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
    mgds_line_fail(wait->line, rc, 0);
    mgds_line_break(wait->line, &wait->mark);
    mgds_engine_leave();
}

int mgds_op_wait_enqueue(struct mgds_gstream *stream, unsigned count,
                         struct mgds_op *const ops[],
                         const struct mgds_op_sink sinks[])
{
    struct mgds_line *line;
    struct mgds_wait *wait;
    struct mgds_step *step;
    uint64_t ticket;
    bool waits;
    int rc = mgds_line_of(&line, stream);

    if (rc < 0)
        return rc;
    wait = create(&step, count);
    if (!wait)
        return -ENOMEM;
    settle(ops, count);
    mgds_engine_enter();
    wait->line = line;
    wait->count = count;
    wait->mark.passed = passed;
    for (unsigned i = 0; i < count; i++) {
        wait->op[i] = ops[i];
        take(ops[i], wait, &sinks[i]);
    }
    waits = wait->missing > 0;
    wait->put = waits;
    mgds_line_wait(line, wait);
    mgds_line_mark(line, &wait->mark);
    ticket = mgds_gstream_ticket(stream);
    mgds_engine_leave();
    rc = mgds_gstream_put(stream, ticket, step, steps_of(step, wait, waits));
    free(step);
    if (rc < 0)
        fail(wait, rc);
    return 0;
}
