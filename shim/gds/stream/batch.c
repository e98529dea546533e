/* Many commands in one launch; see batch.h. */
#include "shim/gds/stream/batch.h"

#include <errno.h>

#include "device/abi.h"
#include "shim/base/stats.h"
#include "shim/gds/stream/command.h"
#include "shim/gds/stream/command_row.h"
#include "shim/gds/mem/pack.h"
#include "shim/gds/mem/bounce_state.h"

enum {
    UNIT = 16,          /* bytes that a thread copies at once */
    MOST_BLOCKS = 1024, /* of copies: none of them waits */
    SHORT = 4096        /* bytes of a take that is worth less than a launch */
};

/* A longer one has blocks of its own. */
static bool is_take(const struct mgds_commands_to *to,
                    const struct mgds_command *command)
{
    (void)to;
    return command->kind == MGDS_COMMAND_TAKE &&
           !mgds_command_is_long(command) &&
           mgds_command_length(command) <= SHORT;
}

static bool is_await(const struct mgds_commands_to *to,
                     const struct mgds_command *command)
{
    (void)to;
    return command->kind == MGDS_COMMAND_AWAIT;
}

/* Into memory of the stream's own context: that of others may be reached in
 * another way. */
static bool is_dense_unpack(const struct mgds_commands_to *to,
                            const struct mgds_command *command)
{
    const struct mgds_bounce *bounce = command->bounce;

    return command->kind == MGDS_COMMAND_UNPACK && bounce->layout->size > 0 &&
           bounce->layout == &bounce->flat &&
           bounce->queue->ctx == to->gpu->ctx;
}

typedef bool is_of_batch(const struct mgds_commands_to *to,
                         const struct mgds_command *command);

static unsigned run_of(const struct mgds_commands_to *to,
                       const struct mgds_command *commands, unsigned count,
                       is_of_batch *is)
{
    unsigned n = 0;

    while (n < count && is(to, &commands[n]))
        n++;
    return n;
}

struct batch {
    is_of_batch *is;
    unsigned least, most;
    bool flag; /* goes with it */
};

/* By `fused` of the kind's row. */
static const struct batch batches[] = {
    [MGDS_FUSED_COPIES] = {is_dense_unpack, 2, MGDS_COPIES_MOST, false},
    [MGDS_FUSED_TAKES] = {is_take, 2, MGDS_TAKES_MOST, true},
    [MGDS_FUSED_AWAITS] = {is_await, 1, MGDS_AWAIT_MOST, true},
};

/* A send that its stream waits for at once: its POST and the FLAG of that. */
static unsigned posts_ahead(const struct mgds_command *commands, unsigned count)
{
    return count > 2 && commands[0].kind == MGDS_COMMAND_POST &&
                   commands[1].kind == MGDS_COMMAND_FLAG &&
                   commands[2].kind == MGDS_COMMAND_AWAIT
               ? 2
               : 0;
}

unsigned mgds_batch_count(const struct mgds_commands_to *to,
                          const struct mgds_command *commands, unsigned count)
{
    unsigned ahead = posts_ahead(commands, count), n;
    const struct batch *batch;

    commands += ahead;
    count -= ahead;
    batch = &batches[mgds_command_row(commands)->fused];
    if (!batch->is)
        return 0;
    n = run_of(to, commands, count < batch->most ? count : batch->most,
               batch->is);
    if (n < batch->least)
        return 0;
    return ahead + n +
           (batch->flag && n < count && commands[n].kind == MGDS_COMMAND_FLAG);
}

static unsigned warps_for(uint64_t work)
{
    unsigned threads = MGDS_COMMAND_WARP;

    while (threads < work && threads < MGDS_TAKE_THREADS)
        threads *= 2;
    return threads;
}

static void mark_put(struct mgds_command *commands, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        commands[i].put = true;
}

static int queue_awaits(const struct mgds_commands_to *to,
                        struct mgds_command *commands, unsigned count)
{
    struct mgds_kernel_handle *kernel = to->gpu->awaits.many;
    unsigned ahead = posts_ahead(commands, count);
    struct mgds_await_args args = {
        .head = {.abort = (uintptr_t)to->desk, .stand = commands[ahead].stand}};
    int rc;

    if (ahead > 0)
        args.head.post = mgds_command_post(&commands[0], &commands[1]);
    for (unsigned i = ahead; i < count; i++) {
        if (is_await(to, &commands[i])) {
            args.item[args.head.count++] = (struct mgds_await_item){
                (uintptr_t)commands[i].word, commands[i].value};
        } else {
            args.head.flag = (uintptr_t)commands[i].word;
            args.head.value = commands[i].value;
        }
    }
    if (args.head.count <= MGDS_AWAIT_FEW)
        kernel = to->gpu->awaits.few;
    rc = mgds_kernel_launch(kernel, to->stream, 1, warps_for(args.head.count),
                            &args);
    if (rc < 0)
        return rc;
    mark_put(commands, count);
    mgds_count(queue_launches);
    return 0;
}

