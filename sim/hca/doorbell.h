/* UAR pages: doorbell registers, and what is done about them.
 *
 *   0x20    CQ doorbell: arm word, CQN
 *   0x800   register 0, first half       0x900   its second half
 *   0xa00   register 1, first half       0xb00   its second half
 *
 * A register takes the first eight bytes of a WQE, or a whole one (BlueFlame):
 * only those eight are looked at, for the WQE is in the ring too. They are
 *   - those of the last WQE that was posted, or
 *   - made up, with the next free index and DS 0.
 * A register that one QP has is strict: the QPN must be that QP's, and WQEs are
 * executed up to this doorbell and no further. The record must have reached it
 * soon (late_record of the device), for a ConnectX may lose doorbells and then
 * goes by the record. A register that several QPs have only says that one of
 * their records has moved: all are looked at.
 *
 * A QP may have a page and no register of it in particular (EITHER). It is seen
 * at which it rings: until then it counts among those of both registers, and
 * from then on among those of that one. Of several QPs of such a page, one that
 * rings another register than before has to be seen there once, or its doorbell
 * may be lost as below.
 *
 * Who writes what: the program stores a register in one piece, or its two
 * halves in ascending order; the engine stores 0 when it has taken it. A
 * doorbell that is overwritten before it was seen is lost, and the one that
 * overwrote it covers it, unless they are of two QPs: then the records tell.
 * Before a doorbell the program has written WQEs and record, in this order:
 * taking it acquires them. */
#ifndef MGDS_SIM_HCA_DOORBELL_H
#define MGDS_SIM_HCA_DOORBELL_H

#include <stdbool.h>

#include "device/abi_wqe.h"

struct mgds_hca;
struct mgds_hca_cq;
struct mgds_hca_qp;

enum {
    MGDS_UAR_EITHER = MGDS_UAR_REGISTERS, /* instead of a register's number */
    MGDS_UAR_LISTS
};

struct mgds_hca_uar {
    struct mgds_hca *hca;
    uint8_t *page;
    struct mgds_hca_qp *qp[MGDS_UAR_LISTS];
    struct mgds_hca_cq *cq; /* a list */
    struct mgds_hca_uar *next;
};

/* A page of the caller's, of MGDS_UAR_BYTES, aligned to eight bytes, all zero.
 * 0; -EINVAL: not aligned; -ENOMEM. */
int mgds_hca_uar_attach(struct mgds_hca *hca, void *page,
                        struct mgds_hca_uar **out);

/* A queue uses it. */
bool mgds_hca_uar_used(const struct mgds_hca_uar *uar);

/* -EBUSY: a queue uses it. */
int mgds_hca_uar_detach(struct mgds_hca_uar *uar);

/* Queues that come and go. */
void mgds_hca_uar_add_qp(struct mgds_hca_uar *uar, struct mgds_hca_qp *qp);
void mgds_hca_uar_drop_qp(struct mgds_hca_uar *uar, struct mgds_hca_qp *qp);
void mgds_hca_uar_add_cq(struct mgds_hca_uar *uar, struct mgds_hca_cq *cq);
void mgds_hca_uar_drop_cq(struct mgds_hca_uar *uar, struct mgds_hca_cq *cq);

/* Takes the doorbells that were rung; how many. */
int mgds_hca_uar_poll(struct mgds_hca_uar *uar);

/* Whether the record has reached the last doorbell; tells of one that is
 * late. */
void mgds_hca_doorbell_check(struct mgds_hca_qp *qp);

#endif
