/* Completion queues: CQEs into a ring that the program polls, and events.
 *
 *   CQE n goes to slot n % entries, its owner bit is the lap: n / entries & 1.
 *
 *   |  lap 1  |  lap 0  |  invalid |      the program takes an entry whose
 *   0         n                    entries  opcode is valid and owner is its
 * lap
 *
 * A collapsed queue has all of them in slot 0, with owner 0. The queue
 * overruns when the consumer index of its record says that the program has not
 * taken the entry whose slot is next: then it is in error for good. One that
 * ignores overruns never looks at that index.
 *
 * Who writes what: the engine the entries, the last dword (index, signature,
 * `op_own`) last, in one piece and with release order: who loads it, or its
 * last byte, and finds the entry valid sees the rest, and the payload. The
 * program writes the record and, before the queue is attached, MGDS_CQE_UNUSED
 * into every op_own. */
#ifndef MGDS_SIM_HCA_CQ_H
#define MGDS_SIM_HCA_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"

struct mgds_hca;
struct mgds_hca_uar;

struct mgds_hca_cq_attr {
    void *buffer;             /* entries * entry_bytes */
    uint32_t entries;         /* a power of two, below 2^24 */
    uint32_t entry_bytes;     /* 64 or 128 */
    struct mgds_be32 *record; /* two words */
    struct mgds_hca_uar *uar; /* where it is armed; NULL: nowhere */
    bool collapsed;
    bool ignore_overrun;
};

struct mgds_hca_cq {
    struct mgds_hca *hca;
    struct mgds_hca_cq_attr attr;
    uint32_t number; /* CQN */
    uint32_t produced;
    uint32_t eventful; /* produced, behind the last CQE that is solicited */
    uint32_t arm;      /* the arm word that was taken last */
    bool armed;
    bool error;
    unsigned users;           /* queues of QPs */
    struct mgds_hca_cq *next; /* of the UAR */
};

/* What a CQE says. */
struct mgds_hca_completion {
    enum mgds_cqe_opcode opcode;
    uint8_t syndrome; /* of the two opcodes of errors */
    uint8_t vendor;
    uint8_t wqe_opcode; /* of a send */
    uint16_t counter;   /* index of the WQE */
    uint32_t qpn;
    uint32_t user_index;
    uint32_t peer; /* QPN: of receives; UD: and MGDS_CQE_GRH, SL */
    uint16_t lid;  /* UD: of the sender */
    uint32_t bytes;
    struct mgds_be32 imm;
    bool solicited; /* the message was: CQEs of receives say so */
    bool event;     /* is told to who waits for solicited ones, too */
};

/* The memory stays the caller's, and must stay while the queue is attached. The
 * arm word of the record becomes one that no program writes.
 * 0; -EINVAL: no power of two, entries of other sizes, no memory named or
 * not aligned to 64 bytes; -ENOMEM. */
int mgds_hca_cq_attach(struct mgds_hca *hca,
                       const struct mgds_hca_cq_attr *attr,
                       struct mgds_hca_cq **out);

/* -EBUSY: a QP uses it. */
int mgds_hca_cq_detach(struct mgds_hca_cq *cq);

/* Writes a CQE. False: the queue is in error, or is now, and has told so. */
bool mgds_hca_cq_write(struct mgds_hca_cq *cq,
                       const struct mgds_hca_completion *completion);

/* The doorbell of a queue of this UAR was rung; `named`: of this one. The
 * event comes at once if what is waited for is there. */
void mgds_hca_cq_arm(struct mgds_hca_cq *cq, bool named);

#endif
