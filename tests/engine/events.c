/* Which events may come next, and what each of them does; see events.h. */
#include "tests/engine/events.h"

#include <stdio.h>
#include <string.h>

#include "shim/gds/domain/credit.h"
#include "shim/gds/domain/line.h"
#include "shim/gds/domain/lines.h"
#include "shim/gds/domain/quit.h"
#include "shim/gds/domain/reap.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/msg/worker.h"
#include "tests/engine/loop_wire.h"
#include "tests/engine/virtual_time.h"

/* What a tick of time is that passes while something else could happen: a send
 * that is late, and a receive (work_kinds.def). */
#define TICK_NS 600000u

/* Where nothing else can: all that the engine does later, one after the other.
 */
static const uint64_t waits[] = {30000,   120000,   600000,
                                 2500000, 12000000, 110000000};
enum { WAITS = sizeof(waits) / sizeof(waits[0]) };

unsigned events_attempts = 1;

/* The state of the run, for what the engine calls. */
static struct events_state *current;
static void (*late_work)(void);

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

void events_open(struct events_state *state, struct world *world)
{
    *state = (struct events_state){.world = world,
                                   .ticks = world->program->ticks,
                                   .gaps = world->program->gaps};
    current = state;
}

/* Enabled. */

static bool is_round_due(void)
{
    return mgds_lines_due() || mgds_credits_due() || mgds_works_due() ||
           mgds_quitting_due() || mgds_lines_doomed() || mgds_reap_due();
}

static bool is_any(const struct mgds_work *work, const void *arg)
{
    (void)work;
    (void)arg;
    return true;
}

