/* The states of operations: every event in every state, and that all of them
 * come to an end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/msg/op_state.h"
#include "tests/lib/states.h"

/* The table is written down once more, by state: what may happen, in the order
 * of the events. All that is not here is refused. */
static const struct states_row expected[MGDS_OP_STATES] = {
    [MGDS_OP_NEW] = {"NEW", "CALL>CALLED POST>POSTED"},
    [MGDS_OP_CALLED] = {"CALLED", "PULL>ASKED COPIED>COPIED READ>READ "
                                  "FAIL>UNSENT LOSE>UNSENT"},
    [MGDS_OP_ASKED] = {"ASKED",
                       "REFUSE>REFUSED ANSWER>READY SEND>SENDING "
                       "COPIED>COPIED FLOW>FLOWING FAIL>UNSENT LOSE>UNSENT"},
    [MGDS_OP_REFUSED] = {"REFUSED", "SEND>SENDING FLOW>FLOWING FAIL>UNSENT "
                                    "LOSE>UNSENT"},
    [MGDS_OP_READY] = {"READY",
                       "COPIED>COPIED READ>READ FAIL>UNSENT LOSE>UNSENT"},
    [MGDS_OP_COPIED] = {"COPIED", "READ>READ FAIL>UNSENT LOSE>READ"},
    [MGDS_OP_SENDING] = {"SENDING", "SENT>SENT FAIL>UNSENT"},
    [MGDS_OP_FLOWING] = {"FLOWING", "SENT>SENT FAIL>UNSENT LOSE>UNSENT"},
    [MGDS_OP_SENT] = {"SENT", ""},
    [MGDS_OP_READ] = {"READ", ""},
    [MGDS_OP_UNSENT] = {"UNSENT", ""},
    [MGDS_OP_POSTED] = {"POSTED", "HOLD>HELD WANT>WANTED CANCEL>CANCELLED "
                                  "FAIL>DELIVERED LOSE>DELIVERED"},
    [MGDS_OP_HELD] = {"HELD", "WANT>WANTED TAKE>TAKEN DELIVER>DELIVERED "
                              "FAIL>DELIVERED LOSE>DELIVERED"},
    [MGDS_OP_WANTED] = {"WANTED", "ASK>PULLED DELIVER>DELIVERED "
                                  "FAIL>DELIVERED LOSE>DELIVERED"},
    [MGDS_OP_PULLED] = {"PULLED", "LAND>LANDING FLOW>FILLING DELIVER>DELIVERED "
                                  "FAIL>DELIVERED LOSE>DELIVERED"},
    [MGDS_OP_LANDING] = {"LANDING", "DELIVER>DELIVERED FAIL>DELIVERED"},
    [MGDS_OP_FILLING] = {"FILLING",
                         "DELIVER>DELIVERED FAIL>DELIVERED LOSE>DELIVERED"},
    [MGDS_OP_DELIVERED] = {"DELIVERED", "ARRIVE>ARRIVED"},
    [MGDS_OP_ARRIVED] = {"ARRIVED", ""},
    [MGDS_OP_TAKEN] = {"TAKEN", "PASS>PASSED"},
    [MGDS_OP_PASSED] = {"PASSED", ""},
    [MGDS_OP_CANCELLED] = {"CANCELLED", ""},
};

static const char *const events[MGDS_OP_EVENTS] = {
    "CALL", "PULL",    "REFUSE", "ANSWER", "SEND",   "SENT", "COPIED",
    "READ", "POST",    "HOLD",   "WANT",   "TAKE",   "ASK",  "LAND",
    "FLOW", "DELIVER", "ARRIVE", "PASS",   "CANCEL", "FAIL", "LOSE"};

static enum mgds_op_state after(unsigned state, unsigned event)
{
    return mgds_op_state_after((enum mgds_op_state)state,
                               (enum mgds_op_event)event);
}

static unsigned after_any(unsigned state, unsigned event)
{
    return after(state, event);
}

