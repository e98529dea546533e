/* What the bodies of point-to-point calls share. */
#ifndef MGDS_PMPI_P2P_H
#define MGDS_PMPI_P2P_H

#include "shim/pmpi/call.h"

/* As mgds_call_side; without a look if the peer is MPI_PROC_NULL. */
int mgds_p2p_side(struct mgds_side *side, const struct mgds_call_words *call,
                  unsigned at, mgds_word peer, enum mgds_side_way way);

/* For Mrecv and Imrecv: MPI_PROC_NULL if the message has no sender, else
 * something else. */
mgds_word mgds_p2p_message_peer(const struct mgds_call_words *call);

/* Sendrecv's two buffers. */
struct mgds_pair {
    struct mgds_side send, recv;
};

/* Looks at both, and brings down what is sent: 1 if one is staged or both are,
 * then both must be finished; 0; or negative errno. */
int mgds_p2p_pair(struct mgds_pair *pair, const struct mgds_call_words *call);

#endif
