/* What must be so at the end of a program; see world.h. */
#include <errno.h>

#include "shim/base/stats.h"
#include "tests/engine/buffers.h"

unsigned world_rank_of_queue(const struct world *world, unsigned queue)
{
    if (queue >= HAND_STREAMS)
        return queue - HAND_STREAMS;
    return world->comms > 1 ? queue / WORLD_STREAMS : 0;
}

uint64_t world_count(const struct world *world, unsigned number)
{
    static const enum mgds_stat stats[WORLD_COUNTS] = {
        MGDS_STAT_envelopes_refused, MGDS_STAT_pull_takes,
        MGDS_STAT_ring_takes,        MGDS_STAT_pull_fetches,
        MGDS_STAT_pull_orders,       MGDS_STAT_pull_refused,
        MGDS_STAT_sends_revoked,     MGDS_STAT_receives_expired};

    return mgds_stats_value(stats[number]) - world->counted[number];
}

static bool is_of(const struct world_op *op, unsigned ranks)
{
    return op->started && !op->failed && ranks & 1u << op->spec->caller;
}

/* Of a receive that no trouble has ended. */
static void check_message(const struct world_op *op)
{
    const struct mgds_op_status *status = &op->status;
    unsigned from = world_sender(op);
    const struct program_op *send = &op->world->program->op[from % PROGRAM_OPS];
    size_t due = send->bytes < op->spec->bytes ? send->bytes : op->spec->bytes;
    int error = send->bytes > op->spec->bytes ? -EMSGSIZE : 0;
    int source = op->world->comms > 1 ? !op->spec->caller : 0;

    if (from >= PROGRAM_OPS || status->error != error ||
        status->source != source || status->index != send->stream ||
        status->tag != PROGRAM_TAG + (int)from || status->bytes != due)
        hand_fault("receive %u: error %d, source %d, index %d, tag %d, %zu "
                   "bytes",
                   world_number(op), status->error, status->source,
                   status->index, status->tag, status->bytes);
}

/* As a program sees the end of its operations. */
static void check_status(const struct world_op *op)
{
    const struct mgds_op_status *status = &op->status;

    if (status->cancelled != op->cancelled)
        hand_fault("operation %u was cancelled, or not", world_number(op));
    if (op->cancelled || program_allows(op->world->program, status->error))
        return;
    if (!op->spec->send)
        check_message(op);
    else if (status->error)
        hand_fault("send %u ended with %d", world_number(op), status->error);
}

static void check_op(const struct world_op *op)
{
    unsigned told = __atomic_load_n(&op->told, __ATOMIC_ACQUIRE);
    unsigned checked = __atomic_load_n(&op->checked, __ATOMIC_ACQUIRE);

    if (!op->freed && told != 1)
        hand_fault("operation %u has ended %u times", world_number(op), told);
    if (!op->freed && told == 1)
        check_status(op);
    if (!op->freed && checked != 1)
        hand_fault("operation %u was passed %u times", world_number(op),
                   checked);
    if (!op->spec->send)
        buffer_check(op);
}

void world_check(struct world *world, unsigned ranks)
{
    for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
        if (ranks & 1u << i && world_next(world, i))
            hand_fault("call %u of caller %u does not end", world->next[i], i);
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        if (is_of(&world->op[i], ranks))
            check_op(&world->op[i]);
}

void world_check_queues(const struct world *world, unsigned ranks)
{
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        if (ranks & 1u << world_rank_of_queue(world, i) && hand_left(i) > 0)
            hand_fault("queue %u stands, with %u commands", i, hand_left(i));
}

/* A receive whose request was freed has its bytes when all is over; or it has
 * failed, of which nobody was told here. */
static void check_freed(struct world_op *op)
{
    if (!is_of(op, WORLD_ALL) || !op->freed || op->spec->send ||
        op->cancelled || program_may_lose(op->world->program))
        return;
    op->status.tag = PROGRAM_TAG + op->spec->of;
    buffer_use(op);
}

/* What was told to ranks behind the backs of their operations. */
struct debts {
    int error[PROGRAM_CALLERS];
};

/* Who is told that its send has failed may store over it, while a receiver that
 * has not heard so copies it: of such a message nothing is promised. */
static bool has_failed(const struct world_op *send, const struct debts *debts)
{
    return send->spec->bytes >= PROGRAM_LONG &&
           (send->status.error || debts->error[send->spec->caller]);
}

static void check_wrong(const struct world_op *op, const struct debts *debts)
{
    if (op->wrong && !debts->error[op->spec->caller] &&
        !has_failed(&op->world->op[world_sender(op)], debts))
        hand_fault("receive %u got what was not sent, and nobody says so",
                   world_number(op));
}

static void check_debts(const struct world *world)
{
    struct debts debts = {{0}};

    for (unsigned i = 0; i < world->comms; i++) {
        int error = mgds_comm_take_error(world->comm[i], NULL);

        debts.error[i] = error;
        if (error && error != -EMSGSIZE &&
            !program_allows(world->program, error))
            hand_fault("communicator %u owes the error %d", i, error);
    }
    for (unsigned i = 0; i < PROGRAM_OPS; i++)
        check_wrong(&world->op[i], &debts);
}

void world_check_end(struct world *world)
{
    for (unsigned i = 0; i < PROGRAM_OPS; i++) {
        struct world_op *op = &world->op[i];

        check_freed(op);
        if (is_of(op, WORLD_ALL) && !op->spec->send)
            buffer_check(op);
    }
    check_debts(world);
    if (world_count(world, 0) != 0)
        hand_fault("an envelope was refused");
}
