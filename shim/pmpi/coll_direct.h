/*
 * Direct collectives: blocks go as messages of point-to-point communication, on
 * a communicator of ours with the same members, so from GPU to GPU where that
 * can be (docs/header-rendezvous.md), and staged where it cannot, each by
 * itself. What a collective is made of:
 *
 *   Alltoall(v, w)   each member's block to each
 *   Allgather(v)     each member's block to all
 *   Gather(v)        all to the root
 *   Scatter(v)       the root to all
 *   Bcast            down a binomial tree
 *   Neighbor_...     along the edges of the topology
 *
 * All receives are begun ahead of all sends, and all are waited for at once. A
 * member's own block is copied beside them (coll_own.h).
 */
#ifndef MGDS_PMPI_COLL_DIRECT_H
#define MGDS_PMPI_COLL_DIRECT_H

#include <stdbool.h>

#include "shim/pmpi/coll.h"

/* Whether calls of this function may be direct, so that members vote on them:
 * not where the ranks have agreed on no such. */
bool mgds_coll_may_be_direct(enum mgds_call call);

/* True: that was the call, which ended with *result. False: it is to be staged,
 * or is for the MPI below to refuse; the same for all members. */
bool mgds_coll_direct(mgds_word *result, const struct mgds_coll_call *call,
                      const mgds_word *words);

#endif
