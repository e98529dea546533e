/* How many records the matcher looks at for each pair that it makes, whatever
 * waits: counted, so that it is the same on every machine. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "shim/gds/match/match.h"

/* Messages and receives of a mix; the most records for a pair; and where
 * streams reach their sends in any order, which none does. */
enum { MANY = 10000, MOST = 8, MOST_SHUFFLED = 9 };

/* In which order calls, arrivals and streams come. */
enum order { POSTED_FIRST, POSTED_SECOND, POSTED_LAST, MIXED, ORDERS };

/* When sends are reached: in order; some of them, host calls', as they are
 * called; or anyhow. */
enum reach { IN_ORDER, SOME_AT_ONCE, SHUFFLED, REACHES };

struct mix {
    int sources, tags;
    int any_source, any_tag; /* of a hundred receives */
    enum order order;
    enum reach reach;
};

static const int sizes[][2] = {{1, 1},    {1, 8},     {1, MANY},
                               {8, 8},    {8, 1000},  {100, 100},
                               {1000, 1}, {1000, 10}, {MANY, 1}};
static const int wilds[][2] = {{0, 0},   {50, 0}, {0, 50}, {50, 50},
                               {25, 10}, {10, 0}, {5, 5},  {90, 50}};

static struct mgds_match *match;
static struct mgds_match_send sends[MANY];
static struct mgds_match_recv recvs[MANY];
static int turns[MANY]; /* in which streams reach the sends */
static unsigned pairs, seed = 1;

static void count_pair(void *owner, struct mgds_match_recv *recv,
                       struct mgds_match_send *send)
{
    (void)owner;
    assert_true(recv->source == send->source ||
                recv->source == MGDS_ANY_SOURCE);
    assert_true(recv->tag == send->tag || recv->tag == MGDS_ANY_TAG);
    pairs++;
}

static int below(int limit)
{
    return rand_r(&seed) % limit;
}

static void shuffle(int *list)
{
    for (int i = 0; i < MANY; i++)
        list[i] = i;
    for (int i = MANY - 1; i > 0; i--) {
        int k = below(i + 1), other = list[k];

        list[k] = list[i];
        list[i] = other;
    }
}

static void draw_sends(const struct mix *mix)
{
    uint64_t *number = calloc((size_t)mix->sources, sizeof(*number));

    assert_non_null(number);
    for (int i = 0; i < MANY; i++) {
        int source = below(mix->sources);

        sends[i] = (struct mgds_match_send){
            .source = source,
            .tag = below(mix->tags),
            .number = number[source]++,
            .reached = mix->reach == SOME_AT_ONCE && below(10) == 0};
    }
    free(number);
}

/* Each accepts a send of its own at least. */
static void draw_recvs(const struct mix *mix)
{
    static int of[MANY];

    shuffle(of);
    for (int i = 0; i < MANY; i++) {
        const struct mgds_match_send *send = &sends[of[i]];

        recvs[i] =
            (struct mgds_match_recv){.source = send->source, .tag = send->tag};
        if (below(100) < mix->any_source)
            recvs[i].source = MGDS_ANY_SOURCE;
        if (below(100) < mix->any_tag)
            recvs[i].tag = MGDS_ANY_TAG;
    }
}

static void draw_turns(const struct mix *mix)
{
    shuffle(turns);
    for (int i = 0; mix->reach != SHUFFLED && i < MANY; i++)
        turns[i] = i;
}

static void arrive(int i)
{
    assert_int_equal(mgds_match_arrive(match, &sends[i]), 0);
}

static void post(int i)
{
    mgds_match_post(match, &recvs[i]);
}

static void reach(int i)
{
    struct mgds_match_send *send = &sends[turns[i]];

    if (!mgds_match_reached(match, send->source, send->number))
        send->reached = true;
}

static void (*const steps[ORDERS][3])(int i) = {
    [POSTED_FIRST] = {post, arrive, reach},
    [POSTED_SECOND] = {arrive, post, reach},
    [POSTED_LAST] = {arrive, reach, post},
    [MIXED] = {arrive, reach, post},
};

static void play_mixed(void (*const step[3])(int i))
{
    int done[3] = {0, 0, 0};

    while (done[0] + done[1] + done[2] < 3 * MANY) {
        int which = below(3);

        if (done[which] < MANY)
            step[which](done[which]++);
    }
}

