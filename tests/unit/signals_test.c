/* Tests of shim/gds/msg/signals.c: which fences are signalled, with
 * MPIX_GDS_SIGNAL_EVERY and MPIX_GDS_RING as the environment of each run has
 * them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>

#include "shim/ctx.h"
#include "shim/gds/msg/timeline.h"

enum { LAPS = 5 };

/* The stream's, which the linker leads here. */
bool __wrap_mgds_gstream_can_be_quiet(const struct mgds_gstream *stream);

static bool can_be_quiet;

bool __wrap_mgds_gstream_can_be_quiet(const struct mgds_gstream *stream)
{
    (void)stream;
    return can_be_quiet;
}

static uint64_t told, answer;
static struct mgds_signals signals;

static int begin(void **state)
{
    (void)state;
    can_be_quiet = true;
    mgds_signals_init(&signals, &told, &answer);
    return 0;
}

static uint64_t every(void)
{
    return mgds_ctx()->config.signal_every;
}

/* So many in a row, as put.c puts them, of which the last one is signalled. */
static void put_row(uint64_t count, size_t bytes)
{
    for (uint64_t i = 1; i < count; i++)
        assert_true(mgds_signals_defer(&signals, NULL, bytes));
    assert_false(mgds_signals_defer(&signals, NULL, bytes));
    assert_int_equal(mgds_signals_any_deferred(&signals), count > 1);
    mgds_signals_cover(&signals);
    assert_false(mgds_signals_any_deferred(&signals));
}

static void every_kth_is_signalled(void **state)
{
    (void)state;
    for (unsigned i = 0; i < LAPS; i++)
        put_row(every(), 0);
}

/* Of half such a part each second one is, however large k is. */
static void every_kth_part_of_a_ring_is_signalled(void **state)
{
    size_t part = mgds_ctx()->config.ring / every();

    (void)state;
    if (every() < 3)
        return;
    for (unsigned i = 0; i < LAPS; i++)
        put_row(2, part / 2 + 1);
    put_row(1, part + 1);
}

/* It covers those ahead of it: the next row begins behind it. */
static void a_sends_fence_begins_a_new_row(void **state)
{
    struct mgds_fence fence = {.number = 7};

    (void)state;
    if (every() < 2)
        return;
    assert_true(mgds_signals_defer(&signals, NULL, 0));
    mgds_signals_send(&signals, &fence);
    assert_true(fence.of_send);
    put_row(every(), 0);
}

static void no_fence_is_deferred_where_streams_cannot(void **state)
{
    (void)state;
    can_be_quiet = false;
    for (unsigned i = 0; i < LAPS; i++)
        assert_false(mgds_signals_defer(&signals, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_kth_is_signalled, begin),
        cmocka_unit_test_setup(every_kth_part_of_a_ring_is_signalled, begin),
        cmocka_unit_test_setup(a_sends_fence_begins_a_new_row, begin),
        cmocka_unit_test_setup(no_fence_is_deferred_where_streams_cannot,
                               begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
