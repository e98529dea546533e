/* Which ports a process uses with a GPU: the nearest ones of those that are
 * allowed and active, the fastest of these, as many as are alike. They are the
 * rails that large messages are spread over. */
#ifndef MGDS_HCA_CHOICE_H
#define MGDS_HCA_CHOICE_H

#include "shim/gds/hca/port.h"
#include "shim/gds/hca/refusal.h"

struct mgds_choice {
    const char *allowed;        /* netdevs.h; NULL: all */
    const struct mgds_pci *gpu; /* NULL: all are equally far */
    unsigned most;              /* how many to choose at most, from 1 */
};

/* Brings the chosen ones to the front of the list, in an order that is the same
 * in each process, and returns how many they are: 1 at least. Else -ENODEV and
 * why: NO_DEVICE, NO_CONNECTX, NOT_NAMED, PORT_DOWN. */
int mgds_choose_ports(struct mgds_port *ports, unsigned count,
                      const struct mgds_choice *choice,
                      struct mgds_refusal *refusal);

#endif
