/* Orders of events; see explore.h. */
#include "tests/engine/explore.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/engine/events.h"
#include "tests/engine/virtual_time.h"
#include "tests/unit/fake_wire.h"

enum { DEEP = 1000, NAME = 60 };

/* Between two runs: so that what the engine remembers of time is over. */
#define BETWEEN_NS UINT64_C(10000000000)

/* A state that was come to, and what may happen there. */
struct node {
    struct event event[EVENTS_MOST];
    unsigned count, chosen;
    uint32_t tried, asleep; /* a bit for each event */
};

static struct run {
    const struct explore_rule *rule;
    struct node node[DEEP];
    unsigned depth; /* of the run that is made */
    unsigned known; /* nodes whose choice is the last run's, or a new one's */
    bool drawing;
    bool given_up; /* a peer, by the engine */
    bool cut;      /* all that may happen was seen to lead nowhere new */
    const char *replay;
    unsigned trouble_at, trouble_of; /* as events.h */
    bool came;      /* some run had so many events ahead of its trouble */
    uint64_t state; /* of what is drawn */
    struct events_state events;
} run;

static uint64_t draw(void)
{
    run.state = run.state * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407);
    return run.state >> 33;
}

/* What sleeps where the choice of the node leads to. */
static uint32_t asleep_behind(const struct node *from, const struct node *to)
{
    const struct event *made = &from->event[from->chosen];
    uint32_t before = from->asleep | from->tried, asleep = 0;

    if (run.rule->plain)
        return 0;
    for (unsigned i = 0; i < from->count; i++) {
        if (!(before & 1u << i) || i == from->chosen ||
            !events_are_independent(&from->event[i], made))
            continue;
        for (unsigned k = 0; k < to->count; k++)
            if (events_are_same(&from->event[i], &to->event[k]))
                asleep |= 1u << k;
    }
    return asleep;
}

/* The first that is neither tried nor asleep; count: none. */
static unsigned first_left(const struct node *node)
{
    unsigned i = 0;

    while (i < node->count && (node->tried | node->asleep) & 1u << i)
        i++;
    return i;
}

static unsigned choose_new(struct node *node)
{
    if (run.replay) {
        char *end;
        unsigned choice = (unsigned)strtoul(run.replay, &end, 10);

        run.replay = *end == ',' ? end + 1 : end;
        return choice < node->count ? choice : 0;
    }
    if (run.drawing)
        return (unsigned)(draw() % node->count);
    node->tried = 0;
    node->asleep = run.depth > 0 ? asleep_behind(node - 1, node) : 0;
    return first_left(node);
}

/* The event that happens next. A run that is cut has seen all that could come
 * of it, and is brought to its end in any order. */
static const struct event *choose(const struct event *list, unsigned count)
{
    struct node *node = &run.node[run.depth];

    if (run.cut)
        return list;

    if (run.depth + 1 == DEEP) {
        hand_fault("the run has more than %d events", DEEP);
        run.cut = true;
        return list;
    }
    if (run.depth >= run.known) {
        memcpy(node->event, list, count * sizeof(*list));
        node->count = count;
        node->chosen = choose_new(node);
        if (node->chosen == count) {
            run.cut = true;
            return list;
        }
        run.known = run.depth + 1;
    } else if (node->count != count ||
               !events_are_same(&node->event[node->chosen],
                                &list[node->chosen])) {
        hand_fault("the run is not as it was: what may happen at event %u "
                   "differs",
                   run.depth);
        run.cut = true;
        return list;
    }
    run.depth++;
    return &node->event[node->chosen];
}

/* In the middle of a call. */

/* Who is to be refused only by its receiver waits until that knows its memory.
 */
static bool may_go_on(void)
{
    return run.events.world->program->trouble != PROGRAM_FORBIDDEN;
}

static bool is_well(void)
{
    return run.events.world->program->trouble == PROGRAM_WELL;
}

/* Where something goes wrong it does so to messages that their receivers copy,
 * in most orders: a call that waits for that gives up last. */
static bool happens(void)
{
    static const struct event go_on = {.kind = EVENT_GO_ON, .name = "go on"};
    struct event list[EVENTS_MOST];
    unsigned count = events_list(&run.events, list);
    const struct event *event;

    if (count == EVENTS_MOST)
        count--;
    if (count > 0 && !may_go_on()) {
        events_do(&run.events, choose(list, count));
        return true;
    }
    if (is_well()) {
        memmove(&list[1], list, count * sizeof(*list));
        list[0] = go_on;
    } else {
        list[count] = go_on;
    }
    event = choose(list, count + 1);
    if (event->kind == EVENT_GO_ON)
        return false;
    events_do(&run.events, event);
    return true;
}

/* The call is made, but its commands are not on the stream yet. */
static void on_put(struct mgds_gstream *stream)
{
    (void)stream;
    while (run.events.gaps > 0 && run.events.putting) {
        run.events.gaps--;
        if (!happens())
            return;
    }
}

