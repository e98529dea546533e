/* Many messages in one launch; see exchange.h. */
#include "shim/gds/stream/exchange.h"

#include <string.h>

#include "device/abi.h"
#include "shim/base/stats.h"
#include "shim/gds/stream/command.h"
#include "shim/gds/stream/command_row.h"

/* The most threads of a block, and blocks of a push; how many words of a long
 * message a thread copies, two loads of 16 bytes. */
enum { THREADS = 512, PUSHERS = 16, LONG_EACH = 4 };

/* Long messages that have launches of their own, which overlap, where they are
 * more than these, each or together: such a row fills the link, which the few
 * blocks of one launch that stands do not. */
enum { LONG_MOST = 6, LONG_BYTES = 2 << 20 };

/* The next commands that are of that part, at most so many. */
static unsigned run_of(const struct mgds_command *commands, unsigned count,
                       unsigned most, enum mgds_command_part part)
{
    unsigned n = 0;

    while (n < count && n < most &&
           mgds_command_row(&commands[n])->part == part)
        n++;
    return n;
}

static bool is_long_row(const struct mgds_command *takes, unsigned count)
{
    unsigned longs = 0;
    size_t bytes = 0;

    for (unsigned i = 0; i < count; i++) {
        if (!mgds_command_is_long(&takes[i]))
            continue;
        longs++;
        bytes += takes[i].bytes;
    }
    return longs > LONG_MOST || bytes > LONG_BYTES;
}

static unsigned count_messages(const struct mgds_exchange_run *run)
{
    return run->sends + run->takes + run->awaits;
}

static unsigned commands_of(const struct mgds_exchange_run *run)
{
    return count_messages(run) + run->flag + run->end;
}

/* A launch that is full, or ahead of a long row, ends with what it has: the
 * flag is behind the next. */
static struct mgds_exchange_run next_run(const struct mgds_command *commands,
                                         unsigned count)
{
    unsigned left = MGDS_EXCHANGE_MOST, at;
    struct mgds_exchange_run run = {0};

    run.sends = run_of(commands, count, left, MGDS_PART_SENDS);
    run.flag =
        run_of(commands + run.sends, count - run.sends, 1, MGDS_PART_FLAG);
    left -= run.sends;
    at = commands_of(&run);
    run.takes = run_of(commands + at, count - at, left, MGDS_PART_TAKES);
    if (is_long_row(commands + at, run.takes)) {
        run.takes = 0;
        return run;
    }
    left -= run.takes;
    at += run.takes;
    run.awaits = run_of(commands + at, count - at, left, MGDS_PART_AWAITS);
    at += run.awaits;
    run.end = run_of(commands + at, count - at, 1, MGDS_PART_FLAG);
    return run;
}

/* Most lists are one message and the FLAG behind it. */
static bool is_one_message(const struct mgds_command *commands, unsigned count)
{
    return count < 2 || (count == 2 && commands[1].kind == MGDS_COMMAND_FLAG);
}

unsigned mgds_exchange_find(struct mgds_exchange_run *out,
                            const struct mgds_commands_to *to,
                            const struct mgds_command *commands, unsigned count)
{
    /* the rest of a long row joins it */
    if (!to->cells || is_one_message(commands, count) || commands->joins)
        return 0;
    *out = next_run(commands, count);
    return count_messages(out) < 2 ? 0 : commands_of(out);
}

/* What the launch carries, and how its blocks are dealt out. */
struct launch {
    const struct mgds_commands_to *to;
    struct mgds_exchange_head *head; /* first in the arguments */
    struct mgds_exchange_item *item;
    unsigned count; /* of items, and how many there may be */
    unsigned room;
    unsigned threads;
    unsigned blocks;   /* of those ahead */
    unsigned standing; /* of them, those that wait */
    int lost;          /* -EFAULT: a TAKE's memory is gone */
};

