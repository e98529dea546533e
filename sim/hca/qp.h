/* Queue pairs: their queues, their states, and how they end in error.
 *
 *   RESET --> INIT --> RTR --> RTS <--> SQD   by modify
 *   any state --> ERR                         by modify, or by an error
 *   any state --> RESET                       by modify
 *
 *   state   sends                        requests of the peer
 *   RESET   not looked at                dropped
 *   INIT    not looked at                dropped
 *   RTR     not looked at                done
 *   RTS     done                         done
 *   SQD     those begun are finished     done
 *   ERR     flushed, receives too        dropped
 *
 * A doorbell that comes in INIT or RTR is remembered, in RESET it is not. */
#ifndef MGDS_SIM_HCA_QP_H
#define MGDS_SIM_HCA_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"
#include "sim/hca/address.h"
#include "sim/hca/cause.h"
#include "sim/hca/cq.h"
#include "sim/hca/digest.h"
#include "sim/hca/piece.h"

struct mgds_hca;
struct mgds_hca_srq;
struct mgds_hca_uar;

/* Reliable and unreliable connections, unreliable datagrams; dynamic
 * connections: initiators, which send, and targets (dct.h). */
enum mgds_hca_service {
    MGDS_SERVICE_RC,
    MGDS_SERVICE_UC,
    MGDS_SERVICE_UD,
    MGDS_SERVICE_DCI,
    MGDS_SERVICE_DCT,
    MGDS_SERVICES
};

/* The service answers messages, and repeats them until then. */
static inline bool mgds_hca_is_reliable(enum mgds_hca_service service)
{
    return service != MGDS_SERVICE_UC && service != MGDS_SERVICE_UD;
}

/* The service is one of dynamic connections. */
static inline bool mgds_hca_is_dynamic(enum mgds_hca_service service)
{
    return service == MGDS_SERVICE_DCI || service == MGDS_SERVICE_DCT;
}

enum mgds_hca_state {
    MGDS_STATE_RESET,
    MGDS_STATE_INIT,
    MGDS_STATE_RTR,
    MGDS_STATE_RTS,
    MGDS_STATE_SQD,
    MGDS_STATE_ERR,
    MGDS_STATES
};

enum {
    MGDS_HCA_SEND_BLOCKS = 32768, /* at most: half of what an index counts */
    MGDS_HCA_RECEIVES = 32768,
    MGDS_HCA_STRIDE = MGDS_HCA_PIECES * MGDS_WQE_UNIT,
    MGDS_HCA_READS = 16, /* READs and atomics under way */
    MGDS_HCA_RNR_FOREVER = 7,
    MGDS_HCA_RETRIES = 7,
    MGDS_HCA_TIMEOUT = 31,
    MGDS_HCA_MTU_MIN = 256,
    MGDS_HCA_MTU_MAX = 4096
};

/* The memory stays the owner's, and must stay while the QP is attached. A DCT
 * has no rings, no record and no register, but an SRQ. */
struct mgds_hca_qp_attr {
    void *send_buffer;        /* aligned to a block */
    uint32_t send_blocks;     /* a power of two; or 0 */
    void *receive_buffer;     /* aligned to a unit */
    uint32_t receives;        /* a power of two; or 0 */
    uint32_t receive_stride;  /* bytes, a power of two */
    struct mgds_hca_srq *srq; /* instead of these three, or NULL */
    struct mgds_be32 *record; /* two words */
    struct mgds_hca_cq *send_cq;
    struct mgds_hca_cq *receive_cq;
    struct mgds_hca_uar *uar;
    unsigned uar_register; /* 0 or 1; MGDS_UAR_EITHER: not known */
    uint32_t pd;
    uint32_t user_index; /* CQEs carry it */
    enum mgds_hca_service service;
    uint64_t dc_key;   /* DCT: callers have it, or are refused */
    bool out_of_order; /* wires may place WRITEs so (wire/placing.h) */
};

/* What a change of state brings with it; the rest is not looked at. UD has no
 * path: of RTR and RTS it has the PSN to send alone. UC has no more of RTS. DC
 * has no peer and no address; a DCT ends in RTR. */
struct mgds_hca_change {
    enum mgds_hca_state state;
    uint8_t access; /* INIT: what the peer may do (key.h) */

    uint32_t qkey;                   /* INIT, of UD */
    uint32_t peer;                   /* RTR: its QPN */
    uint32_t receive_psn;            /* RTR */
    struct mgds_hca_address address; /* RTR: of its device, for wires */
    uint16_t pkey;                   /* INIT: 0: 0xffff. For wires */
    uint8_t port;                    /* INIT: 0: the first, 1. For wires */
    uint16_t mtu;                    /* RTR: 256, 512, .. 4096; 0: 4096 */
    uint64_t rnr_delay; /* RTR: ns, told to who must come again; 10 us at
                           least, the shortest that InfiniBand has */
    uint32_t send_psn;  /* RTS */
    uint8_t rnr_retry;  /* RTS: times; MGDS_HCA_RNR_FOREVER */
    uint8_t reads;      /* RTS: 1 to MGDS_HCA_READS under way at a time */
    uint8_t timeout;    /* RTS: 4.096 us * 2^timeout; 0: none. For wires */
    uint8_t retries;    /* RTS: times, 0 to 7, without a response. Likewise */
};

