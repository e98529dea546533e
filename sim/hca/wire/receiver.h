/* The responder's half of a flow: takes packets of requests in the order of
 * their PSNs, each once, and hands their parts to the engine.
 *
 *   packet of a request, beside the PSN that is due   what it does
 *   that one, and the engine took it                  executed; ACK if asked
 *   that one, no receive                              RNR NAK; it stays due
 *   that one, in error                                NAK; the QP is in ERR
 *   that one, a READ's responses are on their way     dropped; NAK sequence
 *                                                     behind them
 *   later                                             dropped; NAK sequence,
 *                                                     once until one is taken
 *   earlier: SEND, WRITE                              ACK of all that was taken
 *   earlier: READ                                     read again
 *   earlier: atomic                                   its old value, from the
 *                                                     last MGDS_HCA_REPLAYS
 *   any, and the QP does not hear                     dropped
 *
 * Of an unreliable connection nobody hears what was lost or refused: a packet
 * that is not due ends the message it belongs to, unless it begins one.
 *
 * What is to be sent waits here, at most one of each kind, while the medium has
 * no room; it goes in this order: responses, NAK, ACK. One ACK says all. */
#ifndef MGDS_SIM_HCA_WIRE_RECEIVER_H
#define MGDS_SIM_HCA_WIRE_RECEIVER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire.h"

struct mgds_hca_flow;
struct mgds_hca_packet;

enum { MGDS_HCA_REPLAYS = 16 };

/* An atomic that was executed. */
struct mgds_hca_replay {
    bool used;
    uint32_t psn;
    uint64_t old;
};

/* Responses that are on their way. */
struct mgds_hca_job {
    struct mgds_hca_request request;
    uint32_t psn; /* of the first one */
    uint32_t packets;
    uint32_t sent;
    uint64_t old; /* of an atomic */
};

struct mgds_hca_receiver {
    uint32_t psn; /* is due */
    bool open;
    bool within; /* a message */
    bool nak_sent;
    bool ack_due;
    bool dropped;                     /* behind a READ */
    struct mgds_hca_placing *placing; /* NULL: nothing was placed late yet */
    uint8_t nak;                      /* AETH that is due; 0: none */
    uint32_t nak_psn;
    struct mgds_hca_request message;
    struct mgds_hca_job job; /* packets 0: none */
    struct mgds_hca_answer outcome;
    unsigned next_replay;
    struct mgds_hca_replay replay[MGDS_HCA_REPLAYS];
};

/* The QP is in RTR. */
void mgds_hca_receiver_open(struct mgds_hca_flow *flow);

/* A packet of a request came. */
void mgds_hca_receiver_take(struct mgds_hca_flow *flow,
                            const struct mgds_hca_packet *packet,
                            const struct mgds_hca_list *payload);

/* What the engine made of a part, told inside mgds_hca_requested. */
void mgds_hca_receiver_settle(struct mgds_hca_flow *flow,
                              const struct mgds_hca_answer *answer);

/* Sends what is due and has room: how many packets. */
int mgds_hca_receiver_run(struct mgds_hca_flow *flow);

/* The flow ends. */
void mgds_hca_receiver_fini(struct mgds_hca_flow *flow);

/* When it has something to do though nothing comes; 0: never. */
uint64_t mgds_hca_receiver_due(const struct mgds_hca_flow *flow);

/* Something is due. */
bool mgds_hca_receiver_busy(const struct mgds_hca_flow *flow);

#endif
