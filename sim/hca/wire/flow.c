/* What both halves of a flow do. */
#include "sim/hca/wire/flow.h"

#include "sim/hca/qp.h"

bool mgds_hca_flow_send(const struct mgds_hca_flow *flow, uint16_t lid,
                        struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    if (flow->peer)
        packet->qpn = flow->peer;
    packet->opcode |= mgds_hca_packet_service(flow->qp->attr.service);
    packet->pkey = flow->qp->set.pkey;
    return mgds_hca_outlet_send(flow->outlet, lid, packet, payload);
}
