/* Kernels, copies and memory operations for commands; see commands.h. */
#include "shim/gds/stream/commands.h"

#include <errno.h>

#include "device/abi.h"
#include "shim/base/stats.h"
#include "shim/gds/cuda/mem.h"
#include "shim/gds/cuda/memop.h"
#include "shim/gds/stream/batch.h"
#include "shim/gds/stream/exchange.h"
#include "shim/gds/stream/reach.h"
#include "shim/gds/stream/command.h"
#include "shim/gds/stream/command_row.h"
#include "shim/gds/mem/pack.h"
#include "shim/gds/mem/bounce_state.h"
#include "shim/gds/mem/transfer.h"

/* From here on a copy engine is as fast as a kernel, and leaves the GPU's own
 * units to the program. An estimate, to be measured. */
enum { LARGE = 1 << 20, UNIT = 16 };

/* Of a message that is pushed: threads of a block, and blocks. */
enum { PUSH_THREADS = 512, PUSHERS = 16 };

/* Of one that copies a long message: reads of another GPU's memory take long,
 * so the more of them are under way the better; two units each. */
enum { PULL_THREADS = 1024, PULL_EACH = 2 };

static bool is_word(const struct mgds_command *command)
{
    return mgds_command_row(command)->alone == MGDS_ALONE_WORD;
}

static bool is_kernel(const struct mgds_commands_to *to,
                      const struct mgds_command *command)
{
    return to->gpu->width == 0 || (command->kind == MGDS_COMMAND_WAIT &&
                                   to->claims && mgds_claims_any(to->claims));
}

/* In one call of the driver. 0: a kernel must do the first, which is looked at
 * once, for claims come and go meanwhile. */
static unsigned count_memops(const struct mgds_commands_to *to,
                             const struct mgds_command *commands,
                             unsigned count)
{
    unsigned words = 0;

    while (words < count && words < MGDS_MEMOP_MOST / 2 &&
           is_word(&commands[words]) && !is_kernel(to, &commands[words]))
        words++;
    return words;
}

static void mark_put(struct mgds_command *commands, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        commands[i].put = true;
}

/* Where the flag just ahead of a WAIT says that the stream has come to it,
 * nothing else has to. */
static bool must_say(const struct mgds_command *commands, unsigned i)
{
    return commands[i].kind == MGDS_COMMAND_WAIT && commands[i].stand &&
           (i == 0 || commands[i - 1].kind != MGDS_COMMAND_FLAG);
}

static struct mgds_memop memop_of_stand(const struct mgds_commands_to *to,
                                        const struct mgds_command *command)
{
    return (struct mgds_memop){.word = &to->desk->stands,
                               .value = command->stand};
}

static int queue_memops(const struct mgds_commands_to *to,
                        struct mgds_command *commands, unsigned count)
{
    struct mgds_memop ops[MGDS_MEMOP_MOST] = {{0}};
    unsigned n = 0;
    int rc;

    for (unsigned i = 0; i < count; i++) {
        if (must_say(commands, i))
            ops[n++] = memop_of_stand(to, &commands[i]);
        ops[n++] =
            (struct mgds_memop){.wait = commands[i].kind == MGDS_COMMAND_WAIT,
                                .word = commands[i].word,
                                .value = commands[i].value};
    }
    rc = mgds_memop_queue(to->stream, to->gpu->width, ops, n);
    if (rc < 0)
        return rc;
    mark_put(commands, count);
    mgds_count(queue_batches);
    return 0;
}

/* What the word says is known to have come; of words of 32 bits nothing is. */
static uint64_t past_of(const struct mgds_commands_to *to,
                        const struct mgds_command *flag)
{
    return to->gpu->width == 32 ? 0
                                : __atomic_load_n(flag->word, __ATOMIC_RELAXED);
}

