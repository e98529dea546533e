/* Rings between two processes: one has the memory, the other sees it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/gds/cuda/defer.h"
#include "tests/lib/fault_sweep.h"
#include "tests/soft/ring_pair.h"
#include "tests/soft/stage_place.h"

enum { THREADS = 4, VIEWS = 5000 };

static void run_on(const char *owner_host, void (*owner)(void **state),
                   const char *viewer_host, void (*viewer)(void **state))
{
    struct ring_part one = {owner_host, owner};
    struct ring_part two = {viewer_host, viewer};

    ring_pair_run(&one, &two);
}

static void run(void (*owner)(void **state), void (*viewer)(void **state))
{
    run_on("a", owner, "a", viewer);
}

/* Has a ring until the other is done with it. */
static void have_a_ring(void **state)
{
    struct mgds_ring *ring = ring_make_and_tell(ring_context[0]);

    (void)state;
    ring_meet();
    mgds_ring_destroy(ring);
}

static void write_and_look(void **state)
{
    struct mgds_ring *ring = ring_make_and_tell(ring_context[0]);

    (void)state;
    ring_meet(); /* the other wrote */
    ring_assert_zero(ring_third_of(ring, 0), RING_UNITS);
    ring_assert_filled(ring_third_of(ring, 1), RING_UNITS, 77);
    ring_assert_zero(ring_third_of(ring, 2), RING_UNITS);
    ring_fill(ring_third_of(ring, 2), RING_UNITS, 88);
    ring_meet();
    ring_meet(); /* the other looked */
    mgds_ring_destroy(ring);
}

static void look_and_write(void **state)
{
    struct mgds_ring_handle handle = ring_heard();
    struct mgds_ring_view *view = ring_view(ring_context[0], &handle);

    (void)state;
    ring_assert_zero(ring_third_seen(view, 0), RING_ALL);
    ring_fill(ring_third_seen(view, 1), RING_UNITS, 77);
    ring_meet();
    ring_meet();
    ring_assert_filled(ring_third_seen(view, 1), RING_UNITS, 77);
    ring_assert_filled(ring_third_seen(view, 2), RING_UNITS, 88);
    ring_meet();
    mgds_ring_view_destroy(view, NULL, NULL);
}

static void regions_are_the_same_memory_in_both_processes(void **state)
{
    (void)state;
    run(write_and_look, look_and_write);
}

static void note_end(void *arg)
{
    *(bool *)arg = true;
}

static void close_and_hear(void **state)
{
    struct mgds_ring_handle handle = ring_heard();
    struct mgds_ring_view *view = ring_view(ring_context[0], &handle);
    char *addr = mgds_ring_view_address(view);
    bool closed = false;

    (void)state;
    mgds_ring_view_destroy(view, note_end, &closed);
    assert_false(closed);
    ring_assert_zero(addr, RING_ALL);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_true(closed);
    assert_false(ring_is_mapped(addr));
    view = ring_view(ring_context[0], &handle); /* mapped once more */
    ring_assert_zero(mgds_ring_view_address(view), RING_ALL);
    mgds_ring_view_destroy(view, NULL, NULL);
    ring_meet();
}

static void view_is_closed_at_the_safe_point_and_says_so(void **state)
{
    (void)state;
    run(have_a_ring, close_and_hear);
}

static void have_rings_on_both(void **state)
{
    struct mgds_ring *ring[2];

    (void)state;
    for (int i = 0; i < 2; i++)
        ring[i] = ring_make_and_tell(ring_context[i]);
    ring_meet();
    for (int i = 0; i < 2; i++) {
        ring_assert_filled(ring_third_of(ring[i], 0), RING_UNITS,
                           10 * (uint64_t)i);
        ring_assert_filled(ring_third_of(ring[i], 1), RING_UNITS,
                           10 * (uint64_t)i + 1);
        mgds_ring_destroy(ring[i]);
    }
}

