/* Shared receive queues: WQEs that the program links, for QPs that have no ring
 * of their own.
 *
 *   slot   | next | data .. |   of `stride` bytes: a unit with the index of the
 *                               slot that comes behind it, then the elements
 *
 * The HCA begins with slot 0 and follows the links, as many WQEs as the record
 * counts (16 bits, one word). A slot is the program's again with the CQE that
 * names its index. WQEs and links are written before the record that counts
 * them. A link that leaves the ring counts modulo its slots: no source.
 *
 * A limit that is set tells MGDS_EVENT_SRQ_LIMIT when fewer WQEs are left, and
 * is 0 then (ibv_modify_srq). */
#ifndef MGDS_SIM_HCA_SRQ_H
#define MGDS_SIM_HCA_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"

struct mgds_hca;

struct mgds_hca_srq_attr {
    void *buffer;             /* slots * stride, aligned to a unit */
    uint32_t slots;           /* a power of two, up to MGDS_HCA_RECEIVES */
    uint32_t stride;          /* mgds_hca_srq_stride */
    struct mgds_be32 *record; /* one word */
    uint32_t pd;
};

struct mgds_hca_srq {
    struct mgds_hca *hca;
    struct mgds_hca_srq_attr attr;
    uint32_t number;
    uint16_t next;  /* the slot that is taken next */
    uint16_t taken; /* WQEs so far */
    uint32_t limit; /* 0: none */
    unsigned users; /* QPs */
};

/* Bytes of a slot with so many elements. libmlx5 does not tell them to the
 * kernel, whose rule this is (mlx5_ib_create_srq). */
uint32_t mgds_hca_srq_stride(uint32_t elements);

/* The memory stays the owner's, and must stay while it is attached. 0; -EINVAL:
 * attributes that no HCA takes; -ENOMEM. */
int mgds_hca_srq_attach(struct mgds_hca *hca,
                        const struct mgds_hca_srq_attr *attr,
                        struct mgds_hca_srq **out);

/* -EBUSY: a QP uses it. */
int mgds_hca_srq_detach(struct mgds_hca_srq *srq);

/* -EINVAL: more than its slots. */
int mgds_hca_srq_limit(struct mgds_hca_srq *srq, uint32_t limit);

/* WQEs that are posted. A count that no ring can hold counts as none. */
uint16_t mgds_hca_srq_posted(const struct mgds_hca_srq *srq);

/* The next one of them, of which there is one: its slot. */
uint16_t mgds_hca_srq_take(struct mgds_hca_srq *srq);

#endif
