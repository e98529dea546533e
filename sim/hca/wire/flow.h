/* The packets of one QP: what both halves of its reliable connection know. */
#ifndef MGDS_SIM_HCA_WIRE_FLOW_H
#define MGDS_SIM_HCA_WIRE_FLOW_H

#include "sim/hca/wire/outlet.h"
#include "sim/hca/wire/receiver.h"
#include "sim/hca/wire/sender.h"

struct mgds_hca_qp;

struct mgds_hca_flow {
    struct mgds_hca_qp *qp;
    struct mgds_hca_outlet *outlet;
    struct mgds_hca_sender sender;
    struct mgds_hca_receiver receiver;
    struct mgds_hca_flow *next_busy;
    bool busy;
};

#endif