static void play(enum order order)
{
    if (order == MIXED) {
        play_mixed(steps[order]);
        return;
    }
    for (int phase = 0; phase < 3; phase++)
        for (int i = 0; i < MANY; i++)
            steps[order][phase](i);
}

static void measure(const struct mix *mix, unsigned most)
{
    double each;

    draw_sends(mix);
    draw_recvs(mix);
    draw_turns(mix);
    pairs = 0;
    assert_int_equal(
        mgds_match_create(&match, (unsigned)mix->sources, count_pair, NULL), 0);
    play(mix->order);
    each = (double)mgds_match_looks(match) / pairs;
    if (each > most)
        print_error("%d sources, %d tags, %d %% from any source, %d %% with "
                    "any tag, order %d, reach %d: %.2f records for a pair\n",
                    mix->sources, mix->tags, mix->any_source, mix->any_tag,
                    (int)mix->order, (int)mix->reach, each);
    assert_true(pairs > MANY * 3 / 4);
    assert_true(each <= most);
    mgds_match_clear(match, NULL, NULL);
    mgds_match_destroy(match);
}

/* Every size with every share of wildcards and every order of events, or each
 * fifth of these. */
static void measure_all(enum reach reach, int step, unsigned most)
{
    enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
    enum { WILDS = sizeof(wilds) / sizeof(wilds[0]) };

    for (int i = 0; i < SIZES * WILDS * ORDERS; i += step) {
        const int *size = sizes[i / ORDERS / WILDS];
        const int *wild = wilds[i / ORDERS % WILDS];
        const struct mix mix = {
            size[0], size[1], wild[0], wild[1], (enum order)(i % ORDERS),
            reach};

        measure(&mix, most);
    }
}

static void a_match_looks_at_few_records(void **state)
{
    (void)state;
    measure_all(IN_ORDER, 1, MOST);
}

static void host_sends_in_between_cost_no_more(void **state)
{
    (void)state;
    measure_all(SOME_AT_ONCE, 5, MOST);
}

static void no_order_of_streams_costs_much_more(void **state)
{
    (void)state;
    measure_all(SHUFFLED, 5, MOST_SHUFFLED);
}

/* Defect D8: receives from any source beside many messages that none of them
 * wants. */
static void messages_of_others_cost_nothing(void **state)
{
    enum { WANTED = MANY / 10 };
    uint64_t before;

    (void)state;
    pairs = 0;
    assert_int_equal(mgds_match_create(&match, 2, count_pair, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        sends[i] = (struct mgds_match_send){
            .source = i >= WANTED, .tag = 1, .reached = true};
        sends[i].number = (uint64_t)(i < WANTED ? i : i - WANTED);
        sends[i].tag += i < WANTED ? i + 1 : 0;
    }
    for (int i = WANTED; i < MANY; i++)
        arrive(i);
    for (int i = 0; i < WANTED; i++) {
        recvs[i] =
            (struct mgds_match_recv){.source = MGDS_ANY_SOURCE, .tag = i + 2};
        post(i);
    }
    before = mgds_match_looks(match);
    for (int i = 0; i < WANTED; i++)
        arrive(i);
    assert_int_equal(pairs, WANTED);
    assert_true(mgds_match_looks(match) - before <= (uint64_t)MOST * WANTED);
    mgds_match_clear(match, NULL, NULL);
    mgds_match_destroy(match);
}

/* Defect D8: messages that wait are told to be reached, the last one first. */
static void a_message_is_found_by_its_number(void **state)
{
    uint64_t before;

    (void)state;
    assert_int_equal(mgds_match_create(&match, 1, count_pair, NULL), 0);
    for (int i = 0; i < MANY; i++) {
        sends[i] = (struct mgds_match_send){.number = (uint64_t)i, .tag = 1};
        arrive(i);
        turns[i] = MANY - 1 - i;
    }
    before = mgds_match_looks(match);
    for (int i = 0; i < MANY; i++)
        reach(i);
    assert_true(mgds_match_looks(match) - before <= (uint64_t)2 * MANY);
    mgds_match_clear(match, NULL, NULL);
    mgds_match_destroy(match);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_match_looks_at_few_records),
        cmocka_unit_test(host_sends_in_between_cost_no_more),
        cmocka_unit_test(no_order_of_streams_costs_much_more),
        cmocka_unit_test(messages_of_others_cost_nothing),
        cmocka_unit_test(a_message_is_found_by_its_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
