/* Trying ports one after the other; see verify.h. */
#include "tools/verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/config.h"
#include "shim/gds/hca/choice.h"
#include "shim/gds/hca/rail.h"
#include "shim/gds/hca/selftest.h"
#include "shim/gds/hca/settings.h"

/* What came of the ports so far. */
struct count {
    unsigned tried;
    unsigned failures;
};

static const char *name_of(enum mgds_link link)
{
    static const char *const names[] = {"other link", "InfiniBand", "RoCE"};

    return names[link];
}

static void print_refusal(const char *state, const struct mgds_refusal *refusal)
{
    char text[MGDS_REFUSAL_TEXT];

    printf("%-9s %s\n", state, mgds_refusal_text(refusal, text));
}

static void print_test(void *arg, const char *name, const char *promise,
                       const char *failure)
{
    (void)arg;
    printf("%-9s %-7s %s\n", failure ? "broken" : "ok", name, promise);
    if (failure)
        printf("                  | %s\n", failure);
    fflush(stdout); /* the next one may take its time */
}

static void print_address(const struct mgds_rail *rail)
{
    struct mgds_end_rail address;

    mgds_rail_describe(rail, &address);
    printf("ok        open    MTU %u, LID %u, P_Key 0x%04x, GID ",
           128u << address.mtu, address.lid, address.pkey);
    for (unsigned i = 0; i < sizeof(address.gid); i += 2)
        printf("%s%02x%02x", i > 0 ? ":" : "", address.gid[i],
               address.gid[i + 1]);
    printf("\n");
}

static void try_port(const struct mgds_port *port,
                     const struct mgds_rail_settings *settings,
                     struct count *count)
{
    struct mgds_refusal refusal;
    struct mgds_rail *rail;

    count->tried++;
    if (mgds_rail_open(&rail, port, settings, &refusal) < 0) {
        print_refusal("broken", &refusal);
        count->failures++;
        return;
    }
    print_address(rail);
    count->failures += mgds_selftest_run(rail, print_test, NULL);
    mgds_rail_close(rail);
}

/* By itself, so that each port that is not tried gets its own reason. */
static void consider_port(struct mgds_port port,
                          const struct mgds_rail_settings *settings,
                          struct count *count)
{
    const struct mgds_choice choice = {.allowed = mgds_config_net_devices(),
                                       .most = 1};
    struct mgds_refusal refusal;

    printf("%s:%u  %s, %u Gb/s\n", port.device, port.number, name_of(port.link),
           port.rate);
    if (mgds_choose_ports(&port, 1, &choice, &refusal) < 0)
        print_refusal("not used", &refusal);
    else
        try_port(&port, settings, count);
}

static int consider_ports(const struct mgds_rail_settings *settings)
{
    struct count count = {.tried = 0};
    struct mgds_port *ports;
    int found = mgds_ports_list(&ports, "/sys");

    if (found < 0) {
        fprintf(stderr, "mpix-gds-verify-hca: %s\n", strerror(-found));
        return MGDS_VERIFY_BROKEN;
    }
    for (int i = 0; i < found; i++)
        consider_port(ports[i], settings, &count);
    free(ports);
    if (count.tried == 0)
        puts("there is no port to try");
    else if (count.failures > 0)
        printf("%u failures\n", count.failures);
    else
        puts("all well");
    if (count.failures > 0)
        return MGDS_VERIFY_BROKEN;
    return count.tried > 0 ? MGDS_VERIFY_WELL : MGDS_VERIFY_NOTHING;
}

int mgds_verify_hca(void)
{
    struct mgds_rail_settings settings;
    struct mgds_config config;
    int status, bad = mgds_config_load(&config);

    if (bad < 0) {
        fprintf(stderr, "mpix-gds-verify-hca: %s\n", strerror(-bad));
        return MGDS_VERIFY_BROKEN;
    }
    mgds_config_table_warn(&mgds_config_table);
    mgds_rail_settings_take(&settings, &config);
    status = consider_ports(&settings);
    mgds_config_fini(&config);
    return status;
}
