/* Settings of queue pairs, from the environment to where they are used. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "shim/gds/hca/settings.h"

static struct mgds_rail_settings load(void)
{
    struct mgds_rail_settings settings;
    struct mgds_config config;

    assert_int_equal(mgds_config_load(&config), 0);
    mgds_rail_settings_take(&settings, &config);
    mgds_config_fini(&config);
    return settings;
}

static void defaults_are_those_of_most_machines(void **state)
{
    struct mgds_rail_settings settings = load();

    (void)state;
    assert_int_equal(settings.pkey, 0);
    assert_int_equal(settings.gid_index, MGDS_GID_ANY);
    assert_int_equal(settings.gid_type, MGDS_GID_AUTO);
    assert_int_equal(settings.timeout, 16);
    assert_int_equal(settings.retries, 7);
    assert_int_equal(settings.rnr_retries, 7);
    assert_int_equal(settings.mtu, 0);
}

static void what_is_set_is_taken(void **state)
{
    struct mgds_rail_settings settings;

    (void)state;
    setenv("MPIX_GDS_IB_PKEY", "0x12", 1);
    setenv("MPIX_GDS_IB_GID_INDEX", "3", 1);
    setenv("MPIX_GDS_IB_GID_TYPE", "v1", 1);
    setenv("MPIX_GDS_IB_TRAFFIC_CLASS", "106", 1);
    setenv("MPIX_GDS_IB_SL", "4", 1);
    setenv("MPIX_GDS_IB_TIMEOUT", "18", 1);
    setenv("MPIX_GDS_IB_RETRIES", "2", 1);
    setenv("MPIX_GDS_IB_RNR_RETRIES", "1", 1);
    setenv("MPIX_GDS_IB_MTU", "2048", 1);
    settings = load();
    assert_int_equal(settings.pkey, 0x12);
    assert_int_equal(settings.gid_index, 3);
    assert_int_equal(settings.gid_type, MGDS_GID_V1);
    assert_int_equal(settings.traffic_class, 106);
    assert_int_equal(settings.service_level, 4);
    assert_int_equal(settings.timeout, 18);
    assert_int_equal(settings.retries, 2);
    assert_int_equal(settings.rnr_retries, 1);
    assert_int_equal(settings.mtu, 2048);
}

static void an_mtu_is_its_name(void **state)
{
    static const char *const names[] = {"256", "512", "1024", "2048", "4096"};

    (void)state;
    for (unsigned i = 0; i < 5; i++) {
        setenv("MPIX_GDS_IB_MTU", names[i], 1);
        assert_int_equal(load().mtu, atoi(names[i]));
    }
}

/* Ours is handed to the UCX that we open; the plain one is for all. */
static void devices_are_those_of_ucx(void **state)
{
    (void)state;
    unsetenv("UCX_NET_DEVICES");
    unsetenv("MPIX_GDS_UCX_NET_DEVICES");
    assert_null(mgds_config_net_devices());
    setenv("UCX_NET_DEVICES", "mlx5_1:1", 1);
    assert_string_equal(mgds_config_net_devices(), "mlx5_1:1");
    setenv("MPIX_GDS_UCX_NET_DEVICES", "all", 1);
    assert_string_equal(mgds_config_net_devices(), "all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_most_machines),
        cmocka_unit_test(what_is_set_is_taken),
        cmocka_unit_test(an_mtu_is_its_name),
        cmocka_unit_test(devices_are_those_of_ucx),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