static void view_from_both(void **state)
{
    struct mgds_ring_view *view[2][2];

    (void)state;
    for (uint64_t i = 0; i < 2; i++) {
        struct mgds_ring_handle handle = ring_heard();

        for (uint32_t j = 0; j < 2; j++) {
            OK(cu.cuCtxSetCurrent(stage_primary[j]));
            view[i][j] = ring_view(ring_context[j], &handle);
            ring_fill(ring_third_seen(view[i][j], j), RING_UNITS, 10 * i + j);
        }
        assert_ptr_not_equal(ring_third_seen(view[i][0], 0),
                             ring_third_seen(view[i][1], 0));
    }
    ring_meet();
    for (int i = 0; i < 4; i++)
        mgds_ring_view_destroy(view[i / 2][i % 2], NULL, NULL);
    assert_int_equal(mgds_defer_drain(), 4);
}

static void every_gpu_sees_rings_of_every_other(void **state)
{
    (void)state;
    run(have_rings_on_both, view_from_both);
}

static void be_refused(const struct mgds_ring_handle *handle)
{
    struct mgds_ring_view *view = NULL;

    assert_true(mgds_ring_view_create(&view, ring_context[0], handle, false) <
                0);
    assert_null(view);
    assert_false(mgds_defer_pending());
}

static void be_elsewhere(void **state)
{
    struct mgds_ring_handle handle = ring_heard();

    (void)state;
    be_refused(&handle);
    ring_meet();
}

static void ring_of_another_host_is_refused(void **state)
{
    (void)state;
    run_on("a", have_a_ring, "b", be_elsewhere);
}

static void die(void **state)
{
    (void)state;
    mgds_ring_destroy(ring_make_and_tell(ring_context[0]));
}

static void come_late(void **state)
{
    struct mgds_ring_handle handle = ring_heard();

    (void)state;
    ring_await_end();
    be_refused(&handle);
}

static void ring_of_a_process_that_is_gone_is_refused(void **state)
{
    (void)state;
    run(die, come_late);
}

static void be_told_nonsense(void **state)
{
    struct mgds_ring_handle handle = {.units = 1};

    (void)state;
    memset(&handle.name, 0x5a, sizeof(handle.name));
    be_refused(&handle);
    ring_heard();
    ring_meet();
}

static void handle_of_nothing_is_refused(void **state)
{
    (void)state;
    run(have_a_ring, be_told_nonsense);
}

/* Whatever blocks here does so until the limit of the test. */
static void view_while_streams_stand(void **state)
{
    struct mgds_ring_handle handle = ring_heard();
    struct mgds_ring_view *view;
    struct ring_wait wait;
    char *addr;

    (void)state;
    ring_wait_open(&wait, 2);
    view = ring_view(ring_context[0], &handle);
    addr = ring_third_seen(view, 0);
    mgds_ring_view_destroy(view, NULL, NULL);
    assert_true(mgds_defer_pending());
    assert_true(ring_wait_stands(&wait));
    ring_wait_close(&wait);
    assert_int_equal(mgds_defer_drain(), 1);
    assert_false(ring_is_mapped(addr));
    ring_meet();
}

static void views_do_not_wait_for_streams_that_stand(void **state)
{
    (void)state;
    run(have_a_ring, view_while_streams_stand);
}

static void view_from_anywhere(void **state)
{
    CUcontext currents[] = {stage_primary[0], stage_primary[1], NULL}, now;
    struct mgds_ring_handle handle = ring_heard();

    (void)state;
    for (int i = 0; i < 3; i++) {
        OK(cu.cuCtxSetCurrent(currents[i]));
        mgds_ring_view_destroy(ring_view(ring_context[0], &handle), NULL, NULL);
        assert_int_equal(mgds_defer_drain(), 1);
        OK(cu.cuCtxGetCurrent(&now));
        assert_ptr_equal(now, currents[i]);
    }
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    ring_meet();
}

static void viewers_context_stays_current(void **state)
{
    (void)state;
    run(have_a_ring, view_from_anywhere);
}

