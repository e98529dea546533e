/* Work items: each is run by one thread at a time, in the order in which they
 * were added, when it is due and by whom it is for; the wire's thread is kept
 * awake meanwhile. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>

#include "shim/base/clock.h"
#include "shim/base/container.h"
#include "shim/gds/msg/work.h"
#include "shim/gds/msg/worker.h"

enum { ITEMS = 4, THREADS = 3, LAPS = 500, ORDER = 64 };

struct item {
    struct mgds_work work;
    unsigned laps;   /* runs before it is done */
    bool stop;       /* what it lacks others lack, too */
    uint64_t added;  /* ns */
    uint64_t waited; /* ns, from added to its first run */
    unsigned runs;
    bool busy; /* under the engine's lock */
};

static struct item items[ITEMS];
static unsigned order[ORDER], ran; /* under the engine's lock */
static unsigned dropped;
static enum mgds_work_by last_by;
static int held; /* atomic */

/* The wire's, which the linker leads here. */
void __wrap_mgds_wire_hold(void);
void __wrap_mgds_wire_release(void);

void __wrap_mgds_wire_hold(void)
{
    __atomic_fetch_add(&held, 1, __ATOMIC_RELAXED);
}

void __wrap_mgds_wire_release(void)
{
    __atomic_fetch_sub(&held, 1, __ATOMIC_RELAXED);
}

static struct item *item_of(struct mgds_work *work)
{
    return MGDS_CONTAINER_OF(work, struct item, work);
}

static void note_run(struct item *item, enum mgds_work_by by)
{
    if (item->runs++ == 0)
        item->waited = mgds_clock_ns() - item->added;
    if (ran < ORDER)
        order[ran] = (unsigned)(item - items);
    ran++;
    last_by = by;
    if (item->runs < item->laps)
        mgds_work_again(&item->work);
    else
        mgds_work_done(&item->work);
}

static bool is_any(const struct mgds_work *work, const void *arg)
{
    (void)work;
    (void)arg;
    return true;
}

static bool run(struct mgds_work *work, enum mgds_work_by by)
{
    struct item *item = item_of(work);

    mgds_engine_enter();
    assert_false(item->busy);
    item->busy = true;
    assert_true(mgds_works_count(work->kind, is_any, NULL) > 0);
    assert_false(mgds_work_cancel(work)); /* this thread is at it */
    mgds_engine_leave();
    sched_yield();
    mgds_engine_enter();
    item->busy = false;
    note_run(item, by);
    mgds_engine_leave();
    return !item->stop;
}

static bool run_locked(struct mgds_work *work, enum mgds_work_by by)
{
    note_run(item_of(work), by);
    return true;
}

static void drop(struct mgds_work *work)
{
    assert_int_equal(work->state, MGDS_WORK_NONE);
    dropped++;
}

static void add(unsigned i, enum mgds_work_kind kind)
{
    mgds_engine_enter();
    items[i].added = mgds_clock_ns();
    mgds_work_add(&items[i].work, kind);
    mgds_engine_leave();
}

/* Of tests that are not about the worker, whom a pass may wake for what it
 * leaves. */
static void rest(void)
{
}

static int begin(void **state)
{
    static const struct mgds_work_handler handler = {run, drop};
    static const struct mgds_work_handler locked = {run_locked, drop};

    (void)state;
    for (unsigned i = 0; i < ITEMS; i++)
        items[i] = (struct item){.laps = 1};
    ran = dropped = 0;
    mgds_worker_init(rest);
    mgds_work_handle(MGDS_WORK_IMPORT, &handler);
    mgds_work_handle(MGDS_WORK_DELIVERED, &handler);
    mgds_work_handle(MGDS_WORK_DELIVERY, &handler);
    mgds_work_handle(MGDS_WORK_LATE_SEND, &locked);
    return 0;
}

static int end(void **state)
{
    (void)state;
    mgds_worker_fini();
    mgds_works_fini();
    return held != 0;
}

