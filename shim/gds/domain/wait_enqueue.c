/* Waits in streams: what they are given, what is left when the stream has
 * passed them; see domain.h, wait.h and line.h. */
#include <errno.h>

#include "shim/gds/domain/exchange.h"
#include "shim/gds/domain/finish.h"
#include "shim/gds/domain/op.h"
#include "shim/gds/domain/put.h"
#include "shim/gds/domain/quiet.h"
#include "shim/gds/domain/quit.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/domain/wait.h"
#include "shim/gds/queue/gstream.h"
#include "shim/gds/stage/bounce.h"

static void settle(struct mgds_op *op, const struct mgds_wait *wait)
{
    bool takes = op->state == MGDS_OP_TAKEN;
    bool awaits = op->waiting == MGDS_OP_AWAITING;
    int error = takes || awaits ? mgds_quit_settle(op) : 0;

    if (takes)
        mgds_exchange_taken(op, error || wait->line->released);
    if (awaits)
        mgds_exchange_awaited(op, !wait->broken && !wait->line->released,
                              error);
}

/* The stream has passed the wait and the copies behind it. */
static void passed(struct mgds_mark *mark)
{
    struct mgds_wait *wait = (struct mgds_wait *)(void *)mark;

    mgds_gstream_passed(wait->line->stream, wait->takes);
    for (unsigned i = 0; i < wait->count; i++)
        settle(wait->op[i], wait);
    mgds_wait_put(wait);
}

/* A send whose bytes the same stream has staged is done where the stream has
 * come to: nothing is to be waited for. */
static bool is_in_order(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send &&
           (op->bounce || op->bytes == 0 || op->protocol->slotted) &&
           op->line == line && !op->sync && !op->error;
}

/* A stream whose kernels see the word that says that it was copied, which was
 * not seen yet, waits for that itself. */
static bool can_await(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send && op->protocol->copied && !mgds_op_is_moved(op) &&
           !op->error &&
           mgds_gstream_context(op->line->stream) ==
               mgds_gstream_context(line->stream);
}

/* How it will end is known, or finish tells. */
static void miss(struct mgds_op *op, struct mgds_wait *wait)
{
    op->wait = wait;
    wait->missing++;
}

static void take(struct mgds_op *op, struct mgds_wait *wait,
                 const struct mgds_op_sink *sink)
{
    op->waiting = MGDS_OP_WAITED;
    __atomic_fetch_add(&op->domain->waited, 1, __ATOMIC_RELAXED);
    op->stood = wait->line;
    if (op->at == 0)
        op->at = mgds_gstream_name(wait->line->stream);
    op->sink = *sink;
    if (op->done) {
        mgds_op_keep_error(op, wait->line);
    } else if (op->taker && (!op->demanded || op->claim) &&
               op->line == wait->line) {
        op->waiting = MGDS_OP_TAKING;
        op->known = op->state == MGDS_OP_HELD;
        miss(op, wait);
        if (op->known)
            mgds_exchange_take(op);
    } else if (can_await(op, wait->line)) {
        op->waiting = MGDS_OP_AWAITING;
    } else if (!is_in_order(op, wait->line)) {
        mgds_exchange_demand(op);
        miss(op, wait);
        wait->put = true;
    }
}

void mgds_wait_fill(struct mgds_wait *wait, struct mgds_line *line,
                    struct mgds_op *const ops[],
                    const struct mgds_op_sink sinks[])
{
    wait->line = line;
    wait->mark.passed = passed;
    wait->mark.of_wait = true;
    for (unsigned i = 0; i < wait->count; i++) {
        /* a wait for nothing has none */
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        wait->op[i] = ops[i];
        take(ops[i], wait, &sinks[i]);
    }
    wait->put = wait->put && wait->missing > 0;
    wait->refs++;
    mgds_line_wait(line, wait);
}

/* A copy up that a caller began must be over before the stream goes on. */
static void settle_lifts(struct mgds_op *const ops[], unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (ops[i]->lifting)
            mgds_bounce_wait(ops[i]->bounce, NULL);
}

/* Copies up need a bounce, and a way for the stream to the buffer. */
static int check(struct mgds_op *op, const struct mgds_line *line)
{
    int rc;

    if (op->send || !op->bounce || op->line == line || op->lifting)
        return 0;
    if (!op->words)
        return -EXDEV;
    rc = mgds_gstream_adopt(line->stream, op->bounce);
    if (rc == 0 && op->claim)
        rc = mgds_room_make(op);
    return rc;
}

/* A wait for nothing, but its mark is loud. */
void mgds_wait_speak(struct mgds_gstream *stream)
{
    struct mgds_wait *wait = mgds_wait_create(0);
    struct mgds_line *line;
    struct mgds_put put = {.n = 0};

    if (!wait)
        return;
    mgds_engine_enter();
    line = mgds_line_find_quiet(stream);
    if (line) {
        wait->loud = true;
        mgds_wait_fill(wait, line, NULL, NULL);
        mgds_put_begin(&put, line);
        mgds_put_wait(&put, wait);
    }
    mgds_engine_leave();
    if (line)
        mgds_put_all(&put);
    else
        mgds_wait_free(wait);
}

int mgds_op_wait_enqueue(struct mgds_gstream *stream, unsigned count,
                         struct mgds_op *const ops[],
                         const struct mgds_op_sink sinks[])
{
    struct mgds_line *line;
    struct mgds_wait *wait;
    struct mgds_put put;
    int rc = mgds_line_of(&line, stream);

    for (unsigned i = 0; i < count && rc == 0; i++)
        rc = check(ops[i], line);
    if (rc < 0)
        return rc;
    wait = mgds_wait_create(count);
    if (!wait)
        return -ENOMEM;
    settle_lifts(ops, count);
    mgds_engine_enter();
    mgds_wait_fill(wait, line, ops, sinks);
    mgds_put_begin(&put, line);
    mgds_put_wait(&put, wait);
    mgds_engine_leave();
    mgds_put_all(&put);
    return 0;
}