static struct mgds_command_shape shape_of_take(const struct launch *launch,
                                               const struct mgds_command *take)
{
    bool is_long = mgds_command_is_long(take);
    const struct mgds_command_shape most = {
        is_long ? launch->to->longs : launch->to->blocks, launch->threads};

    return mgds_command_shape(mgds_command_length(take), most,
                              is_long ? LONG_EACH : MGDS_TAKE_AHEAD);
}

/* What a command is worth, in blocks of as many threads as the launch has. */
static struct mgds_command_shape shape_of(const struct launch *launch,
                                          const struct mgds_command *command)
{
    const struct mgds_command_shape most = {PUSHERS, launch->threads};

    if (command->kind == MGDS_COMMAND_TAKE)
        return shape_of_take(launch, command);
    return command->kind == MGDS_COMMAND_PUSH
               ? mgds_command_shape(command->bytes, most, 1)
               : (struct mgds_command_shape){1, MGDS_COMMAND_WARP};
}

/* As many as the longest message needs: blocks have all the same. */
static void choose_threads(struct launch *launch,
                           const struct mgds_command *commands, unsigned count)
{
    unsigned most = MGDS_COMMAND_WARP;

    launch->threads = THREADS;
    for (unsigned i = 0; i < count && most < THREADS; i++) {
        unsigned threads = shape_of(launch, &commands[i]).threads;

        most = threads > most ? threads : most;
    }
    launch->threads = most;
}

static void add_send(struct launch *launch, const struct mgds_command *command)
{
    bool push = command->kind == MGDS_COMMAND_PUSH;
    unsigned blocks = shape_of(launch, command).blocks;

    launch->item[launch->count++] = (struct mgds_exchange_item){
        .kind = push ? MGDS_EXCHANGE_PUSH : MGDS_EXCHANGE_POST,
        .first = (uint16_t)launch->blocks,
        .blocks = (uint16_t)blocks,
        .buffer = (uintptr_t)command->user,
        .bytes = command->bytes,
        .units = (uintptr_t)command->units,
        .serial = command->serial};
    launch->blocks += blocks;
}

/* A message whose memory the program has freed is thrown away. */
static void add_take(struct launch *launch, const struct mgds_command *command,
                     unsigned first, unsigned blocks)
{
    int lost = mgds_command_check(command);
    struct mgds_exchange_item *item = &launch->item[launch->count++];

    *item = (struct mgds_exchange_item){.kind = MGDS_EXCHANGE_TAKE,
                                        .first = (uint16_t)first,
                                        .blocks = (uint16_t)blocks,
                                        .buffer = (uintptr_t)command->user,
                                        .bytes = lost < 0 ? 0 : command->bytes,
                                        .units = (uintptr_t)command->record,
                                        .length = command->length,
                                        .source = command->source,
                                        .done = command->done,
                                        .claim = (uintptr_t)command->claim,
                                        .gen = command->gen};
    if (!command->record) {
        item->units = (uintptr_t)command->units;
        item->serial = command->serial;
    }
    if (lost < 0)
        launch->lost = lost;
}

/* All takes together have no more blocks than a stream's waits may have: what
 * would be more is dealt out by shares, and many takes share blocks. */
static void add_takes(struct launch *launch,
                      const struct mgds_command *commands, unsigned count)
{
    unsigned budget = launch->to->longs, wanted = 0, used = 0;
    unsigned want[MGDS_EXCHANGE_MOST];

    for (unsigned i = 0; i < count; i++) {
        want[i] = shape_of_take(launch, &commands[i]).blocks;
        wanted += want[i];
    }
    for (unsigned i = 0; i < count; i++) {
        unsigned blocks = want[i];

        if (wanted > budget)
            blocks = blocks * budget / wanted;
        if (blocks == 0 || used + blocks > budget)
            blocks = 1;
        add_take(launch, &commands[i], launch->blocks + used % budget, blocks);
        used += blocks;
    }
    launch->standing = used < budget ? used : budget;
    launch->blocks += launch->standing;
}

