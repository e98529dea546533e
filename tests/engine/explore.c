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
    bool cut; /* all that may happen was seen to lead nowhere new */
    const char *replay;
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

static bool happens(void)
{
    static const struct event go_on = {.kind = EVENT_GO_ON, .name = "go on"};
    struct event list[EVENTS_MOST];
    unsigned count = events_list(&run.events, list);
    const struct event *event;

    if (count == EVENTS_MOST)
        count--;
    memmove(&list[1], list, count * sizeof(*list));
    list[0] = go_on;
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
    events_open(&run.events, &world);
    hand_on_put = on_put;
    wire_on_progress = on_progress;
    wire_round(); /* what is left of the last run */
    make_run();
    world_check(&world);
    world_check_queues();
    wrong = hand_wrong() != NULL;
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
    fprintf(stderr, "again by: --program %s --replay ", program->name);
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
    if (run.depth > result->deep)
        result->deep = run.depth;
    return true;
}

struct explore_result explore(const struct program *program,
                              const struct explore_rule *rule)
{
    struct explore_result result = {.runs = 0};
    bool more = true;

    run.rule = rule;
    run.known = 0;
    run.drawing = false;
    run.state = rule->seed;
    while (more && (rule->most == 0 || result.runs + result.cut < rule->most)) {
        if (!count_run(program, &result) || rule->replay)
            return result;
        more = back();
    }
    result.whole = !more;
    run.drawing = true;
    for (unsigned i = 0; more && i < rule->drawn; i++) {
        run.known = 0;
        if (!count_run(program, &result))
            return result;
    }
    return result;
}
