/* Tests of shim/base/trace.c: rings, with the test as their reader. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "shim/base/clock.h"
#include "shim/base/stats.h"
#include "shim/base/trace.h"
#include "tests/lib/fault_sweep.h"

#define THREADS 4

static int start(void **state)
{
    (void)state;
    return mgds_trace_start();
}

static int finish(void **state)
{
    (void)state;
    mgds_trace_fini();
    return 0;
}

/* Takes the oldest event of any ring, but for names of threads. */
static bool take(struct mgds_trace_entry *out)
{
    struct mgds_trace_ring *ring = NULL;

    while ((ring = mgds_trace_next_ring(ring))) {
        const struct mgds_trace_entry *entry;

        while ((entry = mgds_trace_peek(ring))) {
            *out = *entry;
            mgds_trace_drop(ring);
            if (out->event != MGDS_TRACE_thread_named)
                return true;
        }
    }
    return false;
}

static uint64_t lost(void)
{
    uint64_t sum = 0;
    uint32_t thread;

    for (struct mgds_trace_ring *ring = NULL;
         (ring = mgds_trace_next_ring(ring));)
        sum += mgds_trace_lost(ring, &thread);
    return sum;
}

static void nothing_is_recorded_while_off(void **state)
{
    struct mgds_trace_entry entry;

    (void)state;
    mgds_trace_stop();
    mgds_trace_call_enter(1, 2);
    mgds_trace_init();
    assert_false(take(&entry));
}

static void probes_do_not_record(void **state)
{
    struct mgds_trace_entry entry;

    (void)state;
    mgds_probe_init();
    mgds_probe_call_enter(1, 2);
    mgds_probe_call_leave(1, 0, 2);
    mgds_probe_send_called(1, 2, 3, 4, 5, 6);
    assert_false(take(&entry));
}

static void events_have_time_thread_and_fields(void **state)
{
    struct mgds_trace_entry entry;
    uint64_t before = mgds_clock_ns();

    (void)state;
    mgds_trace_send_called(1, 2, 3, 4, 5, -6);
    mgds_trace_cuda_seen();
    assert_true(take(&entry));
    assert_int_equal(entry.event, MGDS_TRACE_send_called);
    assert_int_equal(entry.thread, gettid());
    assert_true(entry.ns >= before && entry.ns <= mgds_clock_ns());
    for (int i = 0; i < 5; i++)
        assert_int_equal(entry.field[i], i + 1);
    assert_int_equal(entry.field[5], -6);
    assert_true(take(&entry));
    assert_int_equal(entry.event, MGDS_TRACE_cuda_seen);
    assert_false(take(&entry));
}

static void full_ring_keeps_the_first_events_and_counts_the_others(void **state)
{
    const int64_t more = 17;
    uint64_t counted = mgds_stats_value(MGDS_STAT_trace_events_lost);
    struct mgds_trace_entry entry;
    int64_t kept = 0;

    (void)state;
    for (int64_t i = 0; i < MGDS_TRACE_RING + more; ++i)
        mgds_trace_libraries_changed(i);
    /* one is the thread's name */
    assert_int_equal(lost(), more + 1);
    assert_int_equal(mgds_stats_value(MGDS_STAT_trace_events_lost) - counted,
                     more + 1);
    for (; take(&entry); ++kept)
        assert_int_equal(entry.field[0], kept);
    assert_int_equal(kept, MGDS_TRACE_RING - 1);
    mgds_trace_libraries_changed(kept);
    assert_true(take(&entry));
    assert_int_equal(entry.field[0], kept);
    assert_int_equal(lost(), more + 1);
}

static void *half_fill(void *arg)
{
    (void)arg;
    for (int i = 0; i < MGDS_TRACE_RING / 2 + 1; i++)
        mgds_trace_cuda_seen();
    return NULL;
}

/* A wait that nobody ends would take the test's whole time. */
static void half_full_ring_ends_a_wait(void **state)
{
    struct mgds_trace_entry entry;
    pthread_t thread;

    (void)state;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(pthread_create(&thread, NULL, half_fill, NULL), 0);
        mgds_trace_wait(1000000);
        assert_int_equal(pthread_join(thread, NULL), 0);
        while (take(&entry))
            ;
    }
}

static void *trace_one(void *arg)
{
    mgds_trace_abi_checked(*(int *)arg);
    return NULL;
}

static void events_outlive_their_threads(void **state)
{
    struct mgds_trace_entry entry;

    (void)state;
    for (int i = 0; i < 10; ++i) {
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, trace_one, &i), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    for (int i = 0; i < 10; ++i) {
        assert_true(take(&entry));
        assert_int_equal(entry.field[0], i);
        assert_int_not_equal(entry.thread, gettid());
    }
    assert_false(take(&entry));
}

static atomic_bool enough;

static void *trace_twins(void *arg)
{
    (void)arg;
    for (int64_t i = 0; !atomic_load(&enough); ++i)
        mgds_trace_send_called(i, i, i, i, i, i);
    return NULL;
}

static void reader_beside_writers_sees_whole_events_in_order(void **state)
{
    enum { WANTED = 5 * MGDS_TRACE_RING };
    pthread_t threads[THREADS];
    struct mgds_trace_entry entry;

    (void)state;
    atomic_store(&enough, false);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, trace_twins, NULL),
                         0);
    for (int seen = 0; seen < WANTED; seen++) {
        while (!take(&entry))
            mgds_trace_wait(1000000);
        for (int i = 1; i < MGDS_TRACE_FIELDS; i++)
            assert_int_equal(entry.field[i], entry.field[0]);
    }
    atomic_store(&enough, true);
    for (int i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static int trace_and_take(void *arg)
{
    uint64_t before = mgds_stats_value(MGDS_STAT_trace_events_lost);
    struct mgds_trace_entry entry;
    bool taken;

    (void)arg;
    assert_int_equal(mgds_trace_start(), 0);
    mgds_trace_init();
    taken = take(&entry);
    mgds_trace_fini();
    before = mgds_stats_value(MGDS_STAT_trace_events_lost) - before;
    assert_int_equal(taken ? 0 : 1, before);
    return taken ? 0 : -ENOMEM;
}

static void without_memory_events_are_counted_as_lost(void **state)
{
    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, trace_and_take, NULL),
                     1);
}

#define TRACE_TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TRACE_TEST(nothing_is_recorded_while_off),
        TRACE_TEST(probes_do_not_record),
        TRACE_TEST(events_have_time_thread_and_fields),
        TRACE_TEST(full_ring_keeps_the_first_events_and_counts_the_others),
        TRACE_TEST(half_full_ring_ends_a_wait),
        TRACE_TEST(events_outlive_their_threads),
        TRACE_TEST(reader_beside_writers_sees_whole_events_in_order),
        cmocka_unit_test(without_memory_events_are_counted_as_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
