/* Commands of the GPU that is run by hand, step by step: what the kernels do in
 * that order (device/kernels/); see hand_gpu.h. */
#include <stdlib.h>
#include <string.h>

#include "tests/engine/hand_state.h"

/* Of a TAKE. */
enum {
    TAKE_BEGINS,  /* looks at its record, and says that it is empty */
    TAKE_STANDS,  /* waits for its record */
    TAKE_KNOWS,   /* claims the message, if others may copy it */
    TAKE_AWAITS,  /* waits for the message, and copies it */
    TAKE_FOLLOWS, /* waits for who has claimed it */
    TAKE_COPIED   /* says that it is over */
};

static uint64_t traces[HAND_QUEUES]; /* each of who steps the queue */
static unsigned frozen;              /* queues */
static unsigned given_up;            /* atomic */

void hand_run_open(void)
{
    frozen = 0;
    memset(traces, 0, sizeof(traces));
}

void hand_freeze(unsigned queues)
{
    frozen = queues;
}

unsigned hand_given_up(void)
{
    return __atomic_load_n(&given_up, __ATOMIC_RELAXED);
}

/* What is given up: all, or what has a value. */
static bool is_quit(const struct hand_command *command, uint64_t word,
                    uint64_t serial)
{
    uint64_t at = hand_acquire(&command->stream->desk->abort);

    while (at > MGDS_ABORT_ALL) {
        const struct mgds_quit *quit = (const struct mgds_quit *)(uintptr_t)at;

        if (serial && hand_acquire(&quit->serial) == serial &&
            hand_acquire(&quit->at) == word)
            return true;
        at = hand_acquire(&quit->next);
    }
    return at == MGDS_ABORT_ALL;
}

static void tell_gone(struct mgds_quit *quit, uint64_t serial)
{
    __atomic_fetch_add(&given_up, 1, __ATOMIC_RELAXED);
    hand_release(&quit->gone, serial);
}

static void quit(const struct hand_command *command, uint64_t word,
                 uint64_t serial)
{
    uint64_t at = hand_acquire(&command->stream->desk->abort);

    while (at > MGDS_ABORT_ALL) {
        struct mgds_quit *quit = (struct mgds_quit *)(uintptr_t)at;

        if (serial && hand_acquire(&quit->serial) == serial &&
            hand_acquire(&quit->at) == word)
            tell_gone(quit, serial);
        at = hand_acquire(&quit->next);
    }
}

/* TAKE. */

static bool is_long(const struct hand_command *command)
{
    return command->step.claim || command->step.source;
}

static bool is_pull(const struct hand_command *command)
{
    return command->form >= MGDS_TAKE_PULL;
}

/* Others may copy its message. */
static bool is_claimed(const struct hand_command *command)
{
    return command->step.claim && (is_pull(command) || command->step.delivers);
}

/* False: the record is not complete. */
static bool glance(struct hand_command *command)
{
    const struct mgds_command *step = &command->step;
    const uint64_t *record = step->record;

    if (!record) {
        command->serial_found = step->serial;
        command->from = (uintptr_t)step->units;
        command->length = step->length;
        command->form = step->source ? MGDS_TAKE_PULL : MGDS_TAKE_UNITS;
        command->source = step->source;
        command->done_word = step->done;
        return true;
    }
    command->form = hand_acquire(&record[MGDS_RECORD_FORM]) - 1;
    command->length = hand_acquire(&record[MGDS_RECORD_LENGTH]) - 1;
    command->from = hand_acquire(&record[MGDS_RECORD_ADDRESS]);
    command->serial_found = hand_acquire(&record[MGDS_RECORD_SERIAL]);
    command->source = hand_acquire(&record[MGDS_RECORD_SOURCE]);
    command->done_word = hand_acquire(&record[MGDS_RECORD_DONE]);
    if (command->form > MGDS_TAKE_QUIET || command->length == UINT64_MAX ||
        !command->from || !command->serial_found)
        return false;
    if (!is_pull(command))
        return true;
    if (!is_long(command))
        hand_fault("a TAKE without a claim found a record of a long message");
    return command->source && command->done_word;
}

