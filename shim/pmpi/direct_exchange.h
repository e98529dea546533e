/* A send and a receive of one call of an armed rank, each of which goes on
 * while the other is waited for. */
#ifndef MGDS_PMPI_DIRECT_EXCHANGE_H
#define MGDS_PMPI_DIRECT_EXCHANGE_H

#include <mpi.h>

#include "shim/pmpi/direct_post.h"
#include "shim/pmpi/direct_send.h"
#include "shim/pmpi/side.h"

struct mgds_direct_exchange {
    struct mgds_direct_offer *offer; /* NULL: send goes down as it is */
    struct mgds_side send, recv;     /* the caller finishes both */
    struct mgds_direct_match from;
    int dest, tag;
    bool apart; /* what comes lands where the send is read from below: when
                   that has left */
};

/* To the end of both: what the call returns; errors of ours have been raised.
 * The offer is gone. */
int mgds_direct_exchange_run(struct mgds_direct_exchange *exchange,
                             MPI_Status *status);

#endif
