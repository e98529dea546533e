/* The programs of program.h by threads that really run: one for each caller,
 * each stream, each GPU and the wire, and the worker; they give the processor
 * away at random. What must be so at the end is what engine_order_test looks at
 * for every order; that each thread sees what the others have written is for
 * ThreadSanitizer to say. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/clock.h"
#include "tests/engine/coverage.h"
#include "tests/engine/loop_wire.h"
#include "tests/engine/world.h"
#include "tests/lib/sanitized.h"

enum { LAPS = 24, TRIES = 1000, LINGER = 300 };

/* Nothing takes so long, whatever else the machine does. */
#define PATIENCE_NS UINT64_C(30000000000)

struct actor {
    pthread_t thread;
    unsigned number;
    uint64_t state; /* of what is drawn */
};

static struct world world;
static struct actor callers[PROGRAM_CALLERS], queues[HAND_QUEUES], wire;
static bool stopped; /* atomic */

static unsigned draw(struct actor *actor, unsigned below)
{
    actor->state = actor->state * UINT64_C(6364136223846793005) +
                   UINT64_C(1442695040888963407);
    return (unsigned)(actor->state >> 33) % below;
}

static void pause_some(struct actor *actor)
{
    for (unsigned i = draw(actor, 4); i > 0; i--)
        sched_yield();
}

static bool is_stopped(void)
{
    return __atomic_load_n(&stopped, __ATOMIC_ACQUIRE);
}

/* Until its last call is made, or something went wrong. */
static void *call(void *arg)
{
    struct actor *actor = (struct actor *)arg;
    uint64_t end = mgds_clock_ns() + PATIENCE_NS;

    while (world_next(&world, actor->number) && !hand_wrong()) {
        if (!world_call(&world, actor->number))
            sched_yield();
        if (mgds_clock_ns() > end)
            hand_fault("a call of caller %u does not end", actor->number);
        pause_some(actor);
    }
    return NULL;
}

/* For so long that all else is over. */
static void stay_away(void)
{
    for (unsigned left = LINGER; left > 0 && !is_stopped(); left--)
        sched_yield();
}

/* Each fourth put: what it waits for may be over before it is on its stream. */
static void linger_ahead(struct mgds_gstream *stream)
{
    static unsigned puts; /* atomic */

    (void)stream;
    if (__atomic_fetch_add(&puts, 1, __ATOMIC_RELAXED) % 4 == 0)
        stay_away();
}

/* Now and then: who finds a queue empty must not take its last step for told.
 */
static void linger(unsigned queue)
{
    if (draw(&queues[queue], 4) == 0)
        stay_away();
}

static void *step(void *arg)
{
    struct actor *actor = (struct actor *)arg;

    while (!is_stopped()) {
        if (hand_help(actor->number).touch != HAND_NONE && draw(actor, 2) == 0)
            hand_step_help(actor->number);
        else if (hand_next(actor->number).touch != HAND_NONE)
            hand_step(actor->number);
        else
            sched_yield();
        pause_some(actor);
    }
    return NULL;
}

/* Any of those that are there, and any part of it. */
static void pass_some(struct actor *actor)
{
    struct wire_post *post = wire_first();
    unsigned parts, part;

    for (unsigned i = draw(actor, 3); post && i > 0 && wire_next(post); i--)
        post = wire_next(post);
    parts = post ? loop_parts(post) : 0;
    if (!parts)
        return;
    part = draw(actor, LOOP_LAND + 1);
    while (!(parts & 1u << part))
        part = (part + 1) % (LOOP_LAND + 1);
    loop_do(post, (enum loop_part)part);
}

static void *progress(void *arg)
{
    struct actor *actor = (struct actor *)arg;

    while (!is_stopped()) {
        pass_some(actor);
        if (draw(actor, 2))
            wire_round();
        wire_do_chores();
        sched_yield();
        pause_some(actor);
    }
    return NULL;
}