static uint64_t units_of(uint64_t bytes)
{
    return bytes ? (bytes + 7) / 8 : 1;
}

static bool are_there(const struct hand_command *command)
{
    const struct mgds_unit *unit =
        (const struct mgds_unit *)(uintptr_t)command->from;
    uint64_t count = is_pull(command) ? 1 : units_of(command->length);

    if (command->form == MGDS_TAKE_BYTES)
        return true;
    for (uint64_t i = 0; i < count; i++)
        if (hand_acquire(&unit[i].word) != command->serial_found)
            return false;
    return true;
}

static size_t fitting(const struct hand_command *command)
{
    return command->length < command->step.bytes ? command->length
                                                 : command->step.bytes;
}

void hand_copy_units(char *to, uint64_t from, size_t bytes)
{
    const struct mgds_unit *unit = (const struct mgds_unit *)(uintptr_t)from;

    hand_count_copy(to, bytes);
    for (size_t i = 0; 8 * i < bytes; i++)
        memcpy(to + 8 * i, &unit[i].data,
               bytes - 8 * i < 8 ? bytes - 8 * i : 8);
}

static void take_copy(const struct hand_command *command)
{
    if (command->form == MGDS_TAKE_UNITS) {
        hand_copy_units(command->step.user, command->from, fitting(command));
    } else if (command->form == MGDS_TAKE_BYTES) {
        hand_copy(command->step.user, (const void *)(uintptr_t)command->from,
                  fitting(command));
    } else {
        hand_copy(command->step.user, (const void *)(uintptr_t)command->source,
                  fitting(command));
        if (command->done_word)
            hand_release((uint64_t *)(uintptr_t)command->done_word,
                         command->serial_found);
    }
}

/* The next phase behind the one that was made; TAKE_COPIED + 1: none. */
enum { TAKE_ENDS = TAKE_COPIED + 1 };

static unsigned take_begin(struct hand_command *command)
{
    if (glance(command))
        return TAKE_KNOWS;
    if (command->came)
        hand_release(command->came, command->came_value);
    return TAKE_STANDS;
}

static unsigned take_know(struct hand_command *command)
{
    struct mgds_claim *claim = command->step.claim;

    if (command->serial_found == MGDS_TAKE_NONE)
        return TAKE_ENDS;
    if (is_claimed(command) &&
        __atomic_exchange_n(&claim->owner, command->step.gen,
                            __ATOMIC_ACQ_REL) == command->step.gen)
        return TAKE_FOLLOWS;
    return TAKE_AWAITS;
}

static unsigned take_await(struct hand_command *command)
{
    if (!are_there(command)) {
        quit(command, command->from, command->serial_found);
        return TAKE_ENDS;
    }
    take_copy(command);
    return is_claimed(command) ? TAKE_COPIED : TAKE_ENDS;
}

static unsigned take_step(struct hand_command *command)
{
    switch (command->phase) {
    case TAKE_BEGINS:
        return take_begin(command);
    case TAKE_STANDS:
        return glance(command) ? TAKE_KNOWS : TAKE_ENDS;
    case TAKE_KNOWS:
        return take_know(command);
    case TAKE_AWAITS:
        return take_await(command);
    case TAKE_COPIED:
        hand_raise(&command->step.claim->over, command->step.gen);
        return TAKE_ENDS;
    default:
        return TAKE_ENDS;
    }
}

/* Of a step that cannot be made yet. */
static enum hand_touch unless_quit(const struct hand_command *command,
                                   uint64_t word, uint64_t serial)
{
    return is_quit(command, word, serial) ? HAND_GIVES_UP : HAND_NONE;
}

static enum hand_touch take_next(struct hand_command *command)
{
    switch (command->phase) {
    case TAKE_BEGINS:
        return HAND_LOOKS;
    case TAKE_STANDS:
        return glance(command) ? HAND_LOOKS : unless_quit(command, 0, 0);
    case TAKE_AWAITS:
        return are_there(command)
                   ? HAND_MOVES
                   : unless_quit(command, command->from, command->serial_found);
    case TAKE_FOLLOWS:
        return hand_acquire(&command->step.claim->over) >= command->step.gen
                   ? HAND_MOVES
                   : unless_quit(command, 0, 0);
    default:
        return HAND_MOVES;
    }
}

