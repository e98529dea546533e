/* Waits in streams: what they are given, when they may pass, what is left when
 * the stream has passed them; see domain.h and line.h. */
#include <errno.h>
#include <stdlib.h>

#include "device/abi.h"
#include "shim/base/alloc.h"
#include "shim/base/stats.h"
#include "shim/gds/domain/engine.h"
#include "shim/gds/domain/pull.h"
#include "shim/gds/domain/put.h"
#include "shim/gds/domain/room.h"
#include "shim/gds/queue/gstream.h"

struct mgds_spares mgds_wait_spares =
    MGDS_SPARES_INIT(sizeof(struct mgds_wait) + sizeof(struct mgds_op *));

static struct mgds_wait *create_large(unsigned count)
{
    struct mgds_wait *wait = (struct mgds_wait *)mgds_calloc(
        1, sizeof(*wait) + count * sizeof(struct mgds_op *));

    if (!wait)
        return NULL;
    wait->step = (struct mgds_step *)mgds_calloc(count + MGDS_PUT_MORE,
                                                 sizeof(*wait->step));
    if (wait->step)
        return wait;
    free(wait);
    return NULL;
}

struct mgds_wait *mgds_wait_create(unsigned count)
{
    struct mgds_wait *wait =
        count > 1 ? create_large(count)
                  : (struct mgds_wait *)mgds_spares_take(&mgds_wait_spares);

    if (!wait)
        return NULL;
    wait->refs = 1;
    wait->count = count;
    return wait;
}

void mgds_wait_free(struct mgds_wait *wait)
{
    free(wait->step);
    if (wait->count > 1)
        free(wait);
    else
        mgds_spares_give(&mgds_wait_spares, wait);
}

/* The last one puts the operations, too. */
void mgds_wait_put(struct mgds_wait *wait)
{
    if (--wait->refs > 0)
        return;
    for (unsigned i = 0; i < wait->count; i++)
        mgds_engine_put_later(wait->op[i]);
    mgds_engine_free_later(wait);
}

static void settle(struct mgds_op *op, const struct mgds_line *line)
{
    int error = op->taken || op->awaiting ? mgds_quit_settle(op) : 0;

    if (op->taken)
        mgds_exchange_taken(op, error || line->released);
    if (op->awaiting)
        mgds_exchange_awaited(op, error);
}

/* The stream has passed the wait and the copies behind it. */
static void passed(struct mgds_mark *mark)
{
    struct mgds_wait *wait = (struct mgds_wait *)(void *)mark;

    mgds_gstream_passed(wait->line->stream, wait->takes);
    for (unsigned i = 0; i < wait->count; i++)
        settle(wait->op[i], wait->line);
    mgds_wait_put(wait);
}

struct mgds_wait *mgds_wait_of(struct mgds_mark *mark)
{
    return mark->passed == passed ? (struct mgds_wait *)(void *)mark : NULL;
}

/* A send whose bytes the same stream has staged is done where the stream has
 * come to: nothing is to be waited for. */
static bool is_in_order(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->send && (op->bounce || op->bytes == 0 || op->pull) &&
           op->line == line && !op->sync && !op->error;
}

/* A stream whose kernels see the word that says that it was copied, which was
 * not seen yet, waits for that itself. */
static bool can_await(const struct mgds_op *op, const struct mgds_line *line)
{
    return op->pull && !op->moved && !op->error &&
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
    op->waited = true;
    __atomic_fetch_add(&op->domain->waited, 1, __ATOMIC_RELAXED);
    op->stood = wait->line;
    if (op->at == 0)
        op->at = mgds_gstream_name(wait->line->stream);
    op->sink = *sink;
    if (op->done) {
        mgds_op_keep_error(op, wait->line);
    } else if (op->taker && (!op->demanded || op->claim) &&
               op->line == wait->line) {
        op->taking = true;
        op->known = op->held;
        miss(op, wait);
        if (op->held)
            mgds_exchange_take(op);
    } else if (can_await(op, wait->line)) {
        op->awaiting = true;
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
    for (unsigned i = 0; i < wait->count; i++) {
        wait->op[i] = ops[i];
        take(ops[i], wait, &sinks[i]);
    }
    wait->put = wait->put && wait->missing > 0;
    wait->refs++;
    mgds_line_wait(line, wait);
}

/* Each word comes after statuses, and bytes in the bounce: whichever the stream
 * acquires. */
static void tell(uint64_t *record, unsigned word, uint64_t value)
{
    __atomic_store_n(&record[word], value, __ATOMIC_RELEASE);
}

/* The mark of a wait for several is behind the last of them. */
static uint64_t pull_form(const struct mgds_wait *wait,
                          const struct mgds_op *op)
{
    if (wait->count > 1 || !op->message->stands ||
        !mgds_line_hush_late(wait->line, &wait->mark))
        return MGDS_TAKE_PULL;
    mgds_count(pull_quiet);
    return MGDS_TAKE_QUIET;
}

/* What a TAKE that stands gets: the message where it is in the ring, or in the
 * bounce, or nothing. */
static void tell_take(const struct mgds_wait *wait, const struct mgds_op *op)
{
    uint64_t first = MGDS_TAKE_NONE, address = 1, form = MGDS_TAKE_BYTES;
    size_t length = 0;

    if (op->taken) {
        first = op->message->serial;
        address = mgds_op_units(op);
        length = op->message->bytes;
        form = MGDS_TAKE_UNITS;
        if (op->message->pull) {
            form = pull_form(wait, op);
            tell(op->words, MGDS_RECORD_SOURCE, op->message->source);
            tell(op->words, MGDS_RECORD_DONE, op->message->done);
        }
    } else if (op->got > 0 && !op->direct) {
        first = 1;
        address = (uintptr_t)mgds_bounce_base(op->bounce);
        length = op->got;
    }
    tell(op->words, MGDS_RECORD_SERIAL, first);
    tell(op->words, MGDS_RECORD_ADDRESS, address);
    tell(op->words, MGDS_RECORD_LENGTH, length + 1);
    tell(op->words, MGDS_RECORD_FORM, form + 1);
}

void mgds_wait_store(const struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (op->sink.store)
            op->sink.store(op->sink.arg, &op->status);
    }
}

void mgds_wait_publish(const struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++)
        if (wait->op[i]->taking && !wait->op[i]->known)
            tell_take(wait, wait->op[i]);
}

void mgds_wait_leave(struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        wait->op[i]->wait = NULL;
        wait->op[i]->sink.store = NULL;
    }
    mgds_wait_put(wait);
}

void mgds_wait_fail(struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        struct mgds_op *op = wait->op[i];

        if (!op->wait && !op->awaiting) /* the stream does not pass it */
            op->stood = NULL;
        if (op->wait != wait || op->done)
            continue;
        op->wait = NULL;
        op->stood = NULL;
        op->taking = false;
        op->dropped = true;
        mgds_exchange_demand(op);
    }
    wait->missing = 0;
    mgds_line_go(wait->line);
    mgds_line_break(wait->line, &wait->mark);
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
