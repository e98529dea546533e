/* Tests of the wire between processes: UCX as it is, no MPI. */
#include "tests/soft/wire_place.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WIRE_TEST(name) static void name(void **arg)

enum { CLOSE_MS = 2000, SHORT_MS = 300, THREADS = 4, MANY = 1200, HOPS = 300 };

static const size_t sizes[] = {0,    1,    8,     255,    256,     1000,
                               4096, 8191, 20000, 262144, 1048576, 8388608};

enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static size_t size_of(unsigned i)
{
    return sizes[i % SIZES];
}

static size_t small_of(unsigned i)
{
    return i % 7 == 0 ? 0 : (i * 97u) % 20000;
}

static size_t large_of(unsigned i)
{
    (void)i;
    return 8388608;
}

WIRE_TEST(every_size_goes_there_and_back)
{
    struct place_child child;

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&child);
    for (unsigned i = 0; i < SIZES; i++) {
        place_trips(i + 1, size_of);
        for (unsigned n = 0; n <= i; n++)
            CLAIM(place_go(child.peer, n) == 0);
        place_all_back();
    }
    place_child_end(&child);
    place_close();
}

WIRE_TEST(messages_to_oneself)
{
    struct mgds_wire_peer *self;
    const void *address;
    size_t bytes;

    (void)arg;
    place_open(CLOSE_MS);
    CLAIM(mgds_wire_address(&address, &bytes) == 0);
    CLAIM(mgds_wire_peer_get(&self, address, bytes) == 0);
    place_trips(SIZES, size_of);
    for (unsigned i = 0; i < SIZES; i++)
        CLAIM(place_go(self, i) == 0);
    place_all_back();
    mgds_wire_peer_put(self);
    place_close();
}

static struct mgds_wire_peer *many_peer;
static atomic_bool many_over;

static void *post_many(void *arg)
{
    unsigned first = (unsigned)(uintptr_t)arg;

    for (unsigned i = first; i < MANY; i += THREADS) {
        if (place_go(many_peer, i) != 0)
            abort();
    }
    return NULL;
}

static void *make_progress(void *arg)
{
    while (!atomic_load(&many_over))
        mgds_wire_progress();
    return arg;
}

