/* A send WQE, taken apart and checked; and the list of a receive WQE. */
#ifndef MGDS_SIM_HCA_WQE_H
#define MGDS_SIM_HCA_WQE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"
#include "sim/hca/cause.h"
#include "sim/hca/opcode.h"
#include "sim/hca/piece.h"
#include "sim/hca/window.h"
#include "sim/hca/wire.h"

struct mgds_hca_qp;

struct mgds_hca_wqe {
    const struct mgds_hca_opcode *row;
    uint8_t opcode;
    uint8_t flags;   /* fm_ce_se */
    uint16_t blocks; /* it takes, at least 1 */
    struct mgds_be32 imm;

    struct mgds_hca_av av; /* UD, DCI */
    uint64_t address;      /* RADDR */
    uint32_t rkey;
    uint8_t opmod;
    struct mgds_hca_operands atomic; /* ATOMIC, MASKED */
    struct mgds_hca_bind bind;       /* UMR */
    struct mgds_hca_list list;       /* its local memory, or its inline data */
};

/* The longest message; the HCA's log_msg_max is 30 (mlx5.md, 1.1). */
#define MGDS_HCA_MESSAGE_MAX (UINT64_C(1) << 30)

/* Takes the WQE at the head of the send queue apart. Opcode, flags and blocks
 * are filled in whatever is wrong. Only bytes below the last doorbell are
 * looked at, each once: a program that changes them meanwhile gets what it
 * wrote first or last, and no more. */
enum mgds_hca_cause mgds_hca_wqe_decode(const struct mgds_hca_qp *qp,
                                        struct mgds_hca_wqe *wqe);

/* Opcode and size of the WQE at the head, as far as they can be told: for one
 * that is flushed. */
void mgds_hca_wqe_skim(const struct mgds_hca_qp *qp, struct mgds_hca_wqe *wqe);

/* It has an address vector, as WQEs of its QP's service have that go out. */
bool mgds_hca_wqe_has_av(const struct mgds_hca_qp *qp,
                         const struct mgds_hca_wqe *wqe);

/* The memory of the receive WQE that the QP's message has. */
enum mgds_hca_cause mgds_hca_receive_decode(const struct mgds_hca_qp *qp,
                                            struct mgds_hca_list *list);

#endif
