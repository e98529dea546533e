/* Commands of operations and waits; see put.h. */
#include "shim/gds/msg/put.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/alloc.h"
#include "shim/base/container.h"
#include "shim/base/stats.h"
#include "shim/ctx.h"
#include "shim/gds/comm/caller.h"
#include "shim/gds/msg/debt.h"
#include "shim/gds/comm/comm_state.h"
#include "shim/gds/comm/exchange.h"
#include "shim/gds/msg/op.h"
#include "shim/gds/msg/wait.h"
#include "shim/gds/stream/command_row.h"

static void clear_put(struct mgds_put *put)
{
    put->first = NULL;
    put->last = &put->first;
    put->ops = 0;
    put->wait = NULL;
    put->n = 0;
}

void mgds_put_begin(struct mgds_put *put, struct mgds_timeline *timeline)
{
    clear_put(put);
    put->timeline = timeline;
    put->late = false;
    put->room = sizeof(put->own) / sizeof(put->own[0]);
    put->command = put->own;
}

void mgds_put_fini(struct mgds_put *put)
{
    if (put->command != put->own)
        free(put->command);
}

static unsigned commands_needed(const struct mgds_put *put)
{
    return put->ops + (put->wait ? put->wait->count : 0) + MGDS_PUT_MORE;
}

int mgds_put_widen(struct mgds_put *put, unsigned more)
{
    unsigned least = commands_needed(put) + more;
    struct mgds_command *command;

    if (least <= put->room)
        return 0;
    command = (struct mgds_command *)mgds_malloc((size_t)2 * least *
                                                 sizeof(*command));
    if (!command)
        return -ENOMEM;
    mgds_put_fini(put);
    put->command = command;
    put->room = 2 * least;
    return 0;
}

void mgds_put_op(struct mgds_put *put, struct mgds_op *op)
{
    op->queued->fence.next = NULL;
    *put->last = &op->queued->fence;
    put->last = &op->queued->fence.next;
    put->ops++;
}

void mgds_put_wait(struct mgds_put *put, struct mgds_wait *wait)
{
    put->wait = wait;
}

bool mgds_put_is_empty(const struct mgds_put *put)
{
    return put->ops == 0 && !put->wait;
}

/* Where the next command is filled in. */
static struct mgds_command *room_of_next(struct mgds_put *put)
{
    return &put->command[put->n];
}

/* That is one of the list. The turn is taken with the first one, once. */
static void add_next(struct mgds_put *put)
{
    if (put->n == 0)
        put->ticket = mgds_gstream_ticket(put->timeline->stream);
    put->n++;
}

static struct mgds_command *next_command(struct mgds_put *put)
{
    struct mgds_command *command = room_of_next(put);

    add_next(put);
    return command;
}

static unsigned add_flag(struct mgds_put *put, uint64_t number)
{
    uint64_t *word = put->timeline->reach;

    *next_command(put) = (struct mgds_command){
        .kind = MGDS_COMMAND_FLAG, .word = word, .value = number};
    return put->n - 1;
}

static struct mgds_op *op_of(struct mgds_fence *fence)
{
    return MGDS_CONTAINER_OF(fence, struct mgds_op_queued, fence)->op;
}

/* The timeline has them one behind the other from here on. */
static void number_ops(struct mgds_put *put)
{
    struct mgds_fence *fence = put->first;

    for (unsigned i = 0; i < put->ops; i++) {
        struct mgds_fence *next = fence->next;

        fence->group = NULL;
        mgds_timeline_fence(put->timeline, fence);
        fence = next;
    }
    if (put->ops > 0)
        put->op_fence = put->first->number;
}

/* What sends have put in place: ahead of what others can read it in. */
static void add_commands(struct mgds_put *put, bool slotted)
{
    struct mgds_fence *fence = put->first;

    for (unsigned i = 0; i < put->ops; i++, fence = fence->next) {
        const struct mgds_op *op = op_of(fence);

        if (op->send && op->send->protocol->slotted == slotted &&
            op->send->protocol->command(op, room_of_next(put)))
            add_next(put);
    }
}

/* Its message comes by a channel, if nothing is in the way, and then the stream
 * takes it: the CPU hardly needs to know that it has come to the receive. */
