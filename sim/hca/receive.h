/* The receive that a message takes: from the ring of its QP or from a shared
 * one (srq.h), with its first part; it has it until it completes. */
#ifndef MGDS_SIM_HCA_RECEIVE_H
#define MGDS_SIM_HCA_RECEIVE_H

#include <stdbool.h>

#include "sim/hca/cause.h"
#include "sim/hca/cq.h"

struct mgds_hca_qp;
struct mgds_hca_request;

/* The message of this QP has a receive. False: none is posted. */
bool mgds_hca_receive_take(struct mgds_hca_qp *qp);

/* Puts the payload of a part into it, of a datagram behind its GRH. */
enum mgds_hca_cause
mgds_hca_receive_place(struct mgds_hca_qp *qp,
                       const struct mgds_hca_request *request);

/* Completes it: all but the counter is filled in; or as failed. */
void mgds_hca_receive_complete(struct mgds_hca_qp *qp,
                               struct mgds_hca_completion *completion);
void mgds_hca_receive_fail(struct mgds_hca_qp *qp, enum mgds_hca_cause cause);

/* The QP is in ERR: completes every receive that is its own as flushed, or
 * tells that it takes none any more from a shared queue; how many things. */
int mgds_hca_receive_flush(struct mgds_hca_qp *qp);

#endif
