/* The door to rdma-core where its libraries are not, or are others. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "shim/gds/hca/verbs.h"

static void assert_refused(const char *verbs_library, const char *mlx5_library,
                           enum mgds_refusal_reason reason)
{
    struct mgds_verbs verbs;
    struct mgds_refusal refusal = {0};

    assert_int_equal(
        mgds_verbs_find(&verbs, verbs_library, mlx5_library, &refusal),
        -ENOTSUP);
    assert_int_equal(refusal.reason, reason);
}

static void a_missing_library_is_named(void **state)
{
    (void)state;
    assert_refused("libmgds_none.so.1", FAKE_EMPTY, MGDS_REFUSAL_NO_VERBS);
    assert_refused(FAKE_EMPTY, "libmgds_none.so.1", MGDS_REFUSAL_NO_MLX5);
}

static void a_library_without_our_functions_is_old(void **state)
{
    (void)state;
    assert_refused(FAKE_EMPTY, FAKE_EMPTY, MGDS_REFUSAL_OLD_VERBS);
}

/* Where rdma-core is installed the table is complete; else there is a reason,
 * and it is the same each time. */
static void the_table_is_complete_or_refused(void **state)
{
    struct mgds_refusal refusal = {MGDS_REFUSAL_FRAME, 1}, again;
    const struct mgds_verbs *verbs = mgds_verbs(&refusal);

    (void)state;
    assert_ptr_equal(mgds_verbs(&again), verbs);
    assert_int_equal(again.reason, refusal.reason);
    if (!verbs) {
        assert_int_not_equal(refusal.reason, MGDS_REFUSAL_NONE);
        return;
    }
    assert_int_equal(refusal.reason, MGDS_REFUSAL_NONE);
    assert_non_null((verbs->ibv_get_device_list));
    assert_non_null((verbs->mlx5dv_init_obj));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_is_named),
        cmocka_unit_test(a_library_without_our_functions_is_old),
        cmocka_unit_test(the_table_is_complete_or_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
