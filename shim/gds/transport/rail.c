/* One rail for all; see rail.h. */
#include "shim/gds/transport/rail.h"

#include <errno.h>
#include <stdlib.h>

#include "shim/base/lock.h"
#include "shim/ctx.h"
#include "shim/gds/hca/choice.h"
#include "shim/gds/hca/rail.h"

static struct mgds_lock rail_lock = MGDS_LOCK_INIT(MGDS_LOCK_CONN);
static struct mgds_rail *rail; /* under rail_lock, as the next */
static unsigned refs;

static int choose_port(struct mgds_port *out, struct mgds_refusal *refusal)
{
    const struct mgds_choice choice = {.allowed = mgds_config_net_devices(),
                                       .most = 1};
    struct mgds_port *ports;
    int rc = mgds_ports_list(&ports, "/sys");

    if (rc < 0)
        return mgds_refuse(refusal, MGDS_REFUSAL_NO_DEVICE, -rc);
    rc = mgds_choose_ports(ports, (unsigned)rc, &choice, refusal);
    if (rc > 0)
        *out = ports[0];
    free(ports);
    return rc < 0 ? rc : 0;
}

static int open_rail(struct mgds_refusal *refusal)
{
    struct mgds_rail_settings settings;
    struct mgds_port port;
    int rc = choose_port(&port, refusal);

    if (rc < 0)
        return rc;
    mgds_rail_settings_take(&settings, &mgds_ctx()->config);
    return mgds_rail_open(&rail, &port, &settings, refusal);
}

int mgds_transport_rail_get(struct mgds_rail **out,
                            struct mgds_refusal *refusal)
{
    int rc = 0;

    mgds_lock_acquire(&rail_lock);
    if (refs == 0)
        rc = open_rail(refusal);
    if (rc == 0) {
        refs++;
        *out = rail;
    }
    mgds_lock_release(&rail_lock);
    return rc;
}

void mgds_transport_rail_put(void)
{
    mgds_lock_acquire(&rail_lock);
    if (--refs == 0) {
        mgds_rail_close(rail);
        rail = NULL;
    }
    mgds_lock_release(&rail_lock);
}
