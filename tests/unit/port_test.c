/* Ports of a machine, from a tree that is laid out as sysfs is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/gds/hca/port.h"

static char root[] = "/tmp/mgds_port_XXXXXX";

/* Shell: the test is about what is read. */
static void run(const char *format, ...)
{
    char command[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    assert_int_equal(system(command), 0); /* NOLINT: a test's own text */
}

static void add_device(const char *name, const char *bus, const char *vendor)
{
    run("d=%s/devices/%s; mkdir -p $d/infiniband/%s/ports; "
        "echo %s >$d/vendor; echo 1 >$d/numa_node; "
        "mkdir -p %s/class/infiniband %s/bus/pci/devices; "
        "ln -s ../.. $d/infiniband/%s/device; "
        "ln -s ../../devices/%s/infiniband/%s %s/class/infiniband/%s; "
        "ln -s ../../../devices/%s %s/bus/pci/devices/$(basename %s)",
        root, bus, name, vendor, root, root, name, bus, name, root, name, bus,
        root, bus);
}

static void add_port(const char *device, unsigned port, const char *state,
                     const char *layer, const char *rate)
{
    run("p=%s/class/infiniband/%s/ports/%u; mkdir -p $p; "
        "echo '%s' >$p/state; echo '%s' >$p/link_layer; echo '%s' >$p/rate",
        root, device, port, state, layer, rate);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root + sizeof(root) - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    run("rm -r %s", root);
    return 0;
}

static void a_machine_without_devices_has_none(void **state)
{
    struct mgds_port *ports = NULL;

    (void)state;
    assert_int_equal(mgds_ports_list(&ports, root), 0);
    free(ports);
}

static void ports_are_as_sysfs_says(void **state)
{
    struct mgds_port *ports;
    struct mgds_pci pci;

    (void)state;
    add_device("mlx5_10", "pci0000:15/0000:15:01.0/0000:18:00.1", "0x15b3");
    add_device("mlx5_9", "pci0000:15/0000:15:01.0/0000:18:00.0", "0x15b3");
    add_device("efa_0", "pci0000:37/0000:38:00.0", "0x1d0f");
    add_port("mlx5_9", 1, "4: ACTIVE", "InfiniBand", "400 Gb/sec (4X NDR)");
    add_port("mlx5_9", 2, "1: DOWN", "Ethernet", "100 Gb/sec (4X EDR)");
    add_port("mlx5_10", 1, "4: ACTIVE", "Ethernet", "200 Gb/sec (2X NDR)");
    add_port("efa_0", 1, "4: ACTIVE", "Unspecified", "100 Gb/sec (4X EDR)");
    assert_int_equal(mgds_ports_list(&ports, root), 4);
    assert_string_equal(ports[0].device, "efa_0");
    assert_false(ports[0].connectx);
    assert_int_equal(ports[0].link, MGDS_LINK_OTHER);
    assert_string_equal(ports[1].device, "mlx5_9");
    assert_int_equal(ports[1].number, 1);
    assert_true(ports[1].connectx && ports[1].active);
    assert_int_equal(ports[1].link, MGDS_LINK_INFINIBAND);
    assert_int_equal(ports[1].rate, 400);
    assert_int_equal(ports[1].pci.node, 1);
    assert_int_equal(ports[2].number, 2);
    assert_false(ports[2].active);
    assert_int_equal(ports[2].link, MGDS_LINK_ETHERNET);
    assert_string_equal(ports[3].device, "mlx5_10");
    mgds_pci_read(&pci, root, "bus/pci/devices/0000:18:00.0");
    assert_string_equal(pci.path, ports[1].pci.path);
    assert_int_equal(mgds_pci_distance(&pci, &ports[3].pci), MGDS_DISTANCE_PIX);
    mgds_pci_read(&pci, root, "bus/pci/devices/0000:99:00.0");
    assert_string_equal(pci.path, "");
    free(ports);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_without_devices_has_none,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(ports_are_as_sysfs_says, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
