/* Which ports are chosen: filters, distance, speed, how many. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/gds/hca/choice.h"

#define NEAR_BUS "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/"
#define FAR_BUS "/sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0/"

static const struct mgds_pci gpu = {NEAR_BUS "0000:17:02.0/0000:1b:00.0", 0};

static struct mgds_port port_of(unsigned device, const char *bus, unsigned rate)
{
    struct mgds_port port = {.number = 1,
                             .link = MGDS_LINK_INFINIBAND,
                             .active = true,
                             .connectx = true,
                             .rate = rate};

    snprintf(port.device, sizeof(port.device), "mlx5_%u", device);
    snprintf(port.pci.path, sizeof(port.pci.path),
             "%s0000:17:0%u.0/0000:20:00.0", bus, device);
    port.pci.node = bus[strlen("/sys/devices/pci0000:")] == '9';
    return port;
}

/* The names of the chosen ones, one behind the other. */
static const char *choose(struct mgds_port *ports, unsigned count,
                          const struct mgds_choice *choice)
{
    static char names[256];
    struct mgds_refusal refusal;
    int chosen = mgds_choose_ports(ports, count, choice, &refusal);

    names[0] = '\0';
    for (int i = 0; i < chosen; i++) {
        size_t at = strlen(names);

        snprintf(names + at, sizeof(names) - at, "%s%s:%u", i > 0 ? " " : "",
                 ports[i].device, ports[i].number);
    }
    return names;
}

static void the_nearest_ones_are_chosen(void **state)
{
    struct mgds_port ports[] = {
        port_of(0, FAR_BUS, 400), port_of(1, NEAR_BUS, 400),
        port_of(2, FAR_BUS, 400), port_of(3, NEAR_BUS, 400)};
    struct mgds_choice choice = {.gpu = &gpu, .most = 4};

    (void)state;
    assert_string_equal(choose(ports, 4, &choice), "mlx5_1:1 mlx5_3:1");
    choice.most = 1;
    assert_string_equal(choose(ports, 4, &choice), "mlx5_1:1");
}

static void without_a_gpu_all_are_near(void **state)
{
    struct mgds_port ports[] = {port_of(0, FAR_BUS, 400),
                                port_of(1, NEAR_BUS, 400)};
    const struct mgds_choice choice = {.most = 4};

    (void)state;
    assert_string_equal(choose(ports, 2, &choice), "mlx5_0:1 mlx5_1:1");
}

/* Rails of unlike speed or kind would wait for each other. */
static void rails_are_alike(void **state)
{
    struct mgds_port ports[] = {
        port_of(0, NEAR_BUS, 100), port_of(1, NEAR_BUS, 400),
        port_of(2, NEAR_BUS, 400), port_of(3, NEAR_BUS, 400)};
    const struct mgds_choice choice = {.gpu = &gpu, .most = 4};

    (void)state;
    ports[2].link = MGDS_LINK_ETHERNET;
    assert_string_equal(choose(ports, 4, &choice), "mlx5_1:1 mlx5_3:1");
}

static void what_is_named_is_what_is_used(void **state)
{
    struct mgds_port ports[] = {port_of(0, FAR_BUS, 100),
                                port_of(1, NEAR_BUS, 400)};
    const struct mgds_choice choice = {
        .allowed = "mlx5_0:1", .gpu = &gpu, .most = 4};

    (void)state;
    assert_string_equal(choose(ports, 2, &choice), "mlx5_0:1");
}

static void assert_refused(struct mgds_port *ports, unsigned count,
                           const char *allowed, enum mgds_refusal_reason reason)
{
    const struct mgds_choice choice = {.allowed = allowed, .most = 4};
    struct mgds_refusal refusal = {0};

    assert_int_equal(mgds_choose_ports(ports, count, &choice, &refusal),
                     -ENODEV);
    assert_int_equal(refusal.reason, reason);
}

static void what_is_missing_is_named(void **state)
{
    struct mgds_port ports[] = {port_of(0, FAR_BUS, 100),
                                port_of(1, NEAR_BUS, 400)};

    (void)state;
    assert_refused(NULL, 0, NULL, MGDS_REFUSAL_NO_DEVICE);
    assert_refused(ports, 2, "eth0", MGDS_REFUSAL_NOT_NAMED);
    ports[0].active = false;
    assert_refused(ports, 2, "mlx5_0", MGDS_REFUSAL_PORT_DOWN);
    ports[0].connectx = ports[1].connectx = false;
    assert_refused(ports, 2, NULL, MGDS_REFUSAL_NO_CONNECTX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_ones_are_chosen),
        cmocka_unit_test(without_a_gpu_all_are_near),
        cmocka_unit_test(rails_are_alike),
        cmocka_unit_test(what_is_named_is_what_is_used),
        cmocka_unit_test(what_is_missing_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