/* Others, which are made in one step. */

static void push(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;
    struct mgds_unit *unit = (struct mgds_unit *)step->units;

    for (uint64_t i = 0; i < units_of(step->bytes); i++) {
        size_t left = step->bytes - 8 * i;
        uint64_t data = 0;

        if (step->bytes > 0)
            memcpy(&data, step->user + 8 * i, left < 8 ? left : 8);
        unit[i].data = data;
        hand_release(&unit[i].word, step->serial);
    }
}

static void unpack(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;
    size_t bytes = step->bounce->bytes;
    size_t most = step->word ? hand_acquire(step->word) : bytes;

    if (most > 0)
        hand_unpack(step->bounce, most < bytes ? most : bytes);
}

/* Only that all was read is known behind a TAKE, unless it is loud. */
static void flag(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;

    if (command->after_take)
        hand_release(&command->stream->cell.passed, step->value);
    if (step->asked)
        hand_release(&command->stream->came, step->value);
    else if (!step->quiet && !command->hushed)
        hand_release(step->word, step->value);
}

static void run_step(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;

    switch (step->kind) {
    case MGDS_COMMAND_PACK:
        hand_pack(step->bounce);
        break;
    case MGDS_COMMAND_UNPACK:
        unpack(command);
        break;
    case MGDS_COMMAND_FLAG:
        flag(command);
        break;
    case MGDS_COMMAND_PUSH:
        push(command);
        break;
    case MGDS_COMMAND_POST:
        hand_release((uint64_t *)step->units, step->serial);
        break;
    case MGDS_COMMAND_AWAIT:
        if (hand_acquire(step->word) != step->value)
            quit(command, (uintptr_t)step->word, step->value);
        break;
    default:
        break;
    }
}

static void run(const struct hand_command *command)
{
    switch (command->kind) {
    case HAND_STEP:
        run_step(command);
        break;
    case HAND_TELL:
        hand_release(command->to, hand_acquire(&command->stream->cell.passed));
        hand_release(command->done, command->number);
        break;
    case HAND_UP:
        hand_unpack(command->step.bounce, command->bytes);
        __atomic_fetch_sub(&command->step.bounce->under_way, 1,
                           __ATOMIC_RELEASE);
        hand_bounce_put(command->step.bounce);
        break;
    case HAND_CALL:
        command->run(command->arg);
        break;
    }
}

static bool is_take(const struct hand_command *command)
{
    return command->kind == HAND_STEP &&
           command->step.kind == MGDS_COMMAND_TAKE;
}

static enum hand_touch await_next(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;

    return hand_acquire(step->word) == step->value
               ? HAND_MOVES
               : unless_quit(command, (uintptr_t)step->word, step->value);
}

static enum hand_touch wait_next(const struct hand_command *command)
{
    const struct mgds_command *step = &command->step;

    return (int64_t)(hand_acquire(step->word) - step->value) >= 0
               ? HAND_PASSES
               : unless_quit(command, 0, 0);
}

static enum hand_touch step_next(struct hand_command *command)
{
    switch (command->step.kind) {
    case MGDS_COMMAND_TAKE:
        return take_next(command);
    case MGDS_COMMAND_AWAIT:
        return await_next(command);
    case MGDS_COMMAND_WAIT:
        return wait_next(command);
    case MGDS_COMMAND_PACK:
    case MGDS_COMMAND_UNPACK:
        return HAND_COPIES;
    case MGDS_COMMAND_FLAG:
        return command->step.quiet || command->hushed ? HAND_MOVES : HAND_TELLS;
    default:
        return HAND_MOVES;
    }
}

struct hand_command *hand_first(unsigned queue)
{
    struct hand_queue *at = &hand_queues[queue];
    struct hand_command *command = NULL;

    pthread_mutex_lock(&at->lock);
    if (at->head != at->tail)
        command = &at->command[at->head % HAND_DEEP];
    pthread_mutex_unlock(&at->lock);
    return command;
}

