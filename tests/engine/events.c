/* Which events may come next, and what each of them does; see events.h. */
#include "tests/engine/events.h"

#include "shim/gds/msg/timeline.h"
#include "shim/gds/msg/timelines.h"
#include "shim/gds/msg/reap.h"
#include "shim/gds/msg/stand.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/msg/worker.h"
#include "tests/engine/loop_wire.h"
#include "tests/engine/outcome.h"
#include "tests/engine/virtual_time.h"

/* What a tick of time is that passes while something else could happen: a send
 * that is late, and a receive (work_kinds.def). */
#define TICK_NS 600000u

/* Where nothing else can: all that the engine does later, one after the other.
 */
static const uint64_t waits[] = {30000,   120000,   600000,
                                 2500000, 12000000, 110000000};
enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

/* Where waits end after a time: so many more, each of a part of it. */
#define PART_NS UINT64_C(400000000)
enum { PARTS = 14 };

/* After how many parts nobody has to pause any more. */
enum { PARTS_LEAST = 3, PARTS_MOST = 8 };

/* Of ROUND: nothing was there for it, but to look where streams stand. */
enum { ONLY_LOOKS = 1 };

unsigned events_attempts = 1;

/* The state of the run, for what the engine calls. */
static struct events_state *current;
static void (*late_work)(void);

enum program_trouble events_trouble(void)
{
    return current->world->program->trouble;
}

/* The worker is no thread here: stands in for shim/gds/msg/worker.c. */
void mgds_worker_init(void (*what)(void))
{
    late_work = what;
}

bool mgds_worker_call(void)
{
    if (current)
        current->worker_called = true;
    return true;
}

void mgds_worker_fini(void)
{
}

void events_open(struct events_state *state, struct world *world,
                 unsigned trouble_at, unsigned trouble_of)
{
    *state = (struct events_state){.world = world,
                                   .trouble_at = trouble_at,
                                   .trouble_of = trouble_of,
                                   .ticks = world->program->ticks,
                                   .gaps = world->program->gaps};
    current = state;
}

/* Enabled. */

static bool is_round_due(void)
{
    return mgds_timelines_due() || mgds_works_due() || mgds_reap_due();
}

/* For the wire's thread, or for the worker, whom that thread calls. */
static bool is_chore_due(void)
{
    return mgds_works_due_by(MGDS_WORK_BY_WIRE) ||
           mgds_works_due_by(MGDS_WORK_BY_WORKER);
}

struct list {
    struct event *out;
    unsigned n;
};

static void add(struct list *list, struct event event)
{
    if (list->n < EVENTS_MOST)
        list->out[list->n] = event;
    else
        hand_fault("more than %d events at once", EVENTS_MOST);
    list->n += list->n < EVENTS_MOST;
}

/* A caller. */
static bool is_away(const struct events_state *state, unsigned caller)
{
    return (state->stopped && caller > 0) ||
           (state->paused && state->pausing == caller);
}

static void list_calls(const struct events_state *state, struct list *list)
{
    static const char *const acts[] = {
        "end",  "start",  "run",   "wait",  "waitall", "test",
        "free", "cancel", "probe", "mrecv", "group",   "group_end"};
    const struct world *world = state->world;

    for (unsigned i = 0; i < PROGRAM_CALLERS; i++) {
        const struct program_call *call = world_next(world, i);

        if (!call || state->calling & 1u << i || is_away(state, i) ||
            state->putting & 1u << world_queue(world, i) ||
            world->attempts[i] >= events_attempts)
            continue;
        add(list, (struct event){.kind = EVENT_CALL,
                                 .who = i,
                                 .what = world->next[i],
                                 .phase = world->attempts[i],
                                 .name = acts[call->act],
                                 .act = call->act});
    }
}

static void list_posts(const struct events_state *state, struct list *list)
{
    struct wire_post *post = wire_first();

    if (state->paused && state->pausing == EVENTS_WIRE)
        return;
    for (; post; post = wire_next(post)) {
        unsigned parts = loop_parts(post);

        for (unsigned part = LOOP_HEAD; part <= LOOP_LAND; part++)
            if (parts & 1u << part)
                add(list, (struct event){.kind = EVENT_HEAD + part,
                                         .who = post->serial,
                                         .name = loop_name(post)});
    }
}

static void add_step(struct list *list, enum event_kind kind, unsigned queue,
                     struct hand_next next)
{
    if (next.touch != HAND_NONE)
        add(list, (struct event){.kind = kind,
                                 .who = queue,
                                 .what = next.serial,
                                 .phase = next.phase,
                                 .touch = next.touch,
                                 .name = next.name});
}

static void list_steps(struct list *list)
{
    for (unsigned i = 0; i < HAND_QUEUES; i++) {
        add_step(list, EVENT_STEP, i, hand_next(i));
        add_step(list, EVENT_HELP, i, hand_help(i));
    }
}

