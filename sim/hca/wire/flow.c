/* What both halves of a flow do. */
#include "sim/hca/wire/flow.h"

#include "sim/hca/qp.h"

bool mgds_hca_flow_send(const struct mgds_hca_flow *flow,
                        struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload)
{
    packet->qpn = flow->qp->set.peer;
    packet->pkey = flow->qp->set.pkey;
    return mgds_hca_outlet_send(flow->outlet, flow->lid, packet, payload);
}