static bool helps(unsigned queue)
{
    return queue < HAND_STREAMS && hand_streams[queue] &&
           hand_streams[queue]->helper.phase != 0;
}

bool hand_stands(const struct hand_command *command)
{
    if (command->kind != HAND_STEP)
        return false;
    return command->step.kind == MGDS_COMMAND_WAIT ||
           command->step.kind == MGDS_COMMAND_AWAIT ||
           (is_take(command) && command->phase != TAKE_BEGINS);
}

static bool any_stands(void)
{
    for (unsigned i = 0; i < HAND_STREAMS; i++) {
        const struct hand_command *command = hand_first(i);

        if (command && hand_stands(command))
            return true;
    }
    return false;
}

bool hand_is_kept(unsigned queue)
{
    return frozen & 1u << queue ||
           (hand_troubles.stalled && queue >= HAND_STREAMS && any_stands());
}

static const char *name_of(const struct hand_command *command)
{
    static const char *const steps[] = {"PACK", "UNPACK", "FLAG", "WAIT",
                                        "PUSH", "TAKE",   "POST", "AWAIT"};
    static const char *const takes[] = {"TAKE looks",   "TAKE finds",
                                        "TAKE claims",  "TAKE copies",
                                        "TAKE follows", "TAKE is over"};

    if (command->kind == HAND_TELL)
        return "tell";
    if (command->kind == HAND_UP)
        return "copy up";
    if (command->kind == HAND_CALL)
        return "program";
    return is_take(command) ? takes[command->phase] : steps[command->step.kind];
}

struct hand_next hand_next(unsigned queue)
{
    struct hand_command *command = hand_first(queue);
    struct hand_next next = {.touch = HAND_NONE};

    /* the launch is not through before the thread that helps is */
    if (!command || helps(queue) || hand_is_kept(queue))
        return next;
    next.touch = command->kind == HAND_STEP   ? step_next(command)
                 : command->kind == HAND_CALL ? HAND_COPIES
                                              : HAND_TELLS;
    next.serial = command->serial;
    next.phase = command->phase;
    next.name = name_of(command);
    return next;
}

/* Off the queue: what its last step tells others of may be used again then. */
static struct hand_command take_off(unsigned queue)
{
    struct hand_queue *at = &hand_queues[queue];
    struct hand_command command;
    struct hand_command *next = NULL;

    pthread_mutex_lock(&at->lock);
    command = at->command[at->head % HAND_DEEP];
    at->head++;
    if (at->head != at->tail)
        next = &at->command[at->head % HAND_DEEP];
    if (next && is_take(&command) && next->after_take)
        next->hushed = command.form == MGDS_TAKE_QUIET;
    pthread_mutex_unlock(&at->lock);
    return command;
}

void (*hand_on_tell)(unsigned queue);

/* Its last store may be answered before the thread that made it goes on: by a
 * host call, or by a receiver that gives the place in its ring back. */
static bool tells(const struct hand_command *command)
{
    return command->kind != HAND_STEP ||
           command->step.kind == MGDS_COMMAND_FLAG ||
           command->step.kind == MGDS_COMMAND_PUSH ||
           command->step.kind == MGDS_COMMAND_POST;
}

uint64_t hand_trace(unsigned queue)
{
    return traces[queue];
}

void hand_follow(unsigned queue, unsigned what)
{
    traces[queue] = (traces[queue] + what + 1) * UINT64_C(0x2545f4914f6cdd1d);
}

void hand_step(unsigned queue)
{
    struct hand_command *first = hand_first(queue), command;

    hand_follow(queue, first->kind);
    hand_follow(queue, first->step.kind);
    if (is_take(first)) {
        first->phase = take_step(first);
        hand_follow(queue, first->phase);
        if (first->phase == TAKE_ENDS)
            take_off(queue);
    } else if (tells(first)) {
        command = take_off(queue);
        if (hand_on_tell)
            hand_on_tell(queue);
        run(&command);
    } else {
        run(first);
        take_off(queue);
    }
}
