/* Between a requester and a responder: operations one way, answers the other.
 * An engine hands both to a wire and gets them from it; whatever carries them,
 * in this process or to another one, is behind these two structs.
 *
 *   requester                     wire                        responder
 *   request(to, psn, ..)  ------------------->  mgds_hca_requested()
 *   mgds_hca_answered()   <-------------------  answer(to, psn, cause, ..)
 *
 * A wire keeps the order of requests between two QPs, and that of answers; it
 * may take its time, and may also deliver inside the call that it was given
 * them with. Every request is answered in the end, by the wire itself
 * (MGDS_CAUSE_NO_RESPONSE) if there is nobody, unless one ahead of it got
 * MGDS_CAUSE_RECEIVE_EMPTY: then it was passed over, and will come again. A
 * wire that repeats such requests itself answers RECEIVE_EMPTY with a delay of
 * 0 when it has tried often enough.
 *
 * A requester hands whole messages over. The wire may deliver a message in
 * parts, in ascending order, each with the offset of its payload, `more` in all
 * but the last: packets are placed as they come, and no buffer holds a message.
 * Each part is answered. Data of a READ comes back in the same manner. A READ
 * whose `more` is set is only looked up: the message is not counted, and so a
 * wire can repeat one that was lost.
 *
 * A DCI's first message to a target says so (`call`), and is handed over when
 * all before it are answered.
 *
 * Unreliable services are answered when they have been sent, and nobody tells
 * what became of them. `av` is there for the call, like the list.
 *
 * Lists and pieces are the sender's. The list of a request is there for the
 * call; what it names stays as it is until the answer has come. The data of an
 * answer is there for the call. */
#ifndef MGDS_SIM_HCA_WIRE_H
#define MGDS_SIM_HCA_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"
#include "sim/hca/address.h"
#include "sim/hca/cause.h"
#include "sim/hca/piece.h"

struct mgds_hca;
struct mgds_hca_qp;

/* Sequence numbers count messages here, and have the 24 bits of packets'. A
 * wire with packets counts those by itself (sim/hca/wire/). */
enum { MGDS_HCA_PSN_MASK = 0xffffff };

/* What an atomic has beside its address: numbers of the word's size. The plain
 * ones have no masks. */
struct mgds_hca_operands {
    uint64_t operand; /* to add, or to swap in */
    uint64_t compare;
    uint64_t mask;         /* swap: bits to change; add: `boundary` */
    uint64_t compare_mask; /* bits to compare */
};

struct mgds_hca_request {
    uint32_t to; /* QPNs */
    uint32_t from;
    uint32_t psn;
    uint8_t opcode;
    bool solicited;
    struct mgds_be32 imm;
    uint64_t address;
    uint32_t rkey;
    struct mgds_hca_operands atomic;
    uint64_t bytes;  /* of the message, either way; SEND: up to this part */
    uint64_t offset; /* of the payload in the message */
    bool more;
    const struct mgds_hca_list *payload; /* NULL if data comes back */
    const struct mgds_hca_av
        *av;       /* UD and DCI, to a wire; NULL: the QP's path */
    uint64_t call; /* DCI: its epoch (dct.h); 0: to who was called last */
    const struct mgds_hca_datagram *datagram; /* UD, from a wire */
    uint32_t digest; /* of an unreliable message, in its last part; 0: none */
};

struct mgds_hca_answer {
    uint32_t to; /* QPN of the requester */
    uint32_t psn;
    enum mgds_hca_cause cause;
    uint64_t delay;             /* RECEIVE_EMPTY: nanoseconds to wait */
    uint64_t offset;            /* of the data in the message */
    bool more;                  /* data */
    struct mgds_hca_piece data; /* of a READ, or the old value */
};

struct mgds_hca_wire {
    void (*request)(void *ctx, const struct mgds_hca_request *request);
    void (*answer)(void *ctx, const struct mgds_hca_answer *answer);
    /* These may be NULL. Whether the wire takes a request of this QP now. */
    bool (*ready)(void *ctx, const struct mgds_hca_qp *qp);
    /* The QP has another state; a detached one is in RESET. */
    void (*changed)(void *ctx, struct mgds_hca_qp *qp);
    /* Delivers what has come and sends what can be sent; how many packets.
     * Each round of mgds_hca_run calls it. */
    int (*poll)(void *ctx);
    void *ctx;
};

/* What came for a QP of this device: both as mgds_hca_run, and also inside
 * it. */
void mgds_hca_requested(struct mgds_hca *hca,
                        const struct mgds_hca_request *request);
void mgds_hca_answered(struct mgds_hca *hca,
                       const struct mgds_hca_answer *answer);

#endif
