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
 * MGDS_CAUSE_RECEIVE_EMPTY: then it was passed over, and will come again.
 *
 * Lists and pieces are the sender's. What they name stays as it is until the
 * answer has come (payload of a request), or for the call (data of an answer).
 */
#ifndef MGDS_SIM_HCA_WIRE_H
#define MGDS_SIM_HCA_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"
#include "sim/hca/cause.h"
#include "sim/hca/piece.h"

struct mgds_hca;

/* Sequence numbers count messages here, and have the 24 bits of packets'. */
enum { MGDS_HCA_PSN_MASK = 0xffffff };

struct mgds_hca_request {
    uint32_t to; /* QPNs */
    uint32_t from;
    uint32_t psn;
    uint8_t opcode;
    bool solicited;
    struct mgds_be32 imm;
    uint64_t address;
    uint32_t rkey;
    uint64_t operand;
    uint64_t compare;
    uint64_t bytes;                      /* of the message, either way */
    const struct mgds_hca_list *payload; /* NULL if data comes back */
};

struct mgds_hca_answer {
    uint32_t to; /* QPN of the requester */
    uint32_t psn;
    enum mgds_hca_cause cause;
    uint64_t delay;             /* RECEIVE_EMPTY: nanoseconds to wait */
    struct mgds_hca_piece data; /* of a READ, or the old value */
};

struct mgds_hca_wire {
    void (*request)(void *ctx, const struct mgds_hca_request *request);
    void (*answer)(void *ctx, const struct mgds_hca_answer *answer);
    void *ctx;
};

/* What came for a QP of this device: both as mgds_hca_run, and also inside
 * it. */
void mgds_hca_requested(struct mgds_hca *hca,
                        const struct mgds_hca_request *request);
void mgds_hca_answered(struct mgds_hca *hca,
                       const struct mgds_hca_answer *answer);

#endif
