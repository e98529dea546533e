/* How a receive of an armed rank is posted: the messages that probes have kept
 * come first (kept.h). */
#ifndef MGDS_PMPI_DIRECT_POST_H
#define MGDS_PMPI_DIRECT_POST_H

#include <mpi.h>
#include <stdbool.h>

#include "shim/pmpi/call.h"
#include "shim/pmpi/direct_recv.h"
#include "shim/pmpi/side.h"

/* What a receive names. */
struct mgds_direct_match {
    MPI_Comm comm;
    int source, tag;
};

/* Of a call whose words are addr, count, type, source, tag, comm, ... */
static inline struct mgds_direct_match
mgds_direct_match_of(const struct mgds_call_words *call)
{
    return (struct mgds_direct_match){.comm = (MPI_Comm)call->word[5],
                                      .source = (int)call->word[3],
                                      .tag = (int)call->word[4]};
}

/* Posts a receive below, for a side that is watched: MPI's code. *request:
 * MPI_REQUEST_NULL if a kept message is its message, and needs no receive any
 * more. */
int mgds_direct_post(const struct mgds_side *side,
                     const struct mgds_direct_match *match,
                     MPI_Request *request);

/* The same with a kept message that was taken, between enter and leave of
 * kept.h. */
int mgds_direct_post_kept(const struct mgds_side *side, struct mgds_kept *kept,
                          MPI_Request *request);

/* The same for plain memory of the host. -EBUSY: a message is kept, and nothing
 * was posted. */
int mgds_direct_post_plain(const struct mgds_direct_words *to,
                           const struct mgds_direct_match *match,
                           MPI_Request *request);

/* Whether no other thread calls MPI, so that nobody probes meanwhile, and no
 * other receive must be served. */
bool mgds_direct_is_alone(void);

/* Receives below, until that is complete, where the call is alone: MPI's code.
 */
int mgds_direct_receive_alone(const struct mgds_side *side,
                              const struct mgds_direct_match *match,
                              MPI_Status *status);

/* The same of a watched side, wherever the call stands; status is filled for
 * mgds_side_up. */
int mgds_direct_receive(const struct mgds_side *side,
                        const struct mgds_direct_match *match,
                        MPI_Status *status);

/* Waits for a request of the MPI below by testing it: MPI's code. Who is to
 * complete it may wait for a receive that this thread has begun before, which
 * is served meanwhile. */
int mgds_direct_wait(MPI_Request *request, MPI_Status *status);

#endif
