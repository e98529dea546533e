/* Which numbers have come, against a table of all: each is taken once, in
 * whatever order they come. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/gds/wire/window.h"
#include "tests/lib/fault_sweep.h"

enum { NUMBERS = 3000, STEPS = 20000 };

static void numbers_in_order_need_nothing(void **state)
{
    struct mgds_window window = {.top = 0};

    (void)state;
    for (uint64_t i = 1; i <= NUMBERS; i++) {
        assert_int_equal(mgds_window_take(&window, i), 0);
        assert_int_equal(mgds_window_take(&window, i), -EALREADY);
        assert_int_equal(window.gaps, 0);
    }
    assert_int_equal(mgds_window_take(&window, 0), -EALREADY);
    mgds_window_fini(&window);
}

/* 0 comes last of all, every other one before. */
static void a_number_may_be_overtaken_by_any_distance(void **state)
{
    struct mgds_window window = {.top = 0};

    (void)state;
    for (uint64_t i = NUMBERS; i > 0; i--)
        assert_int_equal(mgds_window_take(&window, i), 0);
    assert_int_equal(window.gaps, 0);
    assert_int_equal(mgds_window_take(&window, UINT64_MAX), 0);
    assert_int_equal(mgds_window_take(&window, UINT64_MAX), -EALREADY);
    assert_int_equal(mgds_window_take(&window, UINT64_MAX - 1), 0);
    assert_int_equal(mgds_window_take(&window, NUMBERS + 1), 0);
    assert_int_equal(mgds_window_take(&window, NUMBERS), -EALREADY);
    assert_int_equal(window.gaps, 1);
    mgds_window_fini(&window);
}

static void every_other_number_is_missing(void **state)
{
    struct mgds_window window = {.top = 0};

    (void)state;
    for (uint64_t i = 2; i <= NUMBERS; i += 2)
        assert_int_equal(mgds_window_take(&window, i), 0);
    assert_int_equal(window.gaps, NUMBERS / 2);
    for (uint64_t i = 1; i <= NUMBERS; i++)
        assert_int_equal(mgds_window_take(&window, i), i % 2 ? 0 : -EALREADY);
    assert_int_equal(window.gaps, 0);
    mgds_window_fini(&window);
}

static uint64_t random_below(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % limit;
}

/* Some way around what comes, so that gaps are cut from all sides. */
static void every_order_is_as_the_table_says(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct mgds_window window = {.top = 0};
        bool *come = (bool *)calloc(NUMBERS + 1, sizeof(bool));
        uint64_t random = seed;
        uint64_t reach = 2 + seed * seed;

        assert_non_null(come);
        for (uint64_t i = 0; i < STEPS; i++) {
            uint64_t at =
                1 +
                (i * NUMBERS / STEPS + random_below(&random, reach)) % NUMBERS;

            assert_int_equal(mgds_window_take(&window, at),
                             come[at] ? -EALREADY : 0);
            come[at] = true;
        }
        for (uint64_t i = 1; i <= NUMBERS; i++)
            assert_int_equal(mgds_window_take(&window, i),
                             come[i] ? -EALREADY : 0);
        mgds_window_fini(&window);
        free(come);
    }
}

/* What was refused for want of memory comes when there is some. */
static int take_scattered(void *arg)
{
    struct mgds_window window = {.top = 0};
    int rc = 0;

    (void)arg;
    for (uint64_t i = 3; i <= 300 && rc == 0; i += 3) {
        rc = mgds_window_take(&window, i);
        assert_true(rc == 0 || rc == -ENOMEM);
        if (rc < 0)
            assert_int_equal(mgds_window_take(&window, i), 0);
    }
    mgds_window_fini(&window);
    return rc;
}

static void without_memory_nothing_has_come(void **state)
{
    (void)state;
    assert_true(mgds_fault_sweep(MGDS_FAULT_alloc, take_scattered, NULL) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_order_need_nothing),
        cmocka_unit_test(a_number_may_be_overtaken_by_any_distance),
        cmocka_unit_test(every_other_number_is_missing),
        cmocka_unit_test(every_order_is_as_the_table_says),
        cmocka_unit_test(without_memory_nothing_has_come),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