static void assert_order(unsigned count, const unsigned expected[])
{
    assert_int_equal(ran, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(order[i], expected[i]);
}

static void are_run_in_the_order_in_which_they_were_added(void **state)
{
    static const unsigned expected[] = {2, 0, 1};

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        add(expected[i], MGDS_WORK_IMPORT);
    assert_int_equal(held, 3);
    mgds_works_run(MGDS_WORK_BY_HOST);
    assert_order(3, expected);
    assert_int_equal(last_by, MGDS_WORK_BY_HOST);
    assert_int_equal(held, 0);
}

static void are_run_once_in_a_pass(void **state)
{
    static const unsigned expected[] = {0, 1, 0};

    (void)state;
    items[0].laps = 2;
    add(0, MGDS_WORK_IMPORT);
    add(1, MGDS_WORK_IMPORT);
    mgds_works_run_kind(MGDS_WORK_IMPORT, MGDS_WORK_BY_HOST);
    assert_order(2, expected);
    mgds_works_run_kind(MGDS_WORK_IMPORT, MGDS_WORK_BY_HOST);
    assert_order(3, expected);
}

static void what_one_lacks_ends_the_pass(void **state)
{
    static const unsigned expected[] = {0, 1};

    (void)state;
    items[0].stop = true;
    add(0, MGDS_WORK_IMPORT);
    add(1, MGDS_WORK_IMPORT);
    mgds_works_run(MGDS_WORK_BY_HOST);
    assert_order(1, expected);
    mgds_works_run(MGDS_WORK_BY_HOST);
    assert_order(2, expected);
}

static void can_be_cancelled_before_they_are_run(void **state)
{
    static const unsigned expected[] = {1};

    (void)state;
    add(0, MGDS_WORK_IMPORT);
    add(1, MGDS_WORK_IMPORT);
    mgds_engine_enter();
    assert_true(mgds_work_is_listed(&items[0].work));
    assert_true(mgds_work_cancel(&items[0].work));
    assert_false(mgds_work_is_listed(&items[0].work));
    assert_true(mgds_work_cancel(&items[0].work)); /* or were never added */
    assert_int_equal(mgds_works_count(MGDS_WORK_IMPORT, is_any, NULL), 1);
    mgds_engine_leave();
    mgds_works_run(MGDS_WORK_BY_HOST);
    assert_order(1, expected);
}

/* Of the driver the wire's thread asks nothing. */
static void the_wires_thread_runs_what_needs_no_driver(void **state)
{
    static const unsigned expected[] = {1};

    (void)state;
    add(0, MGDS_WORK_DELIVERY);
    add(1, MGDS_WORK_DELIVERED);
    mgds_works_run(MGDS_WORK_BY_WIRE);
    assert_order(1, expected);
    assert_int_equal(last_by, MGDS_WORK_BY_WIRE);
}

static void rounds_run_what_is_late_and_not_before(void **state)
{
    (void)state;
    add(0, MGDS_WORK_LATE_SEND);
    mgds_works_run(MGDS_WORK_BY_HOST);
    assert_int_equal(ran, 0);
    while (!mgds_works_due())
        sched_yield();
    mgds_engine_enter();
    mgds_works_run_locked();
    mgds_engine_leave();
    assert_int_equal(ran, 1);
    assert_true(items[0].waited >= 100000);
    assert_false(mgds_works_due());
}

static void those_of_a_kind_are_run_before_they_are_due(void **state)
{
    static const unsigned expected[] = {0, 1};

    (void)state;
    items[0].laps = 2; /* again is not now */
    add(0, MGDS_WORK_LATE_SEND);
    add(1, MGDS_WORK_LATE_SEND);
    mgds_engine_enter();
    mgds_works_run_now(MGDS_WORK_LATE_SEND);
    mgds_engine_leave();
    assert_order(2, expected);
    assert_int_equal(held, 1);
}

static void work(void)
{
    mgds_works_run(MGDS_WORK_BY_WORKER);
}

static unsigned ran_so_far(void)
{
    unsigned count;

    mgds_engine_enter();
    count = ran;
    mgds_engine_leave();
    return count;
}

static void the_worker_runs_what_no_call_came_by_for(void **state)
{
    (void)state;
    mgds_worker_init(work);
    add(0, MGDS_WORK_DELIVERY);
    add(1, MGDS_WORK_DELIVERY);
    while (ran_so_far() < 2) {
        mgds_works_run(MGDS_WORK_BY_WIRE);
        sched_yield();
    }
    mgds_worker_fini();
    assert_int_equal(last_by, MGDS_WORK_BY_WORKER);
    assert_true(items[0].waited >= 200000);
}

/* Nobody makes another pass: what is left the worker has to be woken for. */
static void the_worker_runs_what_a_call_leaves(void **state)
{
    static const unsigned expected[] = {1, 0};

    (void)state;
    mgds_worker_init(work);
    add(0, MGDS_WORK_DELIVERY);
    add(1, MGDS_WORK_DELIVERED);
    assert_true(mgds_works_leave());
    while (ran_so_far() < 2)
        sched_yield();
    mgds_worker_fini();
    assert_order(2, expected);
    assert_int_not_equal(last_by, MGDS_WORK_BY_HOST);
    assert_int_not_equal(last_by, MGDS_WORK_BY_WIRE);
}

static void *run_all(void *arg)
{
    (void)arg;
    while (ran_so_far() < ITEMS * LAPS)
        mgds_works_run(MGDS_WORK_BY_HOST);
    return NULL;
}

static void are_run_by_one_thread_at_a_time(void **state)
{
    pthread_t thread[THREADS];

    (void)state;
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i].laps = LAPS;
        add(i, MGDS_WORK_IMPORT);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_all, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < ITEMS; i++)
        assert_int_equal(items[i].runs, LAPS);
}