/* A call waits for others: for a place in a ring, for memory. */
static void on_progress(void)
{
    if (!run.events.putting)
        return;
    while (happens())
        ;
    time_pass(BETWEEN_NS / 20000);
}

static void make_run(void)
{
    struct event list[EVENTS_MOST];

    do {
        unsigned count;

        while ((count = events_list(&run.events, list)) > 0) {
            const struct event *event = choose(list, count);

            if (hand_wrong())
                return;
            events_do(&run.events, event);
        }
    } while (events_wait(&run.events));
}

static void stop(void)
{
}

/* True if it went wrong. */
static bool run_once(const struct program *program)
{
    struct world world;
    bool wrong;

    run.depth = 0;
    run.cut = false;
    run.replay = run.rule->replay;
    time_pass(BETWEEN_NS);
    time_reseed();
    world_open(&world, program);
    events_open(&run.events, &world, run.trouble_at, run.trouble_of);
    hand_on_put = on_put;
    wire_on_progress = on_progress;
    wire_round(); /* what is left of the last run */
    make_run();
    run.given_up = wire_any_given_up();
    run.came |= run.events.trouble_at == run.trouble_at;
    world_check(&world, WORLD_ALL);
    world_check_queues(&world, WORLD_ALL);
    wrong = hand_wrong() != NULL;
    if (!wrong && !run.cut && run.rule->outcomes)
        outcomes_add(run.rule->outcomes, outcome_of(&world, run.events.made));
    if (!wrong)
        events_end(&run.events);
    if (!wrong)
        world_close(&world, events_drain, stop);
    return hand_wrong() != NULL;
}

/* The last choice that has another one; false: none has. */
static bool back(void)
{
    while (run.depth > 0) {
        struct node *node = &run.node[run.depth - 1];

        node->tried |= 1u << node->chosen;
        node->chosen = first_left(node);
        if (node->chosen < node->count) {
            run.known = run.depth;
            return true;
        }
        run.depth--;
    }
    return false;
}

static void print(const struct program *program)
{
    fprintf(stderr, "%s: %s\nin this order:\n", program->name, hand_wrong());
    for (unsigned i = 0; i < run.depth; i++) {
        char text[NAME];

        events_text(&run.node[i].event[run.node[i].chosen], text, sizeof(text));
        fprintf(stderr, "  %3u  %s\n", i, text);
    }
    fprintf(stderr, "again by: --program %s --at %u --of %u --replay ",
            program->name, run.trouble_at, run.trouble_of);
    for (unsigned i = 0; i < run.depth; i++)
        fprintf(stderr, "%s%u", i ? "," : "", run.node[i].chosen);
    fprintf(stderr, "\n");
}

static bool count_run(const struct program *program,
                      struct explore_result *result)
{
    result->failed = run_once(program);
    if (result->failed) {
        print(program);
        return false;
    }
    result->runs += !run.cut;
    result->cut += run.cut;
    result->given_up += run.given_up;
    if (run.depth > result->deep)
        result->deep = run.depth;
    return true;
}

/* The program's trouble begins where it does. False: one order went wrong, or
 * was all that was asked for. */
static bool explore_from(const struct program *program, unsigned most,
                         unsigned drawn, struct explore_result *result)
{
    unsigned left = most;
    bool more = true;

    run.known = 0;
    run.drawing = false;
    while (more && (most == 0 || left-- > 0)) {
        if (!count_run(program, result) || run.rule->replay)
            return false;
        more = back();
    }
    result->whole &= !more;
    if (run.rule->strict && more)
        return false;
    run.drawing = true;
    for (unsigned i = 0; more && i < drawn; i++) {
        run.known = 0;
        if (!count_run(program, result))
            return false;
    }
    return true;
}

static unsigned part_of(unsigned number, unsigned parts)
{
    return number ? number / parts + 1 : 0;
}

/* At that event, whomever it may befall. False: it went wrong. */
static bool explore_at(const struct program *program, unsigned at,
                       struct explore_result *result)
{
    unsigned befallen = events_befallen(program);
    unsigned parts = EXPLORE_PARTS * befallen;

    run.trouble_at = at;
    for (run.trouble_of = 0; run.trouble_of < befallen; run.trouble_of++)
        if (!explore_from(program, part_of(run.rule->most, parts),
                          part_of(run.rule->drawn, parts), result))
            return false;
    return true;
}

struct explore_result explore(const struct program *program,
                              const struct explore_rule *rule)
{
    struct explore_result result = {.whole = true};
    unsigned at = 0;

    run.rule = rule;
    run.state = rule->seed;
    run.trouble_at = rule->trouble_at;
    run.trouble_of = rule->trouble_of;
    if (!program_may_lose(program) || rule->replay) {
        explore_from(program, rule->most, rule->drawn, &result);
        return result;
    }
    do
        run.came = false;
    while (explore_at(program, at++, &result) && run.came);
    return result;
}
