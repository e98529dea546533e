/* Distances between PCI devices, from paths as machines have them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "shim/gds/hca/pci.h"

#define ROOT "/sys/devices/pci0000:15/"
#define SWITCH ROOT "0000:15:01.0/0000:16:00.0/"

/* A DGX's HCA, behind a port of a switch. */
static const struct mgds_pci hca = {SWITCH "0000:17:00.0/0000:18:00.0", 0};

static enum mgds_distance to(const char *path, int node)
{
    struct mgds_pci gpu = {.node = node};
    enum mgds_distance there;

    for (unsigned i = 0; path[i]; i++)
        gpu.path[i] = path[i];
    there = mgds_pci_distance(&hca, &gpu);
    assert_int_equal(mgds_pci_distance(&gpu, &hca), there);
    return there;
}

static void what_lies_between_is_the_distance(void **state)
{
    (void)state;
    assert_int_equal(to(SWITCH "0000:17:02.0/0000:1b:00.0", 0),
                     MGDS_DISTANCE_PIX);
    assert_int_equal(
        to(SWITCH "0000:17:02.0/0000:1b:00.0/0000:1c:00.0/0000:1d:00.0", 0),
        MGDS_DISTANCE_PXB);
    assert_int_equal(to(ROOT "0000:15:02.0/0000:20:00.0", 0),
                     MGDS_DISTANCE_PHB);
    assert_int_equal(to(ROOT "0000:15:1f.0", 0), MGDS_DISTANCE_PHB);
    assert_int_equal(to("/sys/devices/pci0000:37/0000:37:01.0/0000:38:00.0", 0),
                     MGDS_DISTANCE_NODE);
    assert_int_equal(to("/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0", 1),
                     MGDS_DISTANCE_SYS);
}

/* The second function of the same card is as near as can be. */
static void functions_of_a_device_are_near(void **state)
{
    (void)state;
    assert_int_equal(to(SWITCH "0000:17:00.0/0000:18:00.1", 0),
                     MGDS_DISTANCE_PIX);
    assert_int_equal(to(SWITCH "0000:17:00.0/0000:18:00.0", 0),
                     MGDS_DISTANCE_PIX);
}

static void what_is_not_known_is_far(void **state)
{
    const struct mgds_pci nowhere = {.node = -1}, same = {.node = -1};

    (void)state;
    assert_int_equal(to("", 0), MGDS_DISTANCE_SYS);
    assert_int_equal(to("/sys/devices/virtual/net/lo", 0), MGDS_DISTANCE_SYS);
    assert_int_equal(to("/sys/devices/pci0000:37/0000:37:01.0", -1),
                     MGDS_DISTANCE_SYS);
    assert_int_equal(mgds_pci_distance(&nowhere, &same), MGDS_DISTANCE_SYS);
}

static void names_are_those_of_nvidia_smi(void **state)
{
    (void)state;
    assert_string_equal(mgds_distance_name(MGDS_DISTANCE_PIX), "PIX");
    assert_string_equal(mgds_distance_name(MGDS_DISTANCE_SYS), "SYS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_between_is_the_distance),
        cmocka_unit_test(functions_of_a_device_are_near),
        cmocka_unit_test(what_is_not_known_is_far),
        cmocka_unit_test(names_are_those_of_nvidia_smi),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