static const struct states_table table = {expected, MGDS_OP_STATES, events,
                                          MGDS_OP_EVENTS, after_any};

static void every_event_in_every_state(void **state)
{
    (void)state;
    states_assert_steps(&table);
}

/* A bit for each state that can be come to. */
static uint32_t reach(unsigned state)
{
    return states_reached(&table, state, UINT32_MAX);
}

static bool is_end(unsigned state)
{
    return expected[state].steps[0] == '\0';
}

static void all_states_are_come_to_and_end(void **state)
{
    (void)state;
    assert_int_equal(reach(MGDS_OP_NEW), (UINT32_C(1) << MGDS_OP_STATES) - 1);
    for (unsigned from = 0; from < MGDS_OP_STATES; from++) {
        bool ends = false;

        for (unsigned to = 0; to < MGDS_OP_STATES; to++)
            ends |= is_end(to) && reach(from) & UINT32_C(1) << to;
        assert_true(ends);
    }
}

/* So each goes on only so often, whatever happens. */
static void no_state_comes_again(void **state)
{
    (void)state;
    for (unsigned from = 0; from < MGDS_OP_STATES; from++)
        for (unsigned event = 0; event < MGDS_OP_EVENTS; event++)
            if (after(from, event) != from)
                assert_false(reach(after(from, event)) & UINT32_C(1) << from);
}

static void what_was_moved_stays_moved(void **state)
{
    (void)state;
    for (unsigned from = 0; from < MGDS_OP_STATES; from++) {
        if (is_end(from))
            assert_true(mgds_op_state_is_moved((enum mgds_op_state)from));
        for (unsigned event = 0; event < MGDS_OP_EVENTS; event++)
            if (mgds_op_state_is_moved((enum mgds_op_state)from))
                assert_true(mgds_op_state_is_moved(after(from, event)));
    }
}

/* Whatever is called can fail until it is moved, and is moved then. */
static void failure_ends_what_is_under_way(void **state)
{
    (void)state;
    for (unsigned from = MGDS_OP_NEW + 1; from < MGDS_OP_STATES; from++) {
        enum mgds_op_state to = after(from, MGDS_OP_ON_FAIL);

        assert_int_equal(to == from,
                         mgds_op_state_is_moved((enum mgds_op_state)from));
        assert_true(mgds_op_state_is_moved(to));
    }
}

/* What the wire, or a copy, is at ends by itself. */
static void loss_leaves_alone_what_somebody_is_at(void **state)
{
    (void)state;
    assert_int_equal(after(MGDS_OP_SENDING, MGDS_OP_ON_LOSE), MGDS_OP_SENDING);
    assert_int_equal(after(MGDS_OP_LANDING, MGDS_OP_ON_LOSE), MGDS_OP_LANDING);
    assert_int_equal(after(MGDS_OP_TAKEN, MGDS_OP_ON_LOSE), MGDS_OP_TAKEN);
}

/* Where sends end, receives do not, and the other way. */
static void sends_and_receives_have_nothing_in_common(void **state)
{
    (void)state;
    assert_int_equal(reach(MGDS_OP_CALLED) & reach(MGDS_OP_POSTED), 0);
}

static void texts_tell_states_apart(void **state)
{
    (void)state;
    for (unsigned a = 0; a < MGDS_OP_STATES; a++)
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(mgds_op_state_text((enum mgds_op_state)a),
                                    mgds_op_state_text((enum mgds_op_state)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state),
        cmocka_unit_test(all_states_are_come_to_and_end),
        cmocka_unit_test(no_state_comes_again),
        cmocka_unit_test(what_was_moved_stays_moved),
        cmocka_unit_test(failure_ends_what_is_under_way),
        cmocka_unit_test(loss_leaves_alone_what_somebody_is_at),
        cmocka_unit_test(sends_and_receives_have_nothing_in_common),
        cmocka_unit_test(texts_tell_states_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