/* A HELLO does nothing but bring a connection. */
static void pass_hellos(void)
{
    struct wire_post *post = wire_first(), *next;

    for (; post; post = next) {
        next = wire_next(post);
        if (post->kind == MGDS_ENVELOPE_HELLO && loop_parts(post))
            loop_do(post, LOOP_HEAD);
    }
}

static bool is_timed(const struct events_state *state)
{
    return state->world->program->trouble == PROGRAM_TIMED;
}

static void list_round(const struct events_state *state, struct list *list)
{
    bool due = is_round_due();

    if (due || (is_timed(state) && mgds_stands_due()))
        add(list, (struct event){.kind = EVENT_ROUND,
                                 .what = due ? 0 : ONLY_LOOKS,
                                 .name = "round"});
}

unsigned events_befallen(const struct program *program)
{
    switch (program->trouble) {
    case PROGRAM_TIMED: /* of one's own wire nobody doubts */
        return program->pair ? EVENTS_PAUSERS : EVENTS_WIRE;
    case PROGRAM_DIES:
        return 1;
    default:
        return 2;
    }
}

static bool begins(const struct events_state *state)
{
    return program_may_lose(state->world->program) && !state->begun &&
           state->done == state->trouble_at;
}

static void list_trouble(const struct events_state *state, struct list *list)
{
    struct event event = {.kind = EVENT_LOSE, .name = "loses the other"};

    if (is_timed(state))
        event = (struct event){.kind = EVENT_PAUSE, .name = "pauses"};
    else if (state->world->program->trouble == PROGRAM_DIES)
        event = (struct event){.kind = EVENT_STOP, .name = "stop"};
    event.who = state->trouble_of;
    add(list, event);
}

static void list_losses(const struct events_state *state, struct list *list)
{
    bool any = (state->begun && !is_timed(state)) ||
               (is_timed(state) && wire_any_given_up());

    for (unsigned i = 0; any && i < state->world->comms; i++)
        if (!(state->lost & 1u << i) && !(state->stopped && i > 0))
            add(list, (struct event){.kind = EVENT_LOSE,
                                     .who = i,
                                     .name = "loses the other"});
}

/* A pause that is long enough may be longer. */
static void list_pause(const struct events_state *state, struct list *list)
{
    if (!state->paused || state->parts < PARTS_LEAST)
        return;
    if (state->parts < PARTS_MOST)
        add(list, (struct event){.kind = EVENT_TIME,
                                 .what = state->parts,
                                 .name = "time"});
    add(list, (struct event){.kind = EVENT_RESUME, .name = "resume"});
}

unsigned events_list(struct events_state *state, struct event out[EVENTS_MOST])
{
    struct list list = {out, 0};

    pass_hellos();
    loop_fail();
    if (begins(state)) {
        list_trouble(state, &list);
        return list.n;
    }
    list_calls(state, &list);
    list_round(state, &list);
    list_losses(state, &list);
    list_posts(state, &list);
    if (state->chores_due && is_chore_due())
        add(&list, (struct event){.kind = EVENT_CHORE, .name = "chores"});
    if (state->worker_called)
        add(&list, (struct event){.kind = EVENT_WORKER, .name = "worker"});
    list_steps(&list);
    if (list.n > 0 && state->ticks > 0)
        add(&list, (struct event){.kind = EVENT_TIME,
                                  .what = state->ticks,
                                  .name = "time"});
    list_pause(state, &list);
    return list.n;
}

static void pass_time(struct events_state *state, uint64_t ns)
{
    time_pass(ns);
    hand_beat();
    state->chores_due = true;
}

/* All is over at the first rank. */
static void go_on(struct events_state *state)
{
    world_check(state->world, 1);
    world_check_queues(state->world, 1);
    state->stopped = false;
    hand_freeze(0);
}

static void resume(struct events_state *state)
{
    state->paused = false;
    hand_freeze(0);
}

/* Begins at the latest when all is over; false: it has ended. */
static bool wait_for_trouble(struct events_state *state)
{
    if (program_may_lose(state->world->program) && !state->begun)
        state->trouble_at = state->done;
    else if (state->stopped)
        go_on(state);
    else if (state->paused)
        resume(state);
    else
        return false;
    state->quiet = 0;
    return true;
}

static uint64_t wait_of(const struct events_state *state)
{
    return state->quiet < WAITS ? waits[state->quiet] : PART_NS;
}

bool events_wait(struct events_state *state)
{
    if (state->quiet == WAITS + (is_timed(state) ? PARTS : 0))
        return wait_for_trouble(state);
    for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
        if (state->world->attempts[i] >= events_attempts)
            state->world->attempts[i] = events_attempts - 1;
    pass_time(state, wait_of(state));
    state->parts += state->quiet >= WAITS;
    state->quiet++;
    return true;
}

/* Done. */

static struct wire_post *post_of(unsigned serial)
{
    struct wire_post *post = wire_first();

    while (post && post->serial != serial)
        post = wire_next(post);
    return post;
}