/* False: no event is to be had. */
static bool queue_event(const struct mgds_commands_to *to,
                        struct mgds_command *flag)
{
    if (!to->events || mgds_events_record(to->events, to->gpu->ctx, to->stream,
                                          flag->value, past_of(to, flag)) < 0)
        return false;
    mark_put(flag, 1);
    mgds_count(queue_events);
    return true;
}

/* A wait and the flag behind it are two launches: one that gives up stores
 * nothing, but the flag must come. */
static int queue_flag(const struct mgds_commands_to *to,
                      struct mgds_command *command)
{
    bool wait = command->kind == MGDS_COMMAND_WAIT;
    struct mgds_flag_args args = {.abort = (uintptr_t)to->desk,
                                  .stand = command->stand};
    int rc;

    if (wait) {
        args.wait = (uintptr_t)command->word;
        args.wait_value = command->value;
    } else {
        args.write = (uintptr_t)command->word;
        args.write_value = command->value;
    }
    rc = mgds_kernel_launch(to->gpu->flag, to->stream, 1, 1, &args);
    if (rc < 0)
        return rc;
    mark_put(command, 1);
    mgds_count(queue_launches);
    return 0;
}

static int queue_engine(const struct mgds_commands_to *to,
                        const struct mgds_bounce *bounce)
{
    const struct mgds_copy copy = {.dst = bounce->base,
                                   .src = bounce->user,
                                   .width = bounce->layout->size,
                                   .rows = 1,
                                   .planes = 1};

    return mgds_copy_async(&copy, to->stream);
}

static int queue_dense(const struct mgds_commands_to *to,
                       const struct mgds_command *command)
{
    const struct mgds_bounce *bounce = command->bounce;
    bool up = command->kind == MGDS_COMMAND_UNPACK;
    struct mgds_copy_args args = {
        .dst = (uintptr_t)(up ? bounce->user : bounce->base),
        .src = (uintptr_t)(up ? bounce->base : bounce->user),
        .bytes = bounce->layout->size,
        .limit = up ? (uintptr_t)command->word : 0,
    };

    if (!up && args.bytes >= LARGE && mgds_transfer_inside(bounce))
        return queue_engine(to, bounce);
    mgds_count(queue_launches);
    return mgds_kernel_launch(to->gpu->copy, to->stream,
                              mgds_pack_blocks(args.bytes / UNIT),
                              MGDS_PACK_THREADS, &args);
}

static int queue_irregular(const struct mgds_commands_to *to,
                           const struct mgds_command *command)
{
    bool up = command->kind == MGDS_COMMAND_UNPACK;

    mgds_count(queue_launches);
    return mgds_pack_queue(command->bounce, to->gpu->copyqueue->kernel,
                           to->stream, up, up ? command->word : NULL);
}

static int queue_here(const struct mgds_commands_to *to,
                      const struct mgds_command *command)
{
    const struct mgds_bounce *bounce = command->bounce;

    return bounce->layout == &bounce->flat ? queue_dense(to, command)
                                           : queue_irregular(to, command);
}

static int queue_aside(const struct mgds_commands_to *to,
                       const struct mgds_command *command,
                       struct mgds_side *side)
{
    const struct mgds_commands_to there = {.gpu = side->gpu,
                                           .stream = side->stream};
    int rc = mgds_side_begin(side, to->stream);

    if (rc < 0)
        return rc;
    mgds_count(queue_aside);
    return mgds_side_end(side, to->stream, queue_here(&there, command));
}

/* Where kernels of the stream do not reach the memory, by the side of those
 * that do: mgds_gstream_adopt has made it. */
static int queue_somewhere(const struct mgds_commands_to *to,
                           const struct mgds_command *command)
{
    const struct mgds_bounce *bounce = command->bounce;
    struct mgds_side *side;

    if (bounce->queue->ctx == to->gpu->ctx ||
        mgds_reach_check(bounce, to->gpu) == 0)
        return queue_here(to, command);
    side = mgds_side_find(to->sides, bounce->queue->ctx);
    return side ? queue_aside(to, command, side) : -EXDEV;
}

