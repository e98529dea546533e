/* Peers that die while a connection to them is made (D9): before the first
 * message, in the middle of it, behind it. The survivor gets an error for
 * each post, is told of the loss once, and goes on with others. */
#include "tests/soft/wire_place.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/sanitized.h"

#define WIRE_TEST(name) static void name(void **arg)

enum { CLOSE_MS = 300, ROUNDS = 40, POSTS = 4, NOTICED_S = 5, STEPS = 50 };

/* Rounds differ in when the peer dies. */
enum { STEP = MGDS_SANITIZED ? 4 : 2 };

static size_t mixed_of(unsigned i)
{
    return i % 2 == 0 ? 100 : 300000;
}

/* A moment that is another one in each round: no test waits for it. */
static void let_pass(unsigned round)
{
    for (unsigned i = 0; i < round * STEPS; i++)
        sched_yield();
}

static void expect_loss(struct place_child *child, unsigned posts)
{
    for (unsigned i = 0; i < posts; i++)
        place_sent(i); /* either way */
    CLAIM(place_lost(child->peer) < 0);
    CLAIM(mgds_wire_peer_error(child->peer) < 0);
    place_trips(1, mixed_of);
    CLAIM(place_go(child->peer, 0) == 0);
    CLAIM(place_sent(0) < 0);
    mgds_wire_peer_put(child->peer);
}

static void go(const struct place_child *child, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++)
        CLAIM(place_go(child->peer, i) == 0);
}

/* Another peer is none the worse for it. */
static void expect_other(struct place_child *other)
{
    place_trips(POSTS, mixed_of);
    go(other, 0, POSTS);
    place_all_back();
}

static void die(struct place_child *child)
{
    kill(child->pid, SIGKILL);
    place_child_reap(child);
}

/* Peer after peer dies, each as the deed has it. */
static void lose_many(void (*deed)(struct place_child *child, unsigned round))
{
    struct place_child other;

    place_open(CLOSE_MS);
    place_child_start(&other);
    for (unsigned round = 0; round < ROUNDS; round += STEP) {
        struct place_child child;

        place_child_start(&child);
        deed(&child, round);
        expect_loss(&child, POSTS);
        expect_other(&other);
    }
    place_child_end(&other);
    place_close();
}

static void before(struct place_child *child, unsigned round)
{
    (void)round;
    die(child);
    place_trips(POSTS, mixed_of);
    go(child, 0, POSTS);
}

WIRE_TEST(d9_a_peer_dies_before_the_first_message)
{
    (void)arg;
    lose_many(before);
}

static void during(struct place_child *child, unsigned round)
{
    place_trips(POSTS, mixed_of);
    go(child, 0, POSTS);
    let_pass(round);
    die(child);
}

WIRE_TEST(d9_a_peer_dies_during_the_first_message)
{
    (void)arg;
    lose_many(during);
}

static void behind(struct place_child *child, unsigned round)
{
    place_trips(POSTS, mixed_of);
    go(child, 0, 1);
    place_sent(0);
    let_pass(round);
    go(child, 1, POSTS);
    die(child);
}

WIRE_TEST(d9_a_peer_dies_behind_the_first_message)
{
    (void)arg;
    lose_many(behind);
}

/* The death of another process is what tells that peers were looked at. */
static void see_a_death(void)
{
    struct place_child child;
    double start;

    place_child_start(&child);
    place_trips(1, mixed_of);
    CLAIM(place_go(child.peer, 0) == 0);
    place_all_back();
    start = place_now();
    die(&child);
    CLAIM(place_lost(child.peer) < 0);
    CLAIM(place_now() - start < NOTICED_S);
    mgds_wire_peer_put(child.peer);
}

WIRE_TEST(d9_a_stopped_peer_is_alive)
{
    struct place_child stopped;

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&stopped);
    expect_other(&stopped);
    CLAIM(kill(stopped.pid, SIGSTOP) == 0);
    for (unsigned i = 0; i < 3; i++)
        see_a_death();
    CLAIM(mgds_wire_peer_error(stopped.peer) == 0);
    place_trips(POSTS, mixed_of);
    go(&stopped, 0, POSTS);
    CLAIM(kill(stopped.pid, SIGCONT) == 0);
    place_all_back();
    place_child_end(&stopped);
    place_close();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(d9_a_peer_dies_before_the_first_message),
        cmocka_unit_test(d9_a_peer_dies_during_the_first_message),
        cmocka_unit_test(d9_a_peer_dies_behind_the_first_message),
        cmocka_unit_test(d9_a_stopped_peer_is_alive),
    };

    place_program = argv[0];
    if (argc > 1 && strcmp(argv[1], "echo") == 0)
        return place_echo();
    if (argc > 2 && strcmp(argv[1], "only") == 0)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