static void pass_post(const struct event *event)
{
    struct wire_post *post = post_of(event->who);

    if (post)
        loop_do(post, (enum loop_part)(event->kind - EVENT_HEAD));
    else
        hand_fault("post %u is not there", event->who);
}

bool events_act_puts(enum program_act act)
{
    return act == PROGRAM_START || act == PROGRAM_RUN || act == PROGRAM_WAIT ||
           act == PROGRAM_WAIT2 || act == PROGRAM_GROUP_END;
}

/* Asking in vain brings nothing about. */
static void make_call(struct events_state *state, unsigned caller)
{
    struct world *world = state->world;
    unsigned queue = 0;
    bool made;

    if (events_act_puts(world_next(world, caller)->act))
        queue = 1u << world_queue(world, caller);
    state->calling |= 1u << caller;
    state->putting |= queue;
    made = world_call(world, caller);
    state->calling &= ~(1u << caller);
    state->putting &= ~queue;
    for (unsigned i = 0; made && i < PROGRAM_CALLERS; i++)
        world->attempts[i] = 0;
    if (made)
        state->quiet = 0;
}

/* Of one rank: its stream of that number. */
static void freeze(const struct events_state *state, unsigned rank)
{
    unsigned queues = 0;

    if (state->world->comms == 1) {
        hand_freeze(1u << rank);
        return;
    }
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        if (world_rank_of_queue(state->world, i) == rank)
            queues |= 1u << i;
    hand_freeze(queues);
}

static void stop_second(struct events_state *state)
{
    freeze(state, 1);
    state->begun = state->stopped = true;
}

static void pause_some(struct events_state *state, unsigned who)
{
    if (who == EVENTS_STREAMS_0 || who == EVENTS_STREAMS_1)
        freeze(state, who - EVENTS_STREAMS_0);
    state->pausing = who;
    state->parts = 0;
    state->begun = state->paused = true;
}

static void lose(struct events_state *state, unsigned rank)
{
    state->begun = true;
    state->lost |= 1u << rank;
    loop_lose(rank, state->world->comms > 1 ? !rank : rank);
}

static uint64_t tick_of(const struct events_state *state)
{
    if (is_timed(state))
        return PART_NS;
    return (uint64_t)TICK_NS * (state->world->program->slow ? 4 : 1);
}

static bool only_looks(const struct event *event)
{
    return event->kind == EVENT_ROUND && event->what == ONLY_LOOKS;
}

static bool may_be_in_vain(const struct event *event)
{
    return event->kind == EVENT_CHORE || event->kind == EVENT_WORKER ||
           only_looks(event);
}

static uint64_t hash_of(const struct event *event)
{
    uint64_t hash = event->kind;

    hash = outcome_mix(hash, event->who);
    hash = outcome_mix(hash, event->what);
    return outcome_mix(hash, event->phase);
}

void events_do(struct events_state *state, const struct event *event)
{
    struct world *world = state->world;

    state->done++;
    state->made += hash_of(event);
    if (event->kind != EVENT_CALL) {
        if (!may_be_in_vain(event))
            state->quiet = 0;
        for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
            if (event->kind != EVENT_CHORE && !only_looks(event) &&
                world->attempts[i] >= events_attempts)
                world->attempts[i] = events_attempts - 1;
    }
    state->chores_due = event->kind != EVENT_CHORE;
    switch (event->kind) {
    case EVENT_CALL:
        make_call(state, event->who);
        break;
    case EVENT_ROUND:
        wire_round();
        break;
    case EVENT_CHORE:
        wire_do_chores();
        break;
    case EVENT_WORKER:
        state->worker_called = false;
        late_work();
        break;
    case EVENT_STEP:
        hand_step(event->who);
        break;
    case EVENT_HELP:
        hand_step_help(event->who);
        break;
    case EVENT_TIME:
        state->ticks -= state->ticks > 0;
        state->parts++;
        pass_time(state, tick_of(state));
        break;
    case EVENT_STOP:
        stop_second(state);
        break;
    case EVENT_PAUSE:
        pause_some(state, event->who);
        break;
    case EVENT_RESUME:
        resume(state);
        break;
    case EVENT_LOSE:
        lose(state, event->who);
        break;
    case EVENT_GO_ON:
        break;
    default:
        pass_post(event);
        break;
    }
}

void events_end(struct events_state *state)
{
    for (unsigned i = 0; is_timed(state) && i < state->world->comms; i++)
        if (!(state->lost & 1u << i))
            lose(state, i);
}

/* No new calls: the program is over. */
void events_drain(void)
{
    struct event list[EVENTS_MOST];
    unsigned i;

    do {
        unsigned n = events_list(current, list);

        for (i = 0; i < n; i++)
            if (list[i].kind != EVENT_CALL && list[i].kind != EVENT_TIME)
                break;
        if (i < n)
            events_do(current, &list[i]);
        else
            i = EVENTS_MOST;
    } while (i < EVENTS_MOST);
    pass_time(current, TICK_NS);
}