/* A WQE that was begun, until its CQE is due. */
struct mgds_hca_pending {
    uint16_t index;
    uint16_t blocks;
    uint8_t opcode;
    uint8_t flags;
    bool done;
    bool answered; /* data comes back: it has a place among the reads */
    enum mgds_hca_cause cause;
    uint32_t psn;
    uint64_t bytes;
};

/* Indices that run freely; of the send queue in blocks. */
struct mgds_hca_send {
    uint16_t head;  /* begins next */
    uint16_t limit; /* behind the last WQE that was rung for */
    uint32_t psn;   /* of the next request */
    uint32_t first; /* pending ones: the oldest, and behind the youngest */
    uint32_t next;
    uint32_t first_read; /* the same of those with data to come */
    uint32_t next_read;
    bool halted;     /* a WQE was wrong: none behind it is looked at */
    bool record_due; /* the record has not been seen to reach `limit` */
    bool drained;    /* SQD: has been told */
    uint8_t rung_at; /* EITHER: a bit for each register that it has rung */
    uint8_t retries; /* after RNR, left */
    uint64_t resume; /* not before this time */
    uint64_t record_time;
    bool aimed;                /* DCI: it has called */
    struct mgds_hca_av target; /* whom last */
};

struct mgds_hca_receive {
    uint16_t head;  /* of the ring: is taken next */
    uint16_t index; /* of the WQE that a message has, if `taken` */
    bool taken;
    uint32_t psn;
    bool passing;               /* told a requester to come again */
    bool told_last;             /* SRQ, ERR: that no WQE is taken any more */
    struct mgds_hca_sum placed; /* of the message (digest.h) */
};

/* The connections of a DCT, and the place of one among them (dct.h). */
struct mgds_hca_dynamic {
    struct mgds_hca_qp *connections; /* the one called last is first */
    unsigned count;
    struct mgds_hca_qp *dct; /* of a connection; of other QPs NULL */
    struct mgds_hca_qp *next;
    uint64_t epoch;
};

struct mgds_hca_qp {
    struct mgds_hca *hca;
    struct mgds_hca_qp_attr attr;
    struct mgds_hca_change set; /* what came with the states */
    enum mgds_hca_state state;
    uint32_t number; /* QPN */
    struct mgds_hca_send send;
    struct mgds_hca_receive receive;
    struct mgds_hca_dynamic dc;
    struct mgds_hca_pending *pending; /* send_blocks of them */
    struct mgds_hca_list *reads;      /* MGDS_HCA_READS */
    struct mgds_hca_qp *next;         /* of the register */
    struct mgds_hca_qp *next_busy;
    bool busy;
    void *flow; /* the wire's */
};

/* A QP in RESET. 0; -EINVAL: attributes that no HCA
 * takes; -ENOMEM. */
int mgds_hca_qp_attach(struct mgds_hca *hca,
                       const struct mgds_hca_qp_attr *attr,
                       struct mgds_hca_qp **out);

/* What is under way is forgotten, and answers to it are dropped. */
void mgds_hca_qp_detach(struct mgds_hca_qp *qp);

/* -EINVAL: no such transition, or values out of range; nothing changed. What
 * was posted is flushed by the next run after ERR. */
int mgds_hca_qp_modify(struct mgds_hca_qp *qp,
                       const struct mgds_hca_change *change);

/* What the peer may do from now on (key.h); in any state. */
void mgds_hca_qp_allow(struct mgds_hca_qp *qp, uint8_t access);

/* To ERR by an error, with its event; no more than once. */
void mgds_hca_qp_break(struct mgds_hca_qp *qp, enum mgds_hca_event event);

/* Writes a CQE of this QP; it is to fill in all but QPN and user index. The QP
 * breaks if the queue has no room. */
void mgds_hca_qp_complete(struct mgds_hca_qp *qp, struct mgds_hca_cq *cq,
                          struct mgds_hca_completion *completion);

/* A DCT, whose service its connections have, too. */
static inline bool mgds_hca_is_target(const struct mgds_hca_qp *qp)
{
    return qp->attr.service == MGDS_SERVICE_DCT && !qp->dc.dct;
}

/* Tells an event of this QP; connections have none. */
void mgds_hca_qp_tell(const struct mgds_hca_qp *qp, enum mgds_hca_event event);

/* A word of the record. What the program stored before it is visible. */
uint16_t mgds_hca_qp_record(const struct mgds_hca_qp *qp, unsigned word);

#endif
