/* Tests of shim/base/stats.c: nothing counted twice, nothing lost. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "shim/base/stats.h"
#include "tests/lib/fault_sweep.h"

#define THREADS 8
#define ROUNDS UINT64_C(20000)

enum { SEND, RECV, WAIT, PROBE, BCAST, PUT, GET, TEST, FUNCTIONS };
static const char *const names[FUNCTIONS] = {"Send",  "Recv", "Wait", "Probe",
                                             "Bcast", "Put",  "Get",  "Test"};

static uint64_t calls(unsigned fn)
{
    return mgds_stats_value(MGDS_STAT_COUNT + fn);
}

static int start(void **state)
{
    (void)state;
    return mgds_stats_calls_init(FUNCTIONS, names);
}

static int finish(void **state)
{
    (void)state;
    mgds_stats_fini();
    return 0;
}

static void *count_all(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; ++i) {
        mgds_count_call(SEND);
        if (i % 2 == 0)
            mgds_count_call(TEST);
        mgds_count(libraries_changed);
    }
    return NULL;
}

static void run_threads(pthread_t *threads, void *(*body)(void *))
{
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, body, NULL), 0);
}

static void join_threads(pthread_t *threads)
{
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static void counts_of_all_threads_add_up(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uint64_t round = 1; round <= 2; ++round) {
        run_threads(threads, count_all);
        join_threads(threads);
        assert_int_equal(calls(SEND), round * THREADS * ROUNDS);
        assert_int_equal(calls(TEST), round * THREADS * ROUNDS / 2);
        assert_int_equal(calls(RECV), 0);
        assert_int_equal(mgds_stats_value(MGDS_STAT_libraries_changed),
                         round * THREADS * ROUNDS);
    }
}

static void value_never_falls_while_threads_count(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    uint64_t last = 0;
    run_threads(threads, count_all);
    while (last < THREADS * ROUNDS) {
        uint64_t now = calls(SEND);
        assert_true(now >= last && now <= THREADS * ROUNDS);
        last = now;
    }
    join_threads(threads);
}

static void counts_before_the_start_are_kept(void **state)
{
    (void)state;
    mgds_count(libraries_changed);
    assert_int_equal(mgds_stats_value(MGDS_STAT_libraries_changed), 1);
    assert_int_equal(start(NULL), 0);
    mgds_count(libraries_changed);
    assert_int_equal(mgds_stats_value(MGDS_STAT_libraries_changed), 2);
    assert_int_equal(finish(NULL), 0);
}

static void count_at_exit(void *fn)
{
    mgds_count_call((unsigned)(uintptr_t)fn);
}

static void *end_with_a_call(void *key)
{
    mgds_count_call(GET);
    pthread_setspecific(*(pthread_key_t *)key, (void *)(uintptr_t)GET);
    return NULL;
}

/* MPI may be called from a destructor that runs after ours. */
static void call_in_a_late_destructor_is_counted(void **state)
{
    (void)state;
    pthread_key_t key; /* younger than the counters' key: runs later */
    assert_int_equal(pthread_key_create(&key, count_at_exit), 0);
    for (unsigned i = 1; i <= 3; ++i) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, end_with_a_call, &key),
                         0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(calls(GET), 2 * i);
    }
    pthread_key_delete(key);
}

static int count_once(void *arg)
{
    (void)arg;
    assert_int_equal(start(NULL), 0);
    mgds_count_call(RECV);
    uint64_t lost = mgds_stats_value(MGDS_STAT_counts_lost);
    assert_int_equal(calls(RECV) + lost, 1);
    assert_int_equal(finish(NULL), 0);
    return lost > 0 ? -ENOMEM : 0;
}

static void call_without_memory_is_counted_as_lost(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, count_once, NULL), 1);
}

static void *call_once(void *arg)
{
    mgds_count_call(PROBE);
    return arg;
}

static void memory_of_an_ended_thread_serves_the_next(void **state)
{
    (void)state;
#ifdef MGDS_FAULT
    for (unsigned i = 1; i <= 3; ++i) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, call_once, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(calls(PROBE), i);
        if (i == 1) /* from here on there is no memory */
            mgds_fault_arm(MGDS_FAULT_alloc, 1);
    }
    assert_true(mgds_fault_armed(MGDS_FAULT_alloc));
    mgds_fault_arm(MGDS_FAULT_alloc, 0);
#else
    (void)call_once;
    skip();
#endif
}

static void names_outside_the_table_are_unknown(void **state)
{
    (void)state;
    assert_string_equal(mgds_stats_call_name(BCAST), "Bcast");
    assert_string_equal(mgds_stats_call_name(FUNCTIONS), "?");
    assert_string_equal(mgds_stats_call_name(UINT64_MAX), "?");
    assert_int_equal(mgds_stats_value(MGDS_STAT_COUNT + FUNCTIONS), 0);
}

static void summary_names_the_busiest_in_falling_order(void **state)
{
    (void)state;
    for (unsigned fn = 0; fn < FUNCTIONS; ++fn)
        mgds_stats_add(MGDS_STAT_COUNT + fn, UINT64_C(10) * fn);
    mgds_count(libraries_changed);
    char text[256];
    mgds_stats_summary(text, sizeof(text));
    assert_string_equal(text,
                        "summary: calls 280, Test 70, Get 60, Put 50, "
                        "Bcast 40, Probe 30, Wait 20; libraries_changed 1");
    mgds_stats_summary(text, 12);
    assert_string_equal(text, "summary: ca");
}

static void summary_of_nothing_is_still_a_line(void **state)
{
    (void)state;
    char text[64];
    mgds_stats_summary(text, sizeof(text));
    assert_string_equal(text, "summary: calls 0");
}

static void sizes_have_classes(void **state)
{
    static const size_t sizes[] = {0,     1024,    1025,         65536,
                                   65537, 1 << 20, (1 << 20) + 1};
    static const uint64_t counted[MGDS_SIZES] = {2, 2, 2, 1};

    (void)state;
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        mgds_stats_add_sized(MGDS_STAT_send_p2p_1k, sizes[i]);
    for (unsigned i = 0; i < MGDS_SIZES; i++)
        assert_int_equal(mgds_stats_value(MGDS_STAT_send_p2p_1k + i),
                         counted[i]);
    assert_string_equal(mgds_stats_name(MGDS_STAT_send_p2p_1k + 3),
                        "send_p2p_large");
    assert_string_equal(
        mgds_stats_meaning(MGDS_STAT_send_p2p_64k),
        "enqueued messages that went from GPU to GPU, longer, of at most 64 "
        "KiB");
}

#define STATS_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STATS_TEST(counts_of_all_threads_add_up),
        STATS_TEST(value_never_falls_while_threads_count),
        cmocka_unit_test(counts_before_the_start_are_kept),
        STATS_TEST(call_in_a_late_destructor_is_counted),
        cmocka_unit_test(call_without_memory_is_counted_as_lost),
        STATS_TEST(memory_of_an_ended_thread_serves_the_next),
        STATS_TEST(names_outside_the_table_are_unknown),
        STATS_TEST(summary_names_the_busiest_in_falling_order),
        STATS_TEST(summary_of_nothing_is_still_a_line),
        STATS_TEST(sizes_have_classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