/* A child of a program, as system() makes one. */
static void run_a_program(void)
{
    int status;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void have_and_run(void **state)
{
    struct mgds_ring *ring = ring_make_and_tell(ring_context[0]);

    (void)state;
    run_a_program();
    ring_meet();
    ring_assert_filled(ring_third_of(ring, 0), RING_ALL, 3);
    mgds_ring_destroy(ring);
}

static void view_and_run(void **state)
{
    struct mgds_ring_handle handle = ring_heard();
    struct mgds_ring_view *view = ring_view(ring_context[0], &handle);

    (void)state;
    run_a_program();
    ring_fill(ring_third_seen(view, 0), RING_ALL, 3);
    ring_meet();
    mgds_ring_view_destroy(view, NULL, NULL);
}

static void programs_that_are_started_change_nothing(void **state)
{
    (void)state;
    run(have_and_run, view_and_run);
}

static int view_and_drop(void *arg)
{
    struct mgds_ring_view *view = NULL;
    int rc = mgds_ring_view_create(&view, ring_context[0],
                                   (const struct mgds_ring_handle *)arg, false);

    if (rc < 0) {
        assert_int_equal(rc, -ENOMEM);
        assert_null(view);
    }
    mgds_ring_view_destroy(view, NULL, NULL);
    assert_int_equal(mgds_defer_drain(), rc < 0 ? 0 : 1);
    return rc;
}

static void view_without_memory(void **state)
{
    struct mgds_ring_handle handle = ring_heard();

    (void)state;
    assert_int_equal(mgds_fault_sweep(MGDS_FAULT_alloc, view_and_drop, &handle),
                     2);
    ring_meet();
}

static void view_that_fails_leaves_nothing_behind(void **state)
{
    (void)state;
#ifndef MGDS_FAULT
    skip();
#endif
    run(have_a_ring, view_without_memory);
}

static void *view_many(void *arg)
{
    char *addr = NULL;

    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    for (int i = 0; i < VIEWS; i++) {
        struct mgds_ring_view *view =
            ring_view(ring_context[0], (const struct mgds_ring_handle *)arg);

        assert_true(!addr || addr == ring_third_seen(view, 0));
        addr = ring_third_seen(view, 0);
        mgds_ring_view_destroy(view, NULL, NULL);
    }
    return addr;
}

static void view_by_threads(void **state)
{
    struct mgds_ring_handle handle = ring_heard();
    pthread_t thread[THREADS];
    void *addr[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, view_many, &handle),
                         0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], &addr[i]), 0);
        assert_ptr_equal(addr[i], addr[0]);
    }
    assert_true(mgds_defer_drain() >= 1);
    assert_false(ring_is_mapped((const char *)addr[0]));
    ring_meet();
}

static int stop; /* atomic */

static void *end_often(void *arg)
{
    (void)arg;
    OK(cu.cuCtxSetCurrent(stage_primary[0]));
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        mgds_defer_drain();
    }
    return NULL;
}

static void view_while_ending(void **state)
{
    struct mgds_ring_handle handle = ring_heard();
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, end_often, NULL), 0);
    for (int i = 0; i < VIEWS; i++)
        mgds_ring_view_destroy(ring_view(ring_context[0], &handle), NULL, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    ring_meet();
}

static void views_may_go_while_rings_end(void **state)
{
    (void)state;
    run(have_a_ring, view_while_ending);
}

static void threads_share_one_mapping(void **state)
{
    (void)state;
    run(have_a_ring, view_by_threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_are_the_same_memory_in_both_processes),
        cmocka_unit_test(view_is_closed_at_the_safe_point_and_says_so),
        cmocka_unit_test(every_gpu_sees_rings_of_every_other),
        cmocka_unit_test(ring_of_another_host_is_refused),
        cmocka_unit_test(ring_of_a_process_that_is_gone_is_refused),
        cmocka_unit_test(handle_of_nothing_is_refused),
        cmocka_unit_test(views_do_not_wait_for_streams_that_stand),
        cmocka_unit_test(viewers_context_stays_current),
        cmocka_unit_test(programs_that_are_started_change_nothing),
        cmocka_unit_test(view_that_fails_leaves_nothing_behind),
        cmocka_unit_test(threads_share_one_mapping),
        cmocka_unit_test(views_may_go_while_rings_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
