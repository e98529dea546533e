/* Calls of DCIs as packets: before a DCI's first message to a target its flow
 * calls the DCT there, and has a connection's QPN for its packets then.
 *
 *   DCI's flow                                      DCT's device
 *   CALL  key, epoch, QPN, first PSN  ----------->  mgds_hca_dct_accept
 *         <-----------------  ACCEPT  epoch, QPN of the connection
 *         <-----------------  REFUSE  epoch, reason: the oldest message fails
 *   messages, to that QPN  ---------------------->  the connection's flow
 *   HANG_UP, to that QPN  ----------------------->  the connection ends
 *
 * A CALL that is not answered is repeated like a request, and each copy gets
 * the same answer. HANG_UP goes out when another target is called, or the QP
 * sends no more; it may be lost: then the connection goes with the next call.
 * PSNs run on from one connection to the next. */
#ifndef MGDS_SIM_HCA_WIRE_DIAL_H
#define MGDS_SIM_HCA_WIRE_DIAL_H

#include <stdbool.h>
#include <stdint.h>

struct mgds_hca_flow;
struct mgds_hca_packet;
struct mgds_hca_request;

/* The call of a DCI's flow. */
struct mgds_hca_dial {
    bool waiting; /* for an answer: no message is sent */
    bool sent;
    uint32_t dct;
    uint64_t key;
    uint64_t epoch;
};

/* Calls the target of this request, the first to it. */
void mgds_hca_dial_begin(struct mgds_hca_flow *flow,
                         const struct mgds_hca_request *request);

/* Sends the call, if it is to be sent: whether it did. */
bool mgds_hca_dial_run(struct mgds_hca_flow *flow);

/* Hangs up, if there is a connection. */
void mgds_hca_dial_end(struct mgds_hca_flow *flow);

/* A packet came for a QP of DC. True: it was of this room; the flow may be
 * gone. */
bool mgds_hca_dial_take(struct mgds_hca_flow *flow,
                        const struct mgds_hca_packet *packet);

#endif