static bool is_taken_here(const struct mgds_op *op)
{
    const struct mgds_op_call *call = op->call;

    return mgds_op_can_take(op) && call->rank >= 0 &&
           mgds_comm_channel(op->comm, call->index, (unsigned)call->rank,
                             call->from_index);
}

static bool are_taken_here(const struct mgds_put *put)
{
    struct mgds_fence *fence = put->first;
    bool all = true;

    for (unsigned i = 0; i < put->ops && all; i++, fence = fence->next)
        all = !op_of(fence)->send && is_taken_here(op_of(fence));
    return all;
}

/* What goes on the stream is a FLAG alone. */
static void ask_if_alone(struct mgds_put *put)
{
    struct mgds_command *flag = &put->command[put->op_flag];

    if (put->wait || put->n > 1 || !are_taken_here(put))
        return;
    flag->asked = true;
    mgds_asked_add(put->timeline, flag->value);
}

static void add_ops(struct mgds_put *put)
{
    struct mgds_fence *fence = put->first, *last = fence;
    unsigned sends[] = {0, 0}; /* without a slot, with one */

    for (unsigned i = 0; i < put->ops; i++, fence = fence->next) {
        const struct mgds_op *op = op_of(fence);

        last = fence;
        if (op->send)
            sends[op->send->protocol->slotted]++;
    }
    for (unsigned slotted = 0; slotted < 2; slotted++)
        if (sends[slotted] > 0)
            add_commands(put, slotted);
    put->op_flag = add_flag(put, last->number);
    if (sends[0] + sends[1] > 0)
        mgds_signals_send(&put->timeline->signals, last);
    put->comm = op_of(last)->comm->id;
    put->name = op_of(last)->call->name;
    ask_if_alone(put);
}

/* What the stream copies up behind the wait: as many bytes as came. */
static bool is_copied_up(const struct mgds_op *op)
{
    return !op->send && op->bounce && !mgds_op_is_lean(op) &&
           !mgds_op_is_lifted(op) && op->state != MGDS_OP_CANCELLED &&
           !mgds_op_waiting_takes(op->waiting) && !op->caller->lifting &&
           !op->recv->direct;
}

static void add_unpack(struct mgds_put *put, const struct mgds_op *op)
{
    *next_command(put) =
        (struct mgds_command){.kind = MGDS_COMMAND_UNPACK,
                              .bounce = op->bounce,
                              .word = op->recv->words + MGDS_OP_COUNT};
}

/* Those without gaps one behind the other: they go in one launch. */
static void add_unpacks(struct mgds_put *put, const struct mgds_wait *wait,
                        bool dense)
{
    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (is_copied_up(op) &&
            mgds_layout_is_dense(op->call->user.layout) == dense)
            add_unpack(put, op);
    }
}

/* Where the message is, if that is known, else where it will be said. */
static void add_take(struct mgds_put *put, const struct mgds_op *op)
{
    /* a buffer of an earlier call is looked at again */
    bool old = put->late || put->first != &op->queued->fence;
    struct mgds_command *command = next_command(put);
    struct mgds_take_record record;

    *command = (struct mgds_command){.kind = MGDS_COMMAND_TAKE,
                                     .stand = put->wait->number,
                                     .user = mgds_op_user(op),
                                     .bytes = op->call->bytes,
                                     .bounce = old ? op->bounce : NULL,
                                     .claim = op->recv->claim,
                                     .gen = op->recv->gen};
    if (op->waiting != MGDS_OP_KNOWN) {
        command->record = op->recv->words;
        return;
    }
    op->recv->message->protocol->record(op, &record);
    command->serial = record.serial;
    command->units = (void *)(uintptr_t)record.address;
    command->length = record.length;
    command->source = record.source;
    command->done = record.done;
}

/* Sends that wait until they were copied. */
static unsigned add_awaits(struct mgds_put *put, const struct mgds_wait *wait)
{
    unsigned n = 0;

    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (op->waiting != MGDS_OP_AWAITING)
            continue;
        *next_command(put) =
            (struct mgds_command){.kind = MGDS_COMMAND_AWAIT,
                                  .stand = wait->number,
                                  .word = mgds_channel_done_here(
                                      op->ring->words_of, op->ring->done_word),
                                  .value = op->ring->slot.serial};
        n++;
    }
    return n;
}