static void many(bool helped)
{
    struct place_child child;
    pthread_t threads[THREADS];
    pthread_t helper;

    place_open(CLOSE_MS);
    place_child_start(&child);
    place_trips(MANY, small_of);
    many_peer = child.peer;
    atomic_store(&many_over, false);
    if (helped)
        CLAIM(pthread_create(&helper, NULL, make_progress, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        CLAIM(pthread_create(&threads[i], NULL, post_many, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    place_all_back();
    atomic_store(&many_over, true);
    if (helped)
        pthread_join(helper, NULL);
    place_child_end(&child);
    place_close();
}

WIRE_TEST(many_messages_from_several_threads)
{
    (void)arg;
    many(false);
}

WIRE_TEST(many_messages_while_the_caller_makes_progress_too)
{
    (void)arg;
    many(true);
}

static struct mgds_wire_peer *hop_peer;

static void hop_again(unsigned i)
{
    if (i + 1 < HOPS && place_go(hop_peer, i + 1) != 0)
        abort();
}

WIRE_TEST(handlers_may_post)
{
    struct place_child child;

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&child);
    place_trips(HOPS, small_of);
    hop_peer = child.peer;
    place_when_back = hop_again;
    CLAIM(place_go(child.peer, 0) == 0);
    place_all_back();
    place_child_end(&child);
    place_close();
}

WIRE_TEST(two_processes_at_once)
{
    struct place_child children[2];

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&children[0]);
    place_child_start(&children[1]);
    CLAIM(children[0].peer != children[1].peer);
    place_trips(2 * SIZES, size_of);
    for (unsigned i = 0; i < 2 * SIZES; i++)
        CLAIM(place_go(children[i % 2].peer, i) == 0);
    place_all_back();
    place_child_end(&children[0]);
    place_child_end(&children[1]);
    place_close();
}

WIRE_TEST(one_address_is_one_peer)
{
    struct mgds_wire_peer *first;
    struct mgds_wire_peer *second;
    const void *address;
    size_t bytes;
    void *copy;

    (void)arg;
    place_open(CLOSE_MS);
    CLAIM(mgds_wire_address(&address, &bytes) == 0 && bytes > 0);
    copy = malloc(bytes + 1);
    CLAIM(copy);
    memcpy(copy, address, bytes);
    CLAIM(mgds_wire_peer_get(&first, address, bytes) == 0);
    CLAIM(mgds_wire_peer_get(&second, address, bytes) == 0);
    CLAIM(first == second);
    mgds_wire_peer_put(first);
    mgds_wire_peer_put(second);
    CLAIM(mgds_wire_peer_get(&second, address, bytes) == 0);
    CLAIM(first == second); /* kept for its connection */
    CLAIM(mgds_wire_peer_get(&first, address, 0) == -EINVAL);
    place_close();
    CLAIM(mgds_wire_peer_error(second) == -ENOTCONN);
    CLAIM(mgds_wire_peer_get(&first, sizes, 8) == -EINVAL);
    CLAIM(mgds_wire_peer_get(&first, copy, bytes) == -ENOTCONN);
    mgds_wire_peer_put(second);
    free(copy);
}

WIRE_TEST(wrong_posts_are_refused)
{
    const char head[MGDS_WIRE_HEAD_BYTES + 1] = {0};
    struct mgds_wire_message message = {
        .kind = KIND_ECHO, .head = head, .head_bytes = sizeof(head)};
    struct mgds_wire_peer *self;
    const void *address;
    size_t bytes;

    (void)arg;
    CLAIM(mgds_wire_address(&address, &bytes) == -ENOTCONN);
    CLAIM(mgds_wire_progress() == 0);
    place_open(CLOSE_MS);
    CLAIM(mgds_wire_open(NULL) == 0); /* counted: settings are not read */
    mgds_wire_close();
    CLAIM(mgds_wire_address(&address, &bytes) == 0);
    CLAIM(mgds_wire_peer_get(&self, address, bytes) == 0);
    CLAIM(mgds_wire_post(self, &message) == -EINVAL);
    message = (struct mgds_wire_message){.kind = MGDS_WIRE_KINDS};
    CLAIM(mgds_wire_post(self, &message) == -EINVAL);
    message.kind = KIND_NONE; /* dropped where it arrives */
    CLAIM(mgds_wire_post(self, &message) == 0);
    place_close();
    CLAIM(mgds_wire_post(self, &message) == -ENOTCONN);
    mgds_wire_peer_put(self);
}

WIRE_TEST(a_dead_peer_is_noticed)
{
    struct place_child child;

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&child);
    place_trips(2, small_of);
    CLAIM(place_go(child.peer, 0) == 0);
    CLAIM(place_go(child.peer, 1) == 0);
    place_all_back();
    kill(child.pid, SIGKILL); /* everything is idle now */
    place_child_reap(&child);
    CLAIM(place_lost(child.peer) < 0);
    CLAIM(mgds_wire_peer_error(child.peer) < 0);
    place_trips(1, size_of);
    CLAIM(place_go(child.peer, 0) == 0);
    CLAIM(place_sent(0) < 0);
    mgds_wire_peer_put(child.peer);
    place_close();
}

WIRE_TEST(a_death_in_the_middle_ends_every_post)
{
    struct place_child child;
    double start;

    (void)arg;
    place_open(SHORT_MS);
    place_child_start(&child);
    place_trips(1, small_of);
    CLAIM(place_go(child.peer, 0) == 0);
    place_all_back();
    CLAIM(kill(child.pid, SIGSTOP) == 0);
    place_trips(4, large_of);
    for (unsigned i = 0; i < 4; i++)
        CLAIM(place_go(child.peer, i) == 0);
    kill(child.pid, SIGKILL);
    place_child_reap(&child);
    for (unsigned i = 0; i < 4; i++)
        CLAIM(place_sent(i) < 0);
    start = place_now();
    mgds_wire_peer_put(child.peer);
    place_close();
    CLAIM(place_now() - start < 10);
}

static size_t mixed_of(unsigned i)
{
    return i % 4 == 0 ? 3000000 : (i * 997u) % 60000;
}

static pid_t victim;

static void kill_victim(unsigned i)
{
    (void)i;
    kill(victim, SIGKILL);
}

WIRE_TEST(a_death_in_full_traffic_ends_every_post)
{
    struct place_child child;

    (void)arg;
    for (unsigned round = 0; round < 5; round++) {
        place_open(SHORT_MS);
        place_child_start(&child);
        victim = child.pid;
        place_trips(100, mixed_of);
        place_when_back = kill_victim;
        for (unsigned i = 0; i < 100; i++)
            CLAIM(place_go(child.peer, i) == 0);
        place_child_reap(&child);
        for (unsigned i = 0; i < 100; i++)
            place_sent(i); /* either way */
        CLAIM(place_lost(child.peer) < 0);
        mgds_wire_peer_put(child.peer);
        place_close();
    }
}

/* What it sends is numbered from the start, and sealed for who we are now. */
WIRE_TEST(a_peer_that_stays_is_heard_when_we_open_again)
{
    struct place_child child;

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&child);
    for (unsigned round = 0; round < 3; round++) {
        place_trips(SIZES, size_of);
        for (unsigned i = 0; i < SIZES; i++)
            CLAIM(place_go(child.peer, i) == 0);
        place_all_back();
        place_close();
        place_open(CLOSE_MS);
        place_child_again(&child);
    }
    place_child_end(&child);
    place_close();
}

