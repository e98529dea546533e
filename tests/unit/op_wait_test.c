/* What waits in streams make of operations: every event in every state. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/msg/op_wait.h"
#include "tests/lib/states.h"

/* The table is written down once more, by state: what may happen, in the order
 * of the events. All that is not here is refused. */
static const struct states_row expected[MGDS_OP_WAITINGS] = {
    [MGDS_OP_FREE] = {"FREE",
                      "HOLD>WAITED TAKE>TAKING KNOW>KNOWN AWAIT>AWAITING"},
    [MGDS_OP_WAITED] = {"WAITED", "BREAK>UNPUT"},
    [MGDS_OP_TAKING] = {"TAKING", "BREAK>UNPUT"},
    [MGDS_OP_KNOWN] = {"KNOWN", ""},
    [MGDS_OP_AWAITING] = {"AWAITING", "PASS>AWAITED"},
    [MGDS_OP_AWAITED] = {"AWAITED", ""},
    [MGDS_OP_UNPUT] = {"UNPUT", ""},
};

static const char *const events[MGDS_OP_WAIT_EVENTS] = {
    "HOLD", "TAKE", "KNOW", "AWAIT", "PASS", "BREAK"};

static enum mgds_op_waiting after(unsigned waiting, unsigned event)
{
    return mgds_op_waiting_after((enum mgds_op_waiting)waiting,
                                 (enum mgds_op_wait_event)event);
}

static unsigned after_any(unsigned waiting, unsigned event)
{
    return after(waiting, event);
}

static const struct states_table table = {expected, MGDS_OP_WAITINGS, events,
                                          MGDS_OP_WAIT_EVENTS, after_any};

static void every_event_in_every_state(void **state)
{
    (void)state;
    states_assert_steps(&table);
}

static uint32_t reach(unsigned waiting)
{
    return states_reached(&table, waiting, UINT32_MAX);
}

static void all_states_are_come_to(void **state)
{
    (void)state;
    assert_int_equal(reach(MGDS_OP_FREE),
                     (UINT32_C(1) << MGDS_OP_WAITINGS) - 1);
}

/* Who lets the stream pass is settled once, when the wait is put. */
static void nothing_changes_who_lets_the_stream_pass(void **state)
{
    const enum mgds_op_wait_event settle[] = {
        MGDS_OP_WAIT_ON_HOLD, MGDS_OP_WAIT_ON_TAKE, MGDS_OP_WAIT_ON_KNOW,
        MGDS_OP_WAIT_ON_AWAIT};

    (void)state;
    for (unsigned from = MGDS_OP_FREE + 1; from < MGDS_OP_WAITINGS; from++)
        for (unsigned i = 0; i < sizeof(settle) / sizeof(settle[0]); i++)
            assert_int_equal(after(from, settle[i]), from);
}

/* A message that was taken is read by a kernel: its wait cannot be undone. */
static void what_is_taken_stays_put(void **state)
{
    (void)state;
    assert_int_equal(after(MGDS_OP_KNOWN, MGDS_OP_WAIT_ON_BREAK),
                     MGDS_OP_KNOWN);
    for (unsigned i = 0; i < MGDS_OP_WAITINGS; i++)
        assert_int_equal(mgds_op_waiting_takes((enum mgds_op_waiting)i),
                         i == MGDS_OP_TAKING || i == MGDS_OP_KNOWN);
}

static void texts_tell_states_apart(void **state)
{
    (void)state;
    for (unsigned a = 0; a < MGDS_OP_WAITINGS; a++)
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(
                mgds_op_waiting_text((enum mgds_op_waiting)a),
                mgds_op_waiting_text((enum mgds_op_waiting)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state),
        cmocka_unit_test(all_states_are_come_to),
        cmocka_unit_test(nothing_changes_who_lets_the_stream_pass),
        cmocka_unit_test(what_is_taken_stays_put),
        cmocka_unit_test(texts_tell_states_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
