/*
 * Ordinary MPI calls on a stream communicator: what the bodies of
 * point-to-point calls do there instead. Each takes the reference to scomm
 * over, and returns what the call returns. Words: as of the MPI function.
 */
#ifndef MGDS_PMPI_STREAM_P2P_H
#define MGDS_PMPI_STREAM_P2P_H

#include "shim/pmpi/call.h"
#include "shim/pmpi/stream_comm.h"
#include "shim/pmpi/stream_msg.h"

mgds_word mgds_stream_p2p_send(const struct mgds_call_words *words,
                               struct mgds_scomm *scomm);
mgds_word mgds_stream_p2p_isend(const struct mgds_call_words *words,
                                struct mgds_scomm *scomm);
mgds_word mgds_stream_p2p_recv(const struct mgds_call_words *words,
                               struct mgds_scomm *scomm);
mgds_word mgds_stream_p2p_irecv(const struct mgds_call_words *words,
                                struct mgds_scomm *scomm);
mgds_word mgds_stream_p2p_sendrecv(const struct mgds_call_words *words,
                                   struct mgds_scomm *scomm);
mgds_word mgds_stream_p2p_isendrecv(const struct mgds_call_words *words,
                                    struct mgds_scomm *scomm);

/* Sendrecv_replace, and Isendrecv_replace. */
mgds_word mgds_stream_p2p_replace(const struct mgds_call_words *words,
                                  struct mgds_scomm *scomm, bool blocking);

/* Mrecv, and Imrecv. *result is set if the message is of a stream
 * communicator; else false. */
bool mgds_stream_p2p_mrecv(mgds_word *result,
                           const struct mgds_call_words *words, bool blocking);

/* Send_init and its kin, and Recv_init. */
mgds_word mgds_stream_p2p_init(const struct mgds_call_words *words,
                               struct mgds_scomm *scomm);

/* Partitioned calls: refused, with one line. False, and nothing
 * done, if the communicator is another one. */
bool mgds_stream_p2p_refuses(mgds_word *result, mgds_word comm);

#endif