static void begin(struct actor *actor, unsigned number, uint64_t seed,
                  void *(*run)(void *arg))
{
    actor->number = number;
    actor->state = seed + number;
    if (pthread_create(&actor->thread, NULL, run, actor) != 0)
        abort();
}

static void stop(void)
{
    __atomic_store_n(&stopped, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        pthread_join(queues[i].thread, NULL);
    pthread_join(wire.thread, NULL);
}

static bool is_quiet(void)
{
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        if (hand_left(i) > 0)
            return false;
    return wire_first() == NULL;
}

static void drain(void)
{
    uint64_t end = mgds_clock_ns() + PATIENCE_NS;

    while (!is_quiet() && !hand_wrong() && mgds_clock_ns() < end)
        sched_yield();
    if (mgds_clock_ns() >= end)
        world_check_queues(&world, WORLD_ALL);
}

/* What the last step of a queue does is behind what takes it off. */
static bool are_told(void)
{
    for (unsigned i = 0; i < PROGRAM_OPS; i++) {
        const struct world_op *op = &world.op[i];

        if (!op->started || op->freed)
            continue;
        if (!__atomic_load_n(&op->told, __ATOMIC_ACQUIRE) ||
            !__atomic_load_n(&op->checked, __ATOMIC_ACQUIRE))
            return false;
    }
    return true;
}

static void await_end(void)
{
    uint64_t end = mgds_clock_ns() + PATIENCE_NS;

    do {
        drain();
        sched_yield();
    } while (!are_told() && !hand_wrong() && mgds_clock_ns() < end);
}

static bool run_once(const struct program *program, uint64_t seed)
{
    world_open(&world, program);
    __atomic_store_n(&stopped, false, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < HAND_QUEUES; i++)
        begin(&queues[i], i, seed, step);
    begin(&wire, HAND_QUEUES, seed, progress);
    for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
        begin(&callers[i], i, seed * 3, call);
    for (unsigned i = 0; i < PROGRAM_CALLERS; i++)
        pthread_join(callers[i].thread, NULL);
    await_end();
    if (!hand_wrong())
        world_check(&world, WORLD_ALL);
    if (!hand_wrong())
        world_close(&world, drain, stop);
    if (hand_wrong())
        fprintf(stderr, "%s, seed %llu: %s\n", program->name,
                (unsigned long long)seed, hand_wrong());
    return !hand_wrong();
}

/* No setting of its own, and nothing that comes at some event or time. */
static bool is_for_threads(const struct program *program)
{
    return program->trouble == PROGRAM_WELL ||
           program->trouble == PROGRAM_UNREADABLE ||
           program->trouble == PROGRAM_DEAF;
}

static void run_set(const struct program_set *set, unsigned laps,
                    const char *only)
{
    unsigned count = 0;

    for (unsigned i = 0; i < set->count; i++) {
        const struct program *program = &set->program[i];

        if (!is_for_threads(program) ||
            (only && strcmp(only, program->name) != 0))
            continue;
        for (unsigned lap = 0; lap < laps; lap++)
            if (!run_once(program, (uint64_t)TRIES * i + lap + 1))
                _Exit(1);
        count++;
    }
    printf("%u programs, %u times each\n", count, laps);
}

/* How often, and, if not all, the name of a program. */
int main(int argc, char **argv)
{
    unsigned laps = argc > 1 ? (unsigned)atoi(argv[1]) : mgds_test_laps(LAPS);
    const char *only = argc > 2 ? argv[2] : NULL;

    program_settings(&program_well.program[0]);
    hand_on_put = linger_ahead;
    hand_on_tell = linger;
    run_set(&program_well, laps, only);
    coverage_print(witness_visits);
    if (!only && !coverage_check(witness_visits, COVERAGE_THREADS))
        return 1;
    run_set(&program_troubled, laps, only);
    return 0;
}