/* The memory is looked at again: a buffer may have been freed since the call
 * that it was given to. */
static int queue_copy(const struct mgds_commands_to *to,
                      struct mgds_command *command)
{
    const struct mgds_bounce *bounce = command->bounce;
    int rc = 0;

    if (bounce->layout->size > 0)
        rc = mgds_bounce_check(bounce);
    if (rc == 0 && bounce->layout->size > 0)
        rc = queue_somewhere(to, command);
    if (rc == 0)
        mark_put(command, 1);
    return rc;
}

static int queue_push(const struct mgds_commands_to *to,
                      const struct mgds_command *command,
                      const struct mgds_command *flag)
{
    const struct mgds_push_args args = {.src = (uintptr_t)command->user,
                                        .bytes = command->bytes,
                                        .units = (uintptr_t)command->units,
                                        .serial = command->serial,
                                        .cell = (uintptr_t)to->cell,
                                        .flag = (uintptr_t)flag->word,
                                        .value = flag->value};
    const struct mgds_command_shape most = {to->cell ? PUSHERS : 1,
                                            PUSH_THREADS};
    struct mgds_command_shape shape =
        mgds_command_shape(command->bytes, most, 1);

    return mgds_kernel_launch(to->gpu->push, to->stream, shape.blocks,
                              shape.threads, &args);
}

static int queue_post(const struct mgds_commands_to *to,
                      const struct mgds_command *command,
                      const struct mgds_command *flag)
{
    const struct mgds_post_args args = mgds_command_post(command, flag);

    return mgds_kernel_launch(to->gpu->post, to->stream, 1, 1, &args);
}

static struct mgds_take_args take_args(const struct mgds_commands_to *to,
                                       const struct mgds_command *command,
                                       const struct mgds_command *came,
                                       const struct mgds_command *flag)
{
    return (struct mgds_take_args){.dst = (uintptr_t)command->user,
                                   .bytes = command->bytes,
                                   .units = (uintptr_t)command->units,
                                   .serial = command->serial,
                                   .length = command->length,
                                   .record = (uintptr_t)command->record,
                                   .abort = (uintptr_t)to->desk,
                                   .came = (uintptr_t)came->word,
                                   .came_value = came->value,
                                   .cell = (uintptr_t)to->cell,
                                   .turn = ++*to->turn,
                                   .flag =
                                       flag->quiet ? 0 : (uintptr_t)flag->word,
                                   .value = flag->value,
                                   .stand = command->stand};
}

static int launch_take(const struct mgds_commands_to *to,
                       const struct mgds_take_args *args)
{
    const struct mgds_command_shape most = {to->blocks, MGDS_TAKE_THREADS};
    struct mgds_command_shape shape =
        mgds_command_shape(args->bytes, most, MGDS_TAKE_AHEAD);

    return mgds_kernel_launch(to->gpu->take, to->stream, shape.blocks,
                              shape.threads, args);
}

static int launch_pull(const struct mgds_commands_to *to,
                       const struct mgds_take_args *take,
                       const struct mgds_command *command)
{
    const struct mgds_pull_args args = {.take = *take,
                                        .source = command->source,
                                        .done = command->done,
                                        .claim = (uintptr_t)command->claim,
                                        .gen = command->gen,
                                        .joins = command->joins && !take->came,
                                        .delivers = command->delivers &&
                                                    command->claim};
    const struct mgds_command_shape most = {to->longs, PULL_THREADS};
    struct mgds_command_shape shape =
        mgds_command_shape(take->bytes, most, PULL_EACH);

    return mgds_kernel_launch(to->gpu->pull, to->stream, shape.blocks,
                              shape.threads, &args);
}

