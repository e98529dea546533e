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

/* Those of Sendrecv_replace, on an armed rank, where something is received: 1:
 * the receive is watched, both are to be finished; 0: the call is for the MPI
 * below, to refuse; or negative errno. */
int mgds_p2p_replace_pair(struct mgds_pair *pair,
                          const struct mgds_call_words *call);

/* What Mrecv and Imrecv know of a message that a probe of ours has taken out.
 */
struct mgds_p2p_message {
    MPI_Comm comm; /* MPI_COMM_NULL: it is none of ours */
    MPI_Message below;
};

/* Takes it from the program, and puts that of the MPI below in its place in the
 * call, where out is to stay for that. True: there is none, the probe has
 * received the message, and it is the side's. */
bool mgds_p2p_kept_message(struct mgds_p2p_message *out,
                           struct mgds_call_words *call,
                           struct mgds_side *side);

#endif
