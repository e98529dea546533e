/* Tests of shim/base/lock.c: mutual exclusion, and the order of ranks. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "shim/base/lock.h"
#include "tests/lib/child.h"

#define THREADS 4
#define ROUNDS 2000

static struct mgds_lock comm = MGDS_LOCK_INIT(MGDS_LOCK_COMM);
static struct mgds_lock other_comm = MGDS_LOCK_INIT(MGDS_LOCK_COMM);
static struct mgds_lock conn = MGDS_LOCK_INIT(MGDS_LOCK_CONN);
static struct mgds_lock leaf = MGDS_LOCK_INIT(MGDS_LOCK_LEAF);

static struct mgds_lock brief = MGDS_LOCK_INIT(MGDS_LOCK_SHORT);

static struct mgds_lock counter_lock;
static unsigned counter MGDS_GUARDED_BY(counter_lock);

/* Lets others run between load and store. */
static void *count_up(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; ++i) {
        mgds_lock_acquire(&counter_lock);
        unsigned seen = counter;
        sched_yield();
        counter = seen + 1;
        mgds_lock_release(&counter_lock);
    }
    return NULL;
}

static void count_under(enum mgds_lock_rank rank)
{
    pthread_t threads[THREADS];

    counter = 0;
    assert_int_equal(mgds_lock_init(&counter_lock, rank), 0);
    for (unsigned i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (unsigned i = 0; i < THREADS; ++i)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(counter, THREADS * ROUNDS);
    mgds_lock_fini(&counter_lock);
}

static void one_thread_at_a_time_holds_it(void **state)
{
    (void)state;
    count_under(MGDS_LOCK_REGISTRY);
    count_under(MGDS_LOCK_SHORT);
}

struct attempt {
    struct mgds_lock *lock;
    int taken;
};

static void *try_it(void *arg)
{
    struct attempt *attempt = arg;

    attempt->taken = 0;
    if (mgds_lock_try(attempt->lock)) {
        attempt->taken = 1;
        mgds_lock_release(attempt->lock);
    }
    return NULL;
}

static int tried_elsewhere(struct mgds_lock *lock)
{
    struct attempt attempt = {.lock = lock, .taken = -1};
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, try_it, &attempt), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return attempt.taken;
}

static void try_what_is_free_and_not(struct mgds_lock *lock)
{
    assert_int_equal(tried_elsewhere(lock), 1);
    mgds_lock_acquire(lock);
    assert_int_equal(tried_elsewhere(lock), 0);
    mgds_lock_release(lock);
    assert_int_equal(tried_elsewhere(lock), 1);
}

static void a_try_takes_only_what_is_free(void **state)
{
    (void)state;
    try_what_is_free_and_not(&leaf);
    try_what_is_free_and_not(&brief);
}

/* Wrong on purpose where clang would see it, too. */
MGDS_UNCHECKED static void take_in_falling_order(void *arg)
{
    (void)arg;
    mgds_lock_acquire(&conn);
    mgds_lock_acquire(&comm);
}

MGDS_UNCHECKED static void take_two_of_one_rank(void *arg)
{
    (void)arg;
    mgds_lock_acquire(&comm);
    mgds_lock_acquire(&other_comm);
}

MGDS_UNCHECKED static void release_what_is_not_held(void *arg)
{
    (void)arg;
    mgds_lock_acquire(&comm);
    mgds_lock_release(&leaf);
}

MGDS_UNCHECKED static void take_in_rising_order(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < 2; ++i) {
        mgds_lock_acquire(&comm);
        mgds_lock_acquire(&conn);
        mgds_lock_acquire(&leaf);
        mgds_lock_acquire(&brief);
        mgds_lock_release(&brief);
        mgds_lock_release(&conn); /* any order of release is fine */
        mgds_lock_release(&comm);
        mgds_lock_release(&leaf);
    }
}

static void *take_comm(void *arg)
{
    mgds_lock_acquire(&comm);
    mgds_lock_release(&comm);
    return arg;
}

/* A lock held by this thread does not limit others. */
static void hold_one_here_and_one_there(void *arg)
{
    (void)arg;
    pthread_t thread;
    mgds_lock_acquire(&leaf);
    assert_int_equal(pthread_create(&thread, NULL, take_comm, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    mgds_lock_release(&leaf);
}

static void rising_ranks_are_fine(void **state)
{
    (void)state;
    struct mgds_child child;
    mgds_child_run(&child, take_in_rising_order, NULL);
    assert_string_equal(child.errors, "");
    assert_int_equal(child.status, 0);
}

static void ranks_are_checked_in_each_thread_by_itself(void **state)
{
    (void)state;
    hold_one_here_and_one_there(NULL);
}

static void expect_abort(void (*body)(void *arg), const char *words)
{
#ifdef MGDS_LOCK_CHECK
    struct mgds_child child;
    mgds_child_run(&child, body, NULL);
    assert_true(WIFSIGNALED(child.status));
    assert_int_equal(WTERMSIG(child.status), SIGABRT);
    assert_non_null(strstr(child.errors, words));
#else
    (void)body;
    (void)words;
    skip(); /* a build without checks */
#endif
}

static void falling_rank_aborts_and_names_both(void **state)
{
    (void)state;
    expect_abort(take_in_falling_order,
                 "bug: lock comm is taken while lock conn is held");
}

static void second_lock_of_a_rank_aborts(void **state)
{
    (void)state;
    expect_abort(take_two_of_one_rank,
                 "bug: lock comm is taken while lock comm is held");
}

static void release_of_a_lock_not_held_aborts(void **state)
{
    (void)state;
    expect_abort(release_what_is_not_held, "bug: lock leaf is released by a "
                                           "thread that does not hold it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_at_a_time_holds_it),
        cmocka_unit_test(a_try_takes_only_what_is_free),
        cmocka_unit_test(rising_ranks_are_fine),
        cmocka_unit_test(ranks_are_checked_in_each_thread_by_itself),
        cmocka_unit_test(falling_rank_aborts_and_names_both),
        cmocka_unit_test(second_lock_of_a_rank_aborts),
        cmocka_unit_test(release_of_a_lock_not_held_aborts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
