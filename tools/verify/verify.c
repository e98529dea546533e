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
#include "tools/verify/gpu.h"

/* How ports are tried, and what came of those so far. */
struct trial {
    struct mgds_rail_settings settings;
    struct mgds_verify_gpu *gpu; /* or NULL */
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

static void try_gpu(struct trial *trial, const struct mgds_port *port,
                    struct mgds_rail *rail)
{
    const struct mgds_pci *gpu;

    if (!trial->gpu)
        return;
    gpu = mgds_verify_gpu_pci(trial->gpu);
    printf("ok        way     distance to GPU 0: %s\n",
           mgds_distance_name(mgds_pci_distance(gpu, &port->pci)));
    trial->failures += mgds_verify_gpu_run(trial->gpu, rail, print_test, NULL);
}

static void try_port(struct trial *trial, const struct mgds_port *port)
{
    struct mgds_refusal refusal;
    struct mgds_rail *rail;

    trial->tried++;
    if (mgds_rail_open(&rail, port, &trial->settings, &refusal) < 0) {
        print_refusal("broken", &refusal);
        trial->failures++;
        return;
    }
    print_address(rail);
    trial->failures += mgds_selftest_run(rail, print_test, NULL);
    try_gpu(trial, port, rail);
    mgds_rail_close(rail);
}

/* By itself, so that each port that is not tried gets its own reason. */
static void consider_port(struct trial *trial, struct mgds_port port)
{
    const struct mgds_choice choice = {.allowed = mgds_config_net_devices(),
                                       .most = 1};
    struct mgds_refusal refusal;

    printf("%s:%u  %s, %u Gb/s\n", port.device, port.number, name_of(port.link),
           port.rate);
    if (mgds_choose_ports(&port, 1, &choice, &refusal) < 0)
        print_refusal("not used", &refusal);
    else
        try_port(trial, &port);
}

static int status_of(const struct trial *trial)
{
    if (trial->tried == 0) {
        puts("there is no port to try");
        return MGDS_VERIFY_NOTHING;
    }
    if (trial->failures > 0) {
        printf("%u failures\n", trial->failures);
        return MGDS_VERIFY_BROKEN;
    }
    puts(trial->gpu ? "all well" : "all well, without a GPU");
    return MGDS_VERIFY_WELL;
}

static int consider_ports(struct trial *trial)
{
    struct mgds_port *ports;
    int found = mgds_ports_list(&ports, "/sys");

    if (found < 0) {
        fprintf(stderr, "mpix-gds-verify-hca: %s\n", strerror(-found));
        return MGDS_VERIFY_BROKEN;
    }
    for (int i = 0; i < found; i++)
        consider_port(trial, ports[i]);
    free(ports);
    return status_of(trial);
}

int mgds_verify_hca(void)
{
    struct trial trial = {.tried = 0};
    struct mgds_config config;
    int status, bad = mgds_config_load(&config);

    if (bad < 0) {
        fprintf(stderr, "mpix-gds-verify-hca: %s\n", strerror(-bad));
        return MGDS_VERIFY_BROKEN;
    }
    mgds_config_table_warn(&mgds_config_table);
    mgds_rail_settings_take(&trial.settings, &config);
    trial.gpu = mgds_verify_gpu_open();
    status = consider_ports(&trial);
    mgds_verify_gpu_close(trial.gpu);
    mgds_config_fini(&config);
    return status;
}