/* Without its memory, which the program freed, the message is thrown away. */
static int queue_take(const struct mgds_commands_to *to,
                      const struct mgds_command *command,
                      const struct mgds_command *came,
                      const struct mgds_command *flag)
{
    int lost = mgds_command_check(command);
    struct mgds_take_args args = take_args(to, command, came, flag);
    int rc;

    if (lost < 0)
        args.bytes = 0;
    rc = mgds_command_is_long(command) ? launch_pull(to, &args, command)
                                       : launch_take(to, &args);
    return rc < 0 ? rc : lost;
}

int mgds_commands_fetch(const struct mgds_commands_to *to,
                        const struct mgds_command *take,
                        const struct mgds_command *flag)
{
    static const struct mgds_command none;
    int rc = queue_take(to, take, &none, flag);

    if (rc == 0 || rc == -EFAULT)
        mgds_count(queue_launches);
    return rc;
}

static bool is_kind(const struct mgds_command *commands, unsigned i,
                    unsigned count, enum mgds_command_kind kind)
{
    return i < count && commands[i].kind == kind;
}

/* A flag that its take stores, if it has to. */
static bool is_call(const struct mgds_command *commands, unsigned count)
{
    return commands->kind == MGDS_COMMAND_FLAG && commands->quiet &&
           is_kind(commands, 1, count, MGDS_COMMAND_TAKE);
}

/* A message, with the flag behind it, and before a take the one ahead of it, in
 * one launch. */
static int queue_message(const struct mgds_commands_to *to,
                         struct mgds_command *commands, unsigned count,
                         unsigned *done)
{
    static const struct mgds_command none;
    unsigned at = is_call(commands, count);
    bool flagged = is_kind(commands, at + 1, count, MGDS_COMMAND_FLAG);
    const struct mgds_command *flag = flagged ? &commands[at + 1] : &none;
    int rc;

    if (commands[at].kind == MGDS_COMMAND_PUSH)
        rc = queue_push(to, &commands[at], flag);
    else if (commands[at].kind == MGDS_COMMAND_POST)
        rc = queue_post(to, &commands[at], flag);
    else
        rc = queue_take(to, &commands[at], at ? commands : &none, flag);
    *done = at + 1 + flagged;
    if (rc < 0 && rc != -EFAULT)
        return rc;
    mark_put(commands, *done);
    mgds_count(queue_launches);
    return rc;
}

static bool is_message(const struct mgds_command *commands, unsigned count)
{
    return mgds_command_row(commands)->alone == MGDS_ALONE_LAUNCH ||
           is_call(commands, count);
}

static int queue_some(const struct mgds_commands_to *to,
                      struct mgds_command *commands, unsigned count,
                      unsigned *done)
{
    struct mgds_exchange_run run;
    unsigned batch;

    *done = 1;
    if (commands->asked && queue_event(to, commands))
        return 0;
    batch = mgds_batch_count(to, commands, count);
    *done = mgds_exchange_find(&run, to, commands, count);
    if (*done > batch)
        return mgds_exchange_queue(to, commands, &run);
    *done = batch > 0 ? batch : 1;
    if (batch > 0)
        return mgds_batch_queue(to, commands, batch);
    if (is_message(commands, count))
        return queue_message(to, commands, count, done);
    if (!is_word(commands))
        return queue_copy(to, commands);
    *done = count_memops(to, commands, count);
    if (*done > 0)
        return queue_memops(to, commands, *done);
    *done = 1;
    return queue_flag(to, commands);
}

/* A command whose memory the program has freed is left out; any other error
 * ends the list. */
int mgds_commands_queue(const struct mgds_commands_to *to,
                        struct mgds_command *commands, unsigned count)
{
    int first = 0;
    unsigned done;

    for (unsigned i = 0; i < count; i += done) {
        int rc;

        commands[i].joins = i > 0 && commands[i - 1].put &&
                            mgds_command_is_long(&commands[i - 1]);
        rc = queue_some(to, commands + i, count - i, &done);
        if (rc < 0 && first == 0)
            first = rc;
        if (rc < 0 && (rc != -EFAULT || commands[i].kind == MGDS_COMMAND_PACK))
            break;
    }
    return first;
}