static void are_dropped_at_the_end(void **state)
{
    (void)state;
    add(0, MGDS_WORK_DELIVERY);
    add(1, MGDS_WORK_LATE_SEND);
    mgds_works_fini();
    assert_int_equal(dropped, 2);
    assert_int_equal(ran, 0);
}

/* The record is somebody else's, who finds that the item is over. */
static void nothing_is_given_up_where_nobody_says_what(void **state)
{
    static const struct mgds_work_handler handler = {.run = run};

    (void)state;
    mgds_work_handle(MGDS_WORK_ASK, &handler);
    assert_false(mgds_works_any(MGDS_WORK_ASK));
    add(0, MGDS_WORK_ASK);
    assert_true(mgds_works_any(MGDS_WORK_ASK)); /* though it is not due */
    mgds_works_fini();
    assert_false(mgds_works_any(MGDS_WORK_ASK));
    assert_false(mgds_work_is_listed(&items[0].work));
    assert_int_equal(ran, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            are_run_in_the_order_in_which_they_were_added, begin, end),
        cmocka_unit_test_setup_teardown(are_run_once_in_a_pass, begin, end),
        cmocka_unit_test_setup_teardown(what_one_lacks_ends_the_pass, begin,
                                        end),
        cmocka_unit_test_setup_teardown(can_be_cancelled_before_they_are_run,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            the_wires_thread_runs_what_needs_no_driver, begin, end),
        cmocka_unit_test_setup_teardown(rounds_run_what_is_late_and_not_before,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            those_of_a_kind_are_run_before_they_are_due, begin, end),
        cmocka_unit_test_setup_teardown(
            the_worker_runs_what_no_call_came_by_for, begin, end),
        cmocka_unit_test_setup_teardown(the_worker_runs_what_a_call_leaves,
                                        begin, end),
        cmocka_unit_test_setup_teardown(are_run_by_one_thread_at_a_time, begin,
                                        end),
        cmocka_unit_test_setup_teardown(are_dropped_at_the_end, begin, end),
        cmocka_unit_test_setup_teardown(
            nothing_is_given_up_where_nobody_says_what, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
