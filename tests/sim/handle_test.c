/* Tests of sim/cuda/handle.c: which pointers are live handles. */
#include "tests/sim/gpu.h"

static void handle_is_live_between_add_and_drop(void **state)
{
    static int object, other;

    (void)state;
    assert_false(mgds_handle_is(MGDS_HANDLE_STREAM, &object));
    mgds_handle_add(MGDS_HANDLE_STREAM, &object);
    assert_true(mgds_handle_is(MGDS_HANDLE_STREAM, &object));
    assert_false(mgds_handle_is(MGDS_HANDLE_EVENT, &object));
    assert_false(mgds_handle_is(MGDS_HANDLE_STREAM, &other));
    assert_false(mgds_handle_is(MGDS_HANDLE_STREAM, NULL));
    mgds_handle_drop(&object);
    assert_false(mgds_handle_is(MGDS_HANDLE_STREAM, &object));
}

static void address_serves_another_kind_later(void **state)
{
    static int object;

    (void)state;
    mgds_handle_add(MGDS_HANDLE_STREAM, &object);
    mgds_handle_drop(&object);
    mgds_handle_add(MGDS_HANDLE_EVENT, &object);
    assert_true(mgds_handle_is(MGDS_HANDLE_EVENT, &object));
    assert_false(mgds_handle_is(MGDS_HANDLE_STREAM, &object));
    mgds_handle_drop(&object);
}

/* Long runs make and drop millions of handles; few live at a time. */
static void many_short_lives_leave_the_others_alone(void **state)
{
    static char objects[3000];

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        mgds_handle_add(MGDS_HANDLE_NODE, &objects[i]);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 1000; i < 3000; i++)
            mgds_handle_add(MGDS_HANDLE_EVENT, &objects[i]);
        for (unsigned i = 1000; i < 3000; i++)
            mgds_handle_drop(&objects[i]);
    }
    for (unsigned i = 0; i < 1000; i++)
        assert_true(mgds_handle_is(MGDS_HANDLE_NODE, &objects[i]));
    for (unsigned i = 1000; i < 3000; i++)
        assert_false(mgds_handle_is(MGDS_HANDLE_EVENT, &objects[i]));
    for (unsigned i = 0; i < 1000; i++)
        mgds_handle_drop(&objects[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handle_is_live_between_add_and_drop),
        cmocka_unit_test(address_serves_another_kind_later),
        cmocka_unit_test(many_short_lives_leave_the_others_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
