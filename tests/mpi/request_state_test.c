/* The states of requests: every event in every state, and where each kind of
 * request comes to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/pmpi/request_state.h"
#include "tests/lib/states.h"

/* The table is written down once more, by state: what may happen, in the order
 * of the events. All that is not here is refused. */
static const struct states_row expected[MGDS_REQUEST_STATES] = {
    [MGDS_REQUEST_NEW] = {"NEW", "INIT>INACTIVE BEGIN>ACTIVE DROP>DROPPED "
                                 "LINGER>LINGERING"},
    [MGDS_REQUEST_INACTIVE] = {"INACTIVE",
                               "START>ACTIVE GIVE>GIVEN LINGER>LINGERING"},
    [MGDS_REQUEST_ACTIVE] = {"ACTIVE", "LAND>LANDED COPY>COPYING "
                                       "REST>INACTIVE FINISH>DONE"},
    [MGDS_REQUEST_GIVEN] = {"GIVEN", "REST>INACTIVE"},
    [MGDS_REQUEST_LANDED] = {"LANDED", "COPY>COPYING"},
    [MGDS_REQUEST_COPYING] = {"COPYING",
                              "START>ACTIVE GIVE>GIVEN REST>INACTIVE "
                              "FINISH>DONE"},
    [MGDS_REQUEST_DONE] = {"DONE", "LINGER>LINGERING"},
    [MGDS_REQUEST_DROPPED] = {"DROPPED", ""},
    [MGDS_REQUEST_LINGERING] = {"LINGERING", ""},
};

static const char *const events[MGDS_REQUEST_EVENTS] = {
    "INIT", "BEGIN", "DROP", "START",  "GIVE",
    "LAND", "COPY",  "REST", "FINISH", "LINGER"};

static unsigned after(unsigned state, unsigned event)
{
    return mgds_request_state_after((enum mgds_request_state)state,
                                    (enum mgds_request_event)event);
}

static const struct states_table table = {expected, MGDS_REQUEST_STATES, events,
                                          MGDS_REQUEST_EVENTS, after};

static void every_event_in_every_state(void **state)
{
    (void)state;
    states_assert_steps(&table);
}

/* A bit for each state that can be come to by events of the mask. */
static uint32_t reach(unsigned start, uint32_t mask)
{
    return states_reached(&table, start, mask);
}

#define EVENT(name) (UINT32_C(1) << MGDS_REQUEST_ON_##name)
#define STATE(name) (UINT32_C(1) << MGDS_REQUEST_##name)

static void all_states_are_come_to(void **state)
{
    (void)state;
    assert_int_equal(reach(MGDS_REQUEST_NEW, UINT32_MAX),
                     (UINT32_C(1) << MGDS_REQUEST_STATES) - 1);
}

/* With its own events each kind comes to its own states alone. */
static void a_send_is_active_until_it_is_done(void **state)
{
    (void)state;
    assert_int_equal(reach(MGDS_REQUEST_NEW, EVENT(BEGIN) | EVENT(FINISH)),
                     STATE(NEW) | STATE(ACTIVE) | STATE(DONE));
}

static void a_persistent_request_is_never_done(void **state)
{
    const uint32_t its =
        EVENT(INIT) | EVENT(START) | EVENT(GIVE) | EVENT(COPY) | EVENT(REST);

    (void)state;
    assert_int_equal(reach(MGDS_REQUEST_NEW, its),
                     STATE(NEW) | STATE(INACTIVE) | STATE(ACTIVE) |
                         STATE(GIVEN) | STATE(COPYING));
    assert_int_equal(reach(MGDS_REQUEST_COPYING, its),
                     STATE(INACTIVE) | STATE(ACTIVE) | STATE(GIVEN) |
                         STATE(COPYING));
}

static void a_generalized_request_goes_one_way(void **state)
{
    const uint32_t its =
        EVENT(BEGIN) | EVENT(LAND) | EVENT(COPY) | EVENT(FINISH);

    (void)state;
    for (unsigned from = 0; from < MGDS_REQUEST_STATES; from++)
        for (unsigned event = 0; event < MGDS_REQUEST_EVENTS; event++)
            if (its & UINT32_C(1) << event && after(from, event) != from)
                assert_false(reach(after(from, event), its) & UINT32_C(1)
                                                                  << from);
}

/* What is copied together is not done before its copies are queued. */
static void what_has_landed_is_copied_first(void **state)
{
    (void)state;
    assert_int_equal(after(MGDS_REQUEST_LANDED, MGDS_REQUEST_ON_FINISH),
                     MGDS_REQUEST_LANDED);
    assert_int_equal(after(MGDS_REQUEST_LANDED, MGDS_REQUEST_ON_REST),
                     MGDS_REQUEST_LANDED);
}

/* Completion is told once: no event leads from there to DONE again. */
static void what_is_done_is_not_done_again(void **state)
{
    const unsigned ends[] = {MGDS_REQUEST_DONE, MGDS_REQUEST_DROPPED,
                             MGDS_REQUEST_LINGERING};

    (void)state;
    for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
        for (unsigned event = 0; event < MGDS_REQUEST_EVENTS; event++)
            assert_false(after(ends[i], event) != ends[i] &&
                         reach(after(ends[i], event), UINT32_MAX) &
                             STATE(DONE));
}

static void texts_tell_states_apart(void **state)
{
    (void)state;
    for (unsigned a = 0; a < MGDS_REQUEST_STATES; a++)
        for (unsigned b = 0; b < a; b++)
            assert_string_not_equal(
                mgds_request_state_text((enum mgds_request_state)a),
                mgds_request_state_text((enum mgds_request_state)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_event_in_every_state),
        cmocka_unit_test(all_states_are_come_to),
        cmocka_unit_test(a_send_is_active_until_it_is_done),
        cmocka_unit_test(a_persistent_request_is_never_done),
        cmocka_unit_test(a_generalized_request_goes_one_way),
        cmocka_unit_test(what_has_landed_is_copied_first),
        cmocka_unit_test(what_is_done_is_not_done_again),
        cmocka_unit_test(texts_tell_states_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