/* A long message's sender may wait for it by its CPU, which is told at once. If
 * it is known that its stream waits, which is told anyway: every second time.
 */
static bool is_urgent(const struct mgds_put *put, const struct mgds_op *op)
{
    return mgds_op_waiting_takes(op->waiting) && op->recv->claim &&
           (op->waiting == MGDS_OP_TAKING || !op->recv->message->stands ||
            mgds_signals_any_deferred(&put->timeline->signals));
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

        if (mgds_op_waiting_takes(op->waiting) && !op->recv->claim)
            bytes += op->call->bytes < most ? op->call->bytes : most;
    }
    return 2 * bytes;
}

/* Where the last command is a TAKE its flag can be quiet. */
static void end_wait(struct mgds_put *put, const struct mgds_wait *wait)
{
    struct mgds_command *flag = &put->command[put->wait_flag];

    flag->quiet = put->n > 1 && flag[-1].kind == MGDS_COMMAND_TAKE &&
                  !is_any_urgent(put, wait) &&
                  mgds_signals_defer(&put->timeline->signals,
                                     put->timeline->stream, bytes_taken(wait));
    if (!flag->quiet)
        mgds_signals_cover(&put->timeline->signals);
    else if (flag[-1].claim)
        mgds_count(pull_quiet);
}

/* Whoever lets the stream pass may have to know that it has come to receives
 * ahead, and asks no more seldom than it stands. */
static void cover_asked(struct mgds_put *put)
{
    const struct mgds_timeline *timeline = put->timeline;

    if (put->ops == 0 && timeline->first &&
        mgds_asked_any(&timeline->asked, timeline->first->number))
        add_flag(put, timeline->fences);
}

/* Who looks for where the stream stands finds the wait by its number, or by the
 * flag just ahead of it. */
static void add_go(struct mgds_put *put, struct mgds_wait *wait)
{
    const struct mgds_command *ahead =
        put->n ? &put->command[put->n - 1] : NULL;

    if (ahead && ahead->kind == MGDS_COMMAND_FLAG && !ahead->quiet)
        wait->behind = ahead->value;
    *next_command(put) = (struct mgds_command){.kind = MGDS_COMMAND_WAIT,
                                               .word = put->timeline->go,
                                               .value = wait->number,
                                               .stand = wait->number};
}

/* That the stream has come to a receive matters while it is not known where the
 * message is: the TAKE says so then, if it is all that there is. */
static bool is_told_by_take(const struct mgds_put *put,
                            const struct mgds_wait *wait)
{
    return put->ops == 1 && wait->count == 1 && wait->takes == 1 &&
           put->first == &wait->op[0]->queued->fence;
}

/* What a wait puts for operations of which it takes no message. */
enum { COPIES = 1, AWAITS = 2 };

static unsigned add_takes(struct mgds_put *put, const struct mgds_wait *wait)
{
    unsigned others = 0;

    for (unsigned i = 0; i < wait->count; i++) {
        const struct mgds_op *op = wait->op[i];

        if (mgds_op_waiting_takes(op->waiting))
            add_take(put, op);
        else if (op->waiting == MGDS_OP_AWAITING)
            others |= AWAITS;
        else if (is_copied_up(op))
            others |= COPIES;
    }
    return others;
}

/* Takes come first: what they wait for comes by itself, whatever the stream
 * does. */
static void add_wait(struct mgds_put *put, struct mgds_wait *wait)
{
    unsigned before = put->n, others;

    if (wait->count > 0)
        put->comm = wait->op[0]->comm->id;
    others = add_takes(put, wait);
    wait->takes = put->n - before;
    if (is_told_by_take(put, wait))
        put->command[put->op_flag].quiet = true;
    if (wait->put) {
        cover_asked(put);
        add_go(put, wait);
    }
    if (others & COPIES) {
        add_unpacks(put, wait, true);
        add_unpacks(put, wait, false);
    }
    if (others & AWAITS)
        wait->takes += add_awaits(put, wait);
    if (put->n == before && !wait->signalled) {
        mgds_timeline_ride(put->timeline, &wait->fence);
        put->wait = NULL;
        return;
    }
    mgds_timeline_fence(put->timeline, &wait->fence);
    put->wait_fence = wait->fence.number;
    put->wait_flag = add_flag(put, wait->fence.number);
    end_wait(put, wait);
}