/* Whatever UCX has got to by then, the time being over as soon as it begins. */
WIRE_TEST(a_close_that_has_no_time_ends_well)
{
    enum { CLOSES = 100 };
    struct place_child child;

    (void)arg;
    place_open(0);
    place_child_start(&child);
    for (unsigned round = 0; round < CLOSES; round++) {
        place_trips(1, small_of);
        CLAIM(place_go(child.peer, 0) == 0);
        place_all_back();
        place_close();
        place_open(0);
        place_child_again(&child);
    }
    place_child_end(&child);
    place_close();
}

/* The sender of a large message is gone before it is fetched. */
static pid_t doomed;
static atomic_int late_body; /* 1 + -rc, once there */
static char *landing;

static void body_late(void *arg, int rc)
{
    (void)arg;
    atomic_store(&late_body, 1 - rc);
}

static int head_kills(void *ctx, struct mgds_wire_arrival *it)
{
    (void)ctx;
    CLAIM(it->body_bytes == large_of(0));
    kill(doomed, SIGKILL);
    it->where = landing;
    return 0;
}

WIRE_TEST(a_body_whose_sender_died_has_an_outcome)
{
    const struct mgds_wire_handler killer = {.head = head_kills,
                                             .body = body_late};
    struct place_child child;

    (void)arg;
    place_open(SHORT_MS);
    CLAIM(mgds_wire_handle(KIND_BACK, &killer) == 0);
    place_child_start(&child);
    doomed = child.pid;
    landing = malloc(large_of(0));
    CLAIM(landing);
    atomic_store(&late_body, 0);
    place_trips(1, large_of);
    CLAIM(place_go(child.peer, 0) == 0);
    place_child_reap(&child);
    CLAIM(place_lost(child.peer) < 0);
    mgds_wire_peer_put(child.peer);
    place_close();
    CLAIM(atomic_load(&late_body) != 0);
    free(landing);
}

WIRE_TEST(close_does_not_wait_for_a_stopped_peer)
{
    struct place_child child;
    double start;
    bool sent;

    (void)arg;
    place_open(SHORT_MS);
    place_child_start(&child);
    place_trips(1, small_of);
    CLAIM(place_go(child.peer, 0) == 0);
    place_all_back();
    CLAIM(kill(child.pid, SIGSTOP) == 0);
    place_trips(1, large_of);
    CLAIM(place_go(child.peer, 0) == 0);
    start = place_now();
    mgds_wire_close();
    CLAIM(place_now() - start < 10);
    sent = place_trip(0)->sent;
    CLAIM(sent);
    CLAIM(place_trip(0)->sent_rc < 0);
    kill(child.pid, SIGKILL);
    place_child_reap(&child);
    mgds_wire_peer_put(child.peer);
    place_close();
}

