/* Which ports a list as UCX_NET_DEVICES allows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/hca/netdevs.h"

static void no_list_allows_all(void **state)
{
    (void)state;
    assert_true(mgds_netdevs_allow(NULL, "mlx5_0", 1));
    assert_true(mgds_netdevs_allow("", "mlx5_0", 1));
    assert_true(mgds_netdevs_allow("all", "mlx5_0", 1));
}

static void a_list_allows_what_it_names(void **state)
{
    (void)state;
    assert_true(mgds_netdevs_allow("mlx5_0:1", "mlx5_0", 1));
    assert_false(mgds_netdevs_allow("mlx5_0:1", "mlx5_0", 2));
    assert_false(mgds_netdevs_allow("mlx5_0:1", "mlx5_1", 1));
    assert_false(mgds_netdevs_allow("mlx5_10:1", "mlx5_1", 1));
    assert_false(mgds_netdevs_allow("mlx5_1:1", "mlx5_10", 1));
    assert_true(mgds_netdevs_allow("eth0,mlx5_2:1, mlx5_3:2", "mlx5_2", 1));
    assert_true(mgds_netdevs_allow("eth0,mlx5_2:1, mlx5_3:2", "mlx5_3", 2));
    assert_false(mgds_netdevs_allow("eth0", "mlx5_0", 1));
    assert_false(mgds_netdevs_allow(",,", "mlx5_0", 1));
}

static void a_device_means_all_its_ports(void **state)
{
    (void)state;
    assert_true(mgds_netdevs_allow("mlx5_1", "mlx5_1", 1));
    assert_true(mgds_netdevs_allow("mlx5_1", "mlx5_1", 2));
    assert_false(mgds_netdevs_allow("mlx5_1", "mlx5_0", 1));
}

static void a_caret_allows_all_others(void **state)
{
    (void)state;
    assert_false(mgds_netdevs_allow("^mlx5_0:1,mlx5_1:1", "mlx5_0", 1));
    assert_false(mgds_netdevs_allow("^mlx5_0:1,mlx5_1:1", "mlx5_1", 1));
    assert_true(mgds_netdevs_allow("^mlx5_0:1,mlx5_1:1", "mlx5_2", 1));
    assert_false(mgds_netdevs_allow("^all", "mlx5_2", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_list_allows_all),
        cmocka_unit_test(a_list_allows_what_it_names),
        cmocka_unit_test(a_device_means_all_its_ports),
        cmocka_unit_test(a_caret_allows_all_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