/* In a block of their own, unless the takes have all. */
static void add_awaits(struct launch *launch,
                       const struct mgds_command *commands, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        launch->item[launch->count++] =
            (struct mgds_exchange_item){.kind = MGDS_EXCHANGE_AWAIT,
                                        .units = (uintptr_t)commands[i].word,
                                        .serial = commands[i].value};
    if (count > 0 && launch->standing < launch->to->longs)
        launch->blocks++;
}

static void fill_head(struct launch *launch,
                      const struct mgds_command *commands,
                      const struct mgds_exchange_run *run)
{
    const struct mgds_commands_to *to = launch->to;
    const struct mgds_command *behind = commands + run->sends + run->flag;
    struct mgds_exchange_head *head = launch->head;

    *head = (struct mgds_exchange_head){.abort = (uintptr_t)to->desk,
                                        .cells = (uintptr_t)to->cells,
                                        .turn = ++*to->turn,
                                        .cell = (uintptr_t)to->cell,
                                        .sends = run->sends,
                                        .takes = run->takes,
                                        .awaits = run->awaits};
    if (run->takes + run->awaits > 0)
        head->stand = behind->stand;
    if (run->flag) {
        head->came = (uintptr_t)commands[run->sends].word;
        head->came_value = commands[run->sends].value;
        head->loud = !commands[run->sends].quiet;
    }
    if (run->end) {
        const struct mgds_command *end = behind + run->takes + run->awaits;

        head->flag = end->quiet ? 0 : (uintptr_t)end->word;
        head->value = end->value;
    }
}

static void fill_launch(struct launch *launch,
                        const struct mgds_command *commands,
                        const struct mgds_exchange_run *run)
{
    const struct mgds_command *takes = commands + run->sends + run->flag;

    choose_threads(launch, commands, commands_of(run));
    fill_head(launch, commands, run);
    for (unsigned i = 0; i < run->sends; i++)
        add_send(launch, &commands[i]);
    add_takes(launch, takes, run->takes);
    add_awaits(launch, takes + run->takes, run->awaits);
}

/* Items that are not there are 0: the software GPU takes any address in the
 * arguments for one that the kernel touches. */
static void clear_rest(const struct launch *launch)
{
    memset(launch->item + launch->count, 0,
           (launch->room - launch->count) * sizeof(*launch->item));
}

/* *lost: -EFAULT if a TAKE's memory is gone. */
static int start_launch(struct launch launch,
                        const struct mgds_command *commands,
                        const struct mgds_exchange_run *run,
                        struct mgds_kernel_handle *kernel, int *lost)
{
    fill_launch(&launch, commands, run);
    clear_rest(&launch);
    *lost = launch.lost;
    return mgds_kernel_launch(kernel, launch.to->stream, launch.blocks,
                              launch.threads, launch.head);
}

static int launch_few(const struct mgds_commands_to *to,
                      const struct mgds_command *commands,
                      const struct mgds_exchange_run *run, int *lost)
{
    struct mgds_few_exchange_args args;
    const struct launch launch = {.to = to,
                                  .head = &args.head,
                                  .item = args.item,
                                  .room = MGDS_EXCHANGE_FEW};

    return start_launch(launch, commands, run, to->gpu->exchange.few, lost);
}

static int launch_many(const struct mgds_commands_to *to,
                       const struct mgds_command *commands,
                       const struct mgds_exchange_run *run, int *lost)
{
    struct mgds_exchange_args args;
    const struct launch launch = {.to = to,
                                  .head = &args.head,
                                  .item = args.item,
                                  .room = MGDS_EXCHANGE_MOST};

    return start_launch(launch, commands, run, to->gpu->exchange.many, lost);
}

int mgds_exchange_queue(const struct mgds_commands_to *to,
                        struct mgds_command *commands,
                        const struct mgds_exchange_run *run)
{
    unsigned count = commands_of(run);
    int lost = 0;
    int rc = count_messages(run) <= MGDS_EXCHANGE_FEW
                 ? launch_few(to, commands, run, &lost)
                 : launch_many(to, commands, run, &lost);

    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < count; i++)
        commands[i].put = true;
    mgds_count(queue_launches);
    return lost;
}
