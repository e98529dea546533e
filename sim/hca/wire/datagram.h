/* Datagrams that came for a QP of UD: one packet each, with a global route
 * header (GRH) that is made up here from what the packet says.
 *
 *   GIDs                    GRH, 40 bytes
 *   others                  as InfiniBand has it, and IPv6
 *   both ::ffff:a.b.c.d     20 bytes of nothing, then an IPv4 header (RoCE v2)
 *
 * CQEs of RoCE say which, where those of InfiniBand have the SL (UCX,
 * ud_iface.h, from the PRM).
 */
#ifndef MGDS_SIM_HCA_WIRE_DATAGRAM_H
#define MGDS_SIM_HCA_WIRE_DATAGRAM_H

#include "sim/hca/piece.h"
#include "sim/hca/wire/packet.h"

struct mgds_hca_flow;

/* A packet of UD came. One whose Q_Key is wrong, or without a receive, is
 * dropped. */
void mgds_hca_datagram_take(struct mgds_hca_flow *flow,
                            const struct mgds_hca_packet *packet,
                            const struct mgds_hca_list *payload);

#endif
