/* The packets of one QP: what both halves of its connection know; or a QP of
 * datagrams. */
#ifndef MGDS_SIM_HCA_WIRE_FLOW_H
#define MGDS_SIM_HCA_WIRE_FLOW_H

#include "sim/hca/wire/dial.h"
#include "sim/hca/wire/outlet.h"
#include "sim/hca/wire/receiver.h"
#include "sim/hca/wire/sender.h"

struct mgds_hca_qp;

struct mgds_hca_flow {
    struct mgds_hca_qp *qp;
    struct mgds_hca_outlet *outlet;
    uint16_t lid;  /* of the peer's device; 0: nobody has its address */
    uint32_t peer; /* its QPN; 0: packets say it */
    struct mgds_hca_dial dial; /* DCI */
    struct mgds_hca_sender sender;
    struct mgds_hca_receiver receiver;

    bool reliable;
    struct mgds_hca_flow *next_busy;
    bool busy;
};

/* One more, of its port. */
static inline void mgds_hca_flow_count(const struct mgds_hca_flow *flow,
                                       enum mgds_hca_count what)
{
    flow->outlet->count[what]++;
}

/* Sends a packet to the peer, or to `lid` if it is for any other QP, whose QPN
 * is in it: false, no room now. The rest of *packet is filled in here. */
bool mgds_hca_flow_send(const struct mgds_hca_flow *flow, uint16_t lid,
                        struct mgds_hca_packet *packet,
                        const struct mgds_hca_list *payload);

#endif