void mgds_put_close(struct mgds_put *put)
{
    if (put->wait)
        put->wait->ahead = put->timeline->fences;
    number_ops(put);
    if (put->wait)
        mgds_wait_fill(put->wait, put->timeline);
    if (put->ops > 0)
        add_ops(put);
    if (put->wait)
        add_wait(put, put->wait);
}

/* Those that were put will be passed, and counted then. */
static void count_put(const struct mgds_put *put, struct mgds_wait *wait)
{
    wait->takes = 0;
    for (unsigned i = 0; i < put->n; i++) {
        const struct mgds_command *command = &put->command[i];

        wait->takes += command->put &&
                       mgds_command_row(command)->blocks == MGDS_BLOCKS_PEER;
        if (command->kind == MGDS_COMMAND_WAIT)
            wait->put = command->put;
    }
}

/* The stream will not come to it. */
static void fail_wait(struct mgds_wait *wait)
{
    for (unsigned i = 0; i < wait->count; i++) {
        struct mgds_op *op = wait->op[i];

        if (!op->waited->wait &&
            op->waiting != MGDS_OP_AWAITING) /* the stream does not pass it */
            op->waited->stood = NULL;
        if (op->waited->wait != wait || mgds_op_is_done(op))
            continue;
        op->waited->wait = NULL;
        op->waited->stood = NULL;
        mgds_op_wait_step(op, MGDS_OP_WAIT_ON_BREAK);
        mgds_caller_drops(op);
        mgds_exchange_demand(op);
    }
    wait->missing = 0;
    wait->broken = true;
    mgds_timeline_go(wait->timeline);
    mgds_timeline_break(wait->timeline, &wait->fence);
}

static void owe_error(const struct mgds_put *put, uint64_t id, uint64_t name,
                      int error)
{
    struct mgds_comm *comm = mgds_comm_find(id);

    mgds_debt_add(&put->timeline->owed, error, name, NULL);
    if (comm)
        mgds_debt_add(mgds_comm_debt(comm), error, name, NULL);
}

/* Those of which the stream does not say that it came there. */
static void fail_ops(const struct mgds_put *put, int error)
{
    for (unsigned i = 0; i < put->ops; i++) {
        struct mgds_fence *fence =
            mgds_timeline_fence_of(put->timeline, put->op_fence + i);

        if (!fence || fence->of_wait) /* a later fence was reached */
            continue;
        op_of(fence)->error = error;
        owe_error(put, op_of(fence)->comm->id, op_of(fence)->call->name, error);
        mgds_timeline_break(put->timeline, fence);
    }
}

static void fail_put(const struct mgds_put *put, int error)
{
    struct mgds_wait *wait = NULL;
    struct mgds_fence *fence;

    mgds_engine_enter();
    owe_error(put, put->comm, put->name, error);
    if (put->ops > 0 && !put->command[put->op_flag].put)
        fail_ops(put, error);
    if (put->wait && !put->command[put->wait_flag].put) {
        fence = mgds_timeline_fence_of(put->timeline, put->wait_fence);
        wait = fence ? mgds_wait_of(fence) : NULL;
    }
    if (wait) {
        count_put(put, wait);
        fail_wait(wait);
    }
    mgds_engine_leave();
}

int mgds_put_all(struct mgds_put *put)
{
    int rc = put->n > 0 ? mgds_gstream_put(put->timeline->stream, put->ticket,
                                           put->command, put->n)
                        : 0;

    if (rc < 0)
        fail_put(put, rc);
    clear_put(put);
    return rc;
}

void mgds_put_drop(struct mgds_put *put, int error)
{
    if (put->n > 0) {
        for (unsigned i = 0; i < put->n; i++)
            put->command[i].put = false;
        mgds_gstream_put(put->timeline->stream, put->ticket, NULL, 0);
        fail_put(put, error);
    }
    clear_put(put);
}
