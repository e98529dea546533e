/* Data of RDMA WRITEs that is placed out of order, as a ConnectX may do it with
 * QPs that allow it (MLX5DV_QP_CREATE_OOO_DP), or by the fault `place`. Packets
 * are checked and counted in their order, and their payload is placed later,
 * each packet at a random time of its own within a span: who polls for a flag
 * behind data may find the flag first.
 *
 *   packet of a plain WRITE  --checked-->  held  --its time, or a reason-->
 * placed
 *
 * Reasons to place all that is held: an operation of the same QP that is not a
 * plain WRITE. What tells a program that data is there waits for it: the ACK,
 * and with it the requester's CQE, is sent when nothing is held. */
#ifndef MGDS_SIM_HCA_WIRE_PLACING_H
#define MGDS_SIM_HCA_WIRE_PLACING_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire.h"

struct mgds_hca_flow;

enum { MGDS_HCA_PLACINGS = 16 /* packets; one more places one */ };

struct mgds_hca_placing;

/* This WRITE is held instead of placed. */
bool mgds_hca_placing_wanted(const struct mgds_hca_flow *flow,
                             const struct mgds_hca_request *request);

/* Holds the payload of a request that was checked. */
void mgds_hca_placing_hold(struct mgds_hca_flow *flow,
                           const struct mgds_hca_request *request);

/* Places what is due, or all: how many. */
int mgds_hca_placing_run(struct mgds_hca_flow *flow, bool all);

/* Whether something is held; when the first of it is due, or 0. */
bool mgds_hca_placing_busy(const struct mgds_hca_flow *flow);
uint64_t mgds_hca_placing_due(const struct mgds_hca_flow *flow);

void mgds_hca_placing_fini(struct mgds_hca_flow *flow);

#endif