/* A thread for a unit of a ring, as far as that goes. */
static unsigned threads_for(const struct mgds_takes_args *args)
{
    uint64_t units = 0;

    for (unsigned i = 0; i < args->head.count; i++) {
        const struct mgds_takes_item *item = &args->item[i];

        units += 1 + (item->serial ? item->length : item->bytes) / 8;
    }
    return warps_for(units);
}

/* A message whose memory the program has freed is thrown away. */
static int add_take(struct mgds_takes_args *args,
                    const struct mgds_command *command)
{
    int lost = mgds_command_check(command);
    struct mgds_takes_item *item = &args->item[args->head.count++];

    *item = (struct mgds_takes_item){.dst = (uintptr_t)command->user,
                                     .bytes = lost < 0 ? 0 : command->bytes,
                                     .units = (uintptr_t)command->record,
                                     .length = command->length};
    if (!command->record) {
        item->units = (uintptr_t)command->units;
        item->serial = command->serial;
    }
    return lost;
}

static int queue_takes(const struct mgds_commands_to *to,
                       struct mgds_command *commands, unsigned count)
{
    struct mgds_kernel_handle *kernel = to->gpu->takes.many;
    struct mgds_takes_args args = {.head = {.abort = (uintptr_t)to->desk,
                                            .cell = (uintptr_t)to->cell,
                                            .stand = commands[0].stand}};
    int lost = 0;
    int rc;

    for (unsigned i = 0; i < count; i++) {
        if (is_take(to, &commands[i])) {
            rc = add_take(&args, &commands[i]);
            lost = rc < 0 ? rc : lost;
        } else {
            args.head.flag =
                commands[i].quiet ? 0 : (uintptr_t)commands[i].word;
            args.head.value = commands[i].value;
        }
    }
    if (args.head.count <= MGDS_TAKES_FEW)
        kernel = to->gpu->takes.few;
    rc = mgds_kernel_launch(kernel, to->stream, 1, threads_for(&args), &args);
    if (rc < 0)
        return rc;
    mark_put(commands, count);
    mgds_count(queue_launches);
    return lost;
}

static void add_copy(struct mgds_copies_args *args,
                     const struct mgds_command *command)
{
    const struct mgds_bounce *bounce = command->bounce;

    args->item[args->count++] =
        (struct mgds_copies_item){.dst = (uintptr_t)bounce->user,
                                  .src = (uintptr_t)bounce->base,
                                  .bytes = bounce->layout->size,
                                  .limit = (uintptr_t)command->word};
}

/* Each has as many as the longest needs. */
static unsigned blocks_for(const struct mgds_copies_args *args)
{
    unsigned count = (unsigned)args->count;
    unsigned most = MOST_BLOCKS / count;
    uint64_t bytes = 0;
    unsigned each;

    for (unsigned i = 0; i < count; i++)
        if (args->item[i].bytes > bytes)
            bytes = args->item[i].bytes;
    each = mgds_pack_blocks(bytes / UNIT);
    return count * (each < most ? each : most);
}

static int queue_copies(const struct mgds_commands_to *to,
                        struct mgds_command *commands, unsigned count)
{
    struct mgds_copies_args args = {.count = 0};
    int lost = 0;
    int rc = 0;

    for (unsigned i = 0; i < count; i++) {
        rc = mgds_bounce_check(commands[i].bounce);
        commands[i].put = rc == 0;
        if (rc == 0)
            add_copy(&args, &commands[i]);
        else
            lost = rc;
    }
    if (args.count == 0)
        return lost;
    rc = mgds_kernel_launch(to->gpu->copies, to->stream, blocks_for(&args),
                            MGDS_PACK_THREADS, &args);
    if (rc < 0) {
        for (unsigned i = 0; i < count; i++)
            commands[i].put = false;
        return rc;
    }
    mgds_count(queue_launches);
    return lost;
}

int mgds_batch_queue(const struct mgds_commands_to *to,
                     struct mgds_command *commands, unsigned count)
{
    if (is_await(to, commands) || posts_ahead(commands, count) > 0)
        return queue_awaits(to, commands, count);
    return is_take(to, commands) ? queue_takes(to, commands, count)
                                 : queue_copies(to, commands, count);
}
