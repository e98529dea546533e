/* A send queue as hardware has it: a ring of WQEs, a doorbell record, a
 * doorbell register, and the CQ of its completions. Posting needs nothing else,
 * so a queue in ordinary memory is one, too.
 *
 *   ring, by index & (blocks - 1); indices grow for ever:
 *
 *        done            rung            posted
 *   ------|---------------|---------------|------
 *   free  | the HCA's     | in the ring,  | free
 *         |               | not rung      |
 *
 * All WQEs have a slot of one block, or of two, which a NOP fills where the WQE
 * does not: so none goes on where the ring ends, and what is done follows from
 * an index. One thread posts, rings and polls: which one, the owner says.
 *
 * CQs ignore overruns, and their consumer index is never told: entries are as
 * many as blocks at least, so the HCA does not write an entry again that is not
 * read yet, even if each WQE completes with an error. */
#ifndef MGDS_HCA_SENDQ_H
#define MGDS_HCA_SENDQ_H

#include <stdint.h>

#include "device/impl/cqe.h"
#include "device/impl/wqe.h"

struct mgds_sendq {
    /* constant */
    uint32_t qpn;
    uint32_t blocks; /* a power of two, 32768 at most */
    uint32_t slot;   /* blocks of a WQE: 1 or 2 */
    uint8_t *ring;
    uint32_t *record; /* its send word */
    uint64_t *doorbell;
    const uint8_t *cqes;
    uint32_t entries; /* a power of two */

    uint32_t posted;
    uint32_t rung;
    uint32_t done;
    uint32_t silent;   /* blocks since the last WQE that completes visibly */
    uint32_t consumed; /* CQEs, of all laps */
};

/* A WQE that has completed, and with it all before it. */
struct mgds_completion {
    enum mgds_cqe_state state; /* DONE or FAILED */
    uint32_t index;            /* of the WQE, as mgds_sendq_put returned it */
    uint8_t syndrome;          /* of failures: syndrome.h */
    uint8_t vendor_syndrome;
};

/* Puts the WQE into the ring, stamped; the HCA does not see it before it is
 * rung. *index tells it from others. -EAGAIN: the ring is full until more has
 * completed; -EMSGSIZE: it is longer than a slot. Now and then a WQE completes
 * visibly though it was not to, so that the ring comes free again. */
int mgds_sendq_put(struct mgds_sendq *queue, const struct mgds_wqe *wqe,
                   uint32_t *index);

/* Rings for all that was put. */
void mgds_sendq_ring(struct mgds_sendq *queue);

/* What rings for all that was put, for somebody else to store: the record's
 * value first, then the doorbell's. They count as rung from now on, and are
 * stored in the order in which they were lent. */
struct mgds_sendq_bell {
    uint32_t record;
    uint64_t doorbell;
};
struct mgds_sendq_bell mgds_sendq_lend(struct mgds_sendq *queue);

/* The next completion, in the order of posting: 1; 0: there is none yet. */
int mgds_sendq_poll(struct mgds_sendq *queue, struct mgds_completion *out);

#endif