/* Of the kinds that are no round's. */
static bool is_any_work(void)
{
    enum needs { LOCK, CPU, DRIVER };
    static const enum needs needs[] = {
#define MGDS_WORK(name, needs_what, host, late, again) needs_what,
#include "shim/gds/msg/work_kinds.def"
    };
    unsigned count = 0;

    mgds_engine_enter();
    for (unsigned kind = 0; kind < MGDS_WORK_KINDS; kind++)
        if (needs[kind] != LOCK)
            count += mgds_works_count((enum mgds_work_kind)kind, is_any, NULL);
    mgds_engine_leave();
    return count > 0;
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

static const char *const acts[] = {"end",     "start", "run",  "wait",
                                   "waitall", "test",  "free", "cancel",
                                   "probe",   "mrecv"};

static void list_calls(const struct events_state *state, struct list *list)
{
    const struct world *world = state->world;

    for (unsigned i = 0; i < PROGRAM_CALLERS; i++) {
        const struct program_call *call = world_next(world, i);

        if (!call || state->calling & 1u << i ||
            state->putting & 1u << world_queue(world, i) ||
            world->attempts[i] >= events_attempts)
            continue;
        add(list, (struct event){.kind = EVENT_CALL,
                                 .who = i,
                                 .what = world->next[i],
                                 .phase = world->attempts[i],
                                 .name = acts[call->act]});
    }
}

static void list_posts(struct list *list)
{
    struct wire_post *post = wire_first();

    for (; post; post = wire_next(post)) {
        unsigned parts = loop_parts(post);

        for (unsigned part = LOOP_HEAD; part <= LOOP_LAND; part++)
            if (parts & 1u << part)
                add(list, (struct event){.kind = EVENT_HEAD + part,
                                         .who = post->serial,
                                         .name = loop_name(post)});
    }
}

static void list_steps(struct list *list)
{
    for (unsigned i = 0; i < HAND_QUEUES; i++) {
        struct hand_next next = hand_next(i), help = hand_help(i);

        if (next.touch != HAND_NONE)
            add(list, (struct event){EVENT_STEP, i, next.serial, next.phase,
                                     next.touch, next.name});
        if (help.touch != HAND_NONE)
            add(list, (struct event){EVENT_HELP, i, help.serial, help.phase,
                                     help.touch, help.name});
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

unsigned events_list(struct events_state *state, struct event out[EVENTS_MOST])
{
    struct list list = {out, 0};

    pass_hellos();
    list_calls(state, &list);
    if (is_round_due())
        add(&list, (struct event){.kind = EVENT_ROUND, .name = "round"});
    list_posts(&list);
    if (state->chores_due && is_any_work())
        add(&list, (struct event){.kind = EVENT_CHORE, .name = "chores"});
    if (state->worker_called)
        add(&list, (struct event){.kind = EVENT_WORKER, .name = "worker"});
    list_steps(&list);
    if (list.n > 0 && state->ticks > 0)
        add(&list, (struct event){.kind = EVENT_TIME,
                                  .what = state->ticks,
                                  .name = "time"});
    return list.n;
}

static void pass_time(struct events_state *state, uint64_t ns)
{
    time_pass(ns);
    hand_beat();
    state->chores_due = true;
}

bool events_wait(struct events_state *state)
{
    if (state->quiet == WAITS)
        return false;
    for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
        if (state->world->attempts[i] >= events_attempts)
            state->world->attempts[i] = events_attempts - 1;
    pass_time(state, waits[state->quiet++]);
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

static bool puts_steps(const struct program_call *call)
{
    return call->act == PROGRAM_START || call->act == PROGRAM_RUN ||
           call->act == PROGRAM_WAIT || call->act == PROGRAM_WAIT2;
}

/* Asking in vain brings nothing about. */
static void make_call(struct events_state *state, unsigned caller)
{
    struct world *world = state->world;
    unsigned queue = 0;
    bool made;

    if (puts_steps(world_next(world, caller)))
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

void events_do(struct events_state *state, const struct event *event)
{
    struct world *world = state->world;

    if (event->kind != EVENT_CALL) {
        state->quiet = event->kind == EVENT_CHORE || event->kind == EVENT_WORKER
                           ? state->quiet
                           : 0;
        for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
            if (event->kind != EVENT_CHORE &&
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
        state->ticks--;
        pass_time(state, (uint64_t)TICK_NS * (world->program->slow ? 4 : 1));
        break;
    case EVENT_GO_ON:
        break;
    default:
        pass_post(event);
        break;
    }
}

/* Independence. */

static bool is_of_queue(const struct event *event)
{
    return event->kind == EVENT_STEP || event->kind == EVENT_HELP;
}

static bool moves(const struct event *event)
{
    return event->touch == HAND_MOVES || event->touch == HAND_LOOKS ||
           event->kind == EVENT_HELP;
}

static bool is_start(const struct event *call)
{
    return call->kind == EVENT_CALL && (call->name == acts[PROGRAM_START] ||
                                        call->name == acts[PROGRAM_RUN] ||
                                        call->name == acts[PROGRAM_WAIT] ||
                                        call->name == acts[PROGRAM_WAIT2]);
}

/* What a stream does, and an event of the engine. Words that the stream has
 * stored are read by rounds, chores and calls that ask, not by the handlers of
 * the wire nor by calls that start something; a round, a call or a handler may
 * fill a record. Bodies are in memory that PACK and UNPACK copy. */
static bool are_apart(const struct event *step, const struct event *other)
{
    bool body = other->kind == EVENT_READ || other->kind == EVENT_LAND;

    if (other->kind == EVENT_GO_ON)
        return false;
    if (other->kind == EVENT_TIME)
        return true;
    switch (step->touch) {
    case HAND_PASSES:
    case HAND_MOVES:
        return !body;
    case HAND_COPIES:
        return !body && (other->kind != EVENT_CALL || is_start(other));
    case HAND_TELLS:
        return other->kind == EVENT_HEAD || body || is_start(other);
    default:
        return false;
    }
}

bool events_are_independent(const struct event *a, const struct event *b)
{
    bool a_steps = is_of_queue(a), b_steps = is_of_queue(b);

    if (a_steps && b_steps)
        return a->who != b->who && a->who < HAND_STREAMS &&
               b->who < HAND_STREAMS && !(moves(a) && moves(b));
    if (a_steps || b_steps)
        return a_steps ? are_apart(a, b) : are_apart(b, a);
    return false;
}

bool events_are_same(const struct event *a, const struct event *b)
{
    return a->kind == b->kind && a->who == b->who && a->what == b->what &&
           a->phase == b->phase;
}

void events_text(const struct event *event, char *out, unsigned bytes)
{
    static const char *const parts[] = {"", " is read", " lands"};

    switch (event->kind) {
    case EVENT_CALL:
        snprintf(out, bytes, "caller %u: %s%s", event->who, event->name,
                 event->phase > 0 ? " again" : "");
        break;
    case EVENT_HEAD:
    case EVENT_READ:
    case EVENT_LAND:
        snprintf(out, bytes, "%s %u%s", event->name, event->who,
                 parts[event->kind - EVENT_HEAD]);
        break;
    case EVENT_STEP:
    case EVENT_HELP:
        snprintf(out, bytes, "%s %u: %s",
                 event->who < HAND_STREAMS ? "stream" : "gpu",
                 event->who < HAND_STREAMS ? event->who
                                           : event->who - HAND_STREAMS,
                 event->name);
        break;
    default:
        snprintf(out, bytes, "%s", event->name);
        break;
    }
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
