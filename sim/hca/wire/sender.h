/* The requester's half of a flow: messages become packets, which are sent again
 * until the peer has acknowledged them (go-back-N).
 *
 *   window, in messages                         PSNs
 *   first ...... at ....... next                una ....... end ....... psn
 *   acknowledged |  begins  | free              oldest not | behind    | of the
 *   in part      |  next    |                   acknowl.   | any sent  | next
 *                                                                     message
 *
 *   CLOSED  --RTS-->  OPEN  --NAK, RNR, timeouts, ERR-->  CLOSED
 *
 *   what comes                     what it does
 *   ACK p                          una = p + 1, but not past a READ or atomic
 *                                  whose response is missing: it is asked for
 *   response p                     if it is the one that is due: data; if one
 *                                  is missing before it, that is asked for
 *   NAK sequence p                 ACK p - 1, then from p on again
 *   RNR NAK p                      the same after its timer, rnr_retry times
 *   NAK of an error p              ACK p - 1, the message of p fails
 *   nothing for 4.096 us * 2^t     from una on again, `retries` times, when the
 *                                  peer has had the time to answer (watch.h)
 *
 * Messages of unreliable services end when their last packet is sent: una is
 * always at the end.
 *
 * Counts of retries begin anew when una moves. A second reason to go back
 * before it has moved is not heeded, or packets would multiply: the timer is
 * what is left then. */
#ifndef MGDS_SIM_HCA_WIRE_SENDER_H
#define MGDS_SIM_HCA_WIRE_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/hca/wire.h"
#include "sim/hca/wire/packet.h"
#include "sim/hca/wire/watch.h"

struct mgds_hca_flow;

enum {
    MGDS_HCA_WINDOW = 64,   /* messages not acknowledged, a power of two */
    MGDS_HCA_UNACKED = 256, /* packets that are sent ahead of the oldest */
    MGDS_HCA_ACK_EVERY = 16 /* packets of a long message */
};

/* A message, until it is acknowledged. */
struct mgds_hca_sent {
    struct mgds_hca_request request;
    struct mgds_hca_list list;
    uint32_t psn; /* of its first packet */
    uint32_t packets;
    uint32_t got; /* of a READ: packets of the response that have come */
    bool answered;
    bool datagram;
    uint16_t lid;  /* where it goes */
    uint32_t qkey; /* datagram */
    struct mgds_hca_deth header;
};

struct mgds_hca_sender {
    struct mgds_hca_sent *window;
    uint32_t first; /* these three run freely */
    uint32_t at;
    uint32_t next;
    uint32_t packet; /* of message `at` */
    uint32_t psn;
    uint32_t una;
    uint32_t end;
    uint64_t deadline;           /* 0: none */
    struct mgds_hca_watch watch; /* of a peer that is late */
    uint64_t resume;             /* after RNR: nothing is sent before */
    uint8_t retries;
    uint8_t rnr_retries;
    bool open;
    bool gone_back;
};

/* The QP is in RTS; or its flow ends. -ENOMEM. */
int mgds_hca_sender_open(struct mgds_hca_flow *flow);
void mgds_hca_sender_close(struct mgds_hca_flow *flow);
void mgds_hca_sender_fini(struct mgds_hca_flow *flow);

/* The oldest message ends so, and with it the flow. */
void mgds_hca_sender_fail(struct mgds_hca_flow *flow,
                          enum mgds_hca_cause cause);

/* A DCI's call was taken. */
void mgds_hca_sender_reached(struct mgds_hca_flow *flow);

/* There is room for a message; and takes one. */
bool mgds_hca_sender_ready(const struct mgds_hca_flow *flow);
void mgds_hca_sender_push(struct mgds_hca_flow *flow,
                          const struct mgds_hca_request *request);

/* A response came. */
void mgds_hca_sender_take(struct mgds_hca_flow *flow,
                          const struct mgds_hca_packet *packet,
                          const struct mgds_hca_list *payload);

/* Sends what may be sent: how many packets. */
int mgds_hca_sender_run(struct mgds_hca_flow *flow);

/* Looks at the time, when all that has come was taken: 1 if it was time to do
 * something. */
int mgds_hca_sender_tick(struct mgds_hca_flow *flow);

/* Something is not acknowledged. */
bool mgds_hca_sender_busy(const struct mgds_hca_flow *flow);

/* When it has something to do though nothing comes; 0: never. */
uint64_t mgds_hca_sender_due(const struct mgds_hca_flow *flow);

#endif
