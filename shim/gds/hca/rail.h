/* A rail: a port of a device, opened by this process for itself. The MPI below
 * may use the same port; devices that are opened twice know nothing of each
 * other. */
#ifndef MGDS_HCA_RAIL_H
#define MGDS_HCA_RAIL_H

#include "shim/gds/hca/end.h"
#include "shim/gds/hca/port.h"
#include "shim/gds/hca/refusal.h"
#include "shim/gds/hca/settings.h"

struct mgds_rail;

/* 0; or negative errno and why: that of mgds_verbs, NO_DEVICE, NO_CONNECTX,
 * OPEN, DOMAIN, PORT, PORT_DOWN, PKEY, GID. */
int mgds_rail_open(struct mgds_rail **out, const struct mgds_port *port,
                   const struct mgds_rail_settings *settings,
                   struct mgds_refusal *refusal);

/* Nothing of it is left: queues, regions. NULL is allowed. */
void mgds_rail_close(struct mgds_rail *rail);

/* The port's part of what an end tells: all but the QP. */
void mgds_rail_describe(const struct mgds_rail *rail,
                        struct mgds_end_rail *out);

#endif
