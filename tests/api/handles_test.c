/* Handles: found while their object lives, never for another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shim/pmpi/handles.h"

static bool alive = true;

static bool get(void *object)
{
    (void)object;
    return alive;
}

static void handles_are_of_their_kind(void **state)
{
    struct mgds_handles handles = MGDS_HANDLES_INIT(0x3c000000u, get);
    int object, handle;

    (void)state;
    assert_int_equal(mgds_handles_add(&handle, &handles, &object), 0);
    assert_int_equal((uint32_t)handle & 0xfc000000u, 0x3c000000u);
    assert_int_not_equal(handle, 0x3c000000);
    assert_ptr_equal(mgds_handles_find(&handles, handle), &object);
    assert_null(mgds_handles_find(&handles, 0x3c000000));
    assert_null(mgds_handles_find(&handles, handle + 1));
    assert_null(mgds_handles_find(&handles, handle ^ 0x10000000));
    alive = false;
    assert_null(mgds_handles_find(&handles, handle));
    alive = true;
    assert_ptr_equal(mgds_handles_remove(&handles, handle), &object);
    assert_null(mgds_handles_remove(&handles, handle));
    assert_null(mgds_handles_find(&handles, handle));
    free(handles.places);
}

static void a_stale_handle_names_nothing(void **state)
{
    struct mgds_handles handles = MGDS_HANDLES_INIT(0x2c000000u, get);
    int first, second, old, fresh;

    (void)state;
    assert_int_equal(mgds_handles_add(&old, &handles, &first), 0);
    mgds_handles_remove(&handles, old);
    assert_int_equal(mgds_handles_add(&fresh, &handles, &second), 0);
    assert_int_not_equal(old, fresh);
    assert_null(mgds_handles_find(&handles, old));
    assert_ptr_equal(mgds_handles_find(&handles, fresh), &second);
    free(handles.places);
}

static void many_handles_are_apart(void **state)
{
    enum { MANY = 1000 };
    struct mgds_handles handles = MGDS_HANDLES_INIT(0x3c000000u, get);
    static int objects[MANY], handle[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(mgds_handles_add(&handle[i], &handles, &objects[i]),
                         0);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(mgds_handles_find(&handles, handle[i]), &objects[i]);
    free(handles.places);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_are_of_their_kind),
        cmocka_unit_test(a_stale_handle_names_nothing),
        cmocka_unit_test(many_handles_are_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
