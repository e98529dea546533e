/* The sending side of a QP: begins WQEs in order, hands them to the wire, and
 * completes them in order when answers have come. */
#ifndef MGDS_SIM_HCA_REQUESTER_H
#define MGDS_SIM_HCA_REQUESTER_H

#include <stdbool.h>

struct mgds_hca_qp;

/* Does what can be done now for the sends of a QP, or flushes its queues in
 * ERR. How many things it did. */
int mgds_hca_requester_run(struct mgds_hca_qp *qp);

/* Something is left that no doorbell will tell of. */
bool mgds_hca_requester_busy(const struct mgds_hca_qp *qp);

#endif