static double cpu_s(void)
{
    struct rusage use;

    CLAIM(getrusage(RUSAGE_SELF, &use) == 0);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

static void let_pass(double seconds)
{
    const struct timespec time = {
        .tv_sec = (time_t)seconds,
        .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

    nanosleep(&time, NULL);
}

/* Also that a message wakes who sleeps: after each pause the next one goes. */
WIRE_TEST(idle_costs_no_cpu)
{
    struct place_child child;
    double before;

    (void)arg;
    place_open(CLOSE_MS);
    place_child_start(&child);
    for (unsigned i = 0; i < 3; i++) {
        place_trips(SIZES, size_of);
        for (unsigned n = 0; n < SIZES; n++)
            CLAIM(place_go(child.peer, n) == 0);
        place_all_back();
        let_pass(0.1);
        before = cpu_s();
        let_pass(1);
        CLAIM(cpu_s() - before < 0.02);
    }
    place_child_end(&child);
    place_close();
}

static atomic_uint polls;

static int count_poll(void *arg)
{
    (void)arg;
    atomic_fetch_add(&polls, 1);
    return 0;
}

/* The machine may be busy; only a lost wake-up takes for ever. */
static void wait_poll(unsigned seen)
{
    double end = place_now() + WAIT_S;

    while (atomic_load(&polls) == seen && place_now() < end)
        let_pass(0.001);
    CLAIM(atomic_load(&polls) > seen);
}

WIRE_TEST(pollers_run_while_somebody_holds)
{
    double before;
    unsigned seen;

    (void)arg;
    place_open(CLOSE_MS);
    CLAIM(mgds_wire_poller(count_poll, NULL) == 0);
    let_pass(0.1);
    mgds_wire_hold();
    atomic_store(&polls, 0);
    before = cpu_s();
    let_pass(1);
    CLAIM(atomic_load(&polls) > 100); /* naps are 30 us */
    CLAIM(cpu_s() - before < 0.9);    /* but it does nap */
    mgds_wire_release();
    let_pass(0.2);
    seen = atomic_load(&polls);
    let_pass(0.2);
    CLAIM(atomic_load(&polls) == seen);
    mgds_wire_kick();
    wait_poll(seen);
    mgds_wire_poller_end(count_poll, NULL);
    seen = atomic_load(&polls);
    mgds_wire_kick();
    mgds_wire_progress();
    CLAIM(atomic_load(&polls) == seen);
    place_close();
}

WIRE_TEST(a_forked_child_exits)
{
    pid_t pid;
    int status;

    (void)arg;
    place_open(CLOSE_MS);
    mgds_wire_hold();
    pid = fork();
    CLAIM(pid >= 0);
    if (pid == 0) {
        alarm(20);
        exit(0); /* destructors and all */
    }
    CLAIM(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
    mgds_wire_release();
    place_close();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_goes_there_and_back),
        cmocka_unit_test(messages_to_oneself),
        cmocka_unit_test(many_messages_from_several_threads),
        cmocka_unit_test(many_messages_while_the_caller_makes_progress_too),
        cmocka_unit_test(handlers_may_post),
        cmocka_unit_test(two_processes_at_once),
        cmocka_unit_test(one_address_is_one_peer),
        cmocka_unit_test(wrong_posts_are_refused),
        cmocka_unit_test(a_dead_peer_is_noticed),
        cmocka_unit_test(a_death_in_the_middle_ends_every_post),
        cmocka_unit_test(a_death_in_full_traffic_ends_every_post),
        cmocka_unit_test(a_peer_that_stays_is_heard_when_we_open_again),
        cmocka_unit_test(a_close_that_has_no_time_ends_well),
        cmocka_unit_test(a_body_whose_sender_died_has_an_outcome),
        cmocka_unit_test(close_does_not_wait_for_a_stopped_peer),
        cmocka_unit_test(idle_costs_no_cpu),
        cmocka_unit_test(pollers_run_while_somebody_holds),
        cmocka_unit_test(a_forked_child_exits),
    };

    place_program = argv[0];
    if (argc > 1 && strcmp(argv[1], "echo") == 0)
        return place_echo();
    if (argc > 2 && strcmp(argv[1], "skip") == 0)
        cmocka_set_skip_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
