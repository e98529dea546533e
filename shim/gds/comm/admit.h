/*
 * What processes of the job may say: an envelope counts for the communicator
 * that it names if the rank in it is the process that sent it, and for the
 * operation that it names if that is under way with that rank. Else it is
 * refused (envelope.h), unless what it names has only ended.
 *
 * All under the engine's lock.
 */
#ifndef MGDS_COMM_ADMIT_H
#define MGDS_COMM_ADMIT_H

#include <stdbool.h>

#include "shim/gds/comm/comm_state.h"
#include "shim/gds/msg/am.h"

struct mgds_op;

/* The communicator for whose streams it is, without a reference. NULL: verdict
 * says what becomes of it; DONE if it was refused, or that one is gone. */
struct mgds_comm *mgds_admit(const struct mgds_am *am,
                             enum mgds_am_verdict *verdict);

/* Whether the rank is that process. */
bool mgds_admit_rank(const struct mgds_comm *comm, uint32_t rank,
                     uint64_t from);

/* The send to that rank, or the receive of that rank's bytes, that is under
 * way; NULL: there is none, which was said, or it is lost. */
struct mgds_op *mgds_admit_send(const struct mgds_am *am, uint64_t request_id,
                                uint32_t rank);
struct mgds_op *mgds_admit_recv(const struct mgds_data *data, uint64_t from);

#endif
