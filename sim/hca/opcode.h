/* What a device knows of an operation: opcodes.def. */
#ifndef MGDS_SIM_HCA_OPCODE_H
#define MGDS_SIM_HCA_OPCODE_H

#include <stdint.h>

#include "sim/hca/cause.h"

struct mgds_hca_qp;
struct mgds_hca_request;
struct mgds_hca_answer;

enum mgds_hca_segment {
    MGDS_SEGMENT_NONE,
    MGDS_SEGMENT_RADDR,
    MGDS_SEGMENT_ATOMIC,
    MGDS_SEGMENT_MASKED,
    MGDS_SEGMENT_GATHER,
    MGDS_SEGMENT_DUMPED,
    MGDS_SEGMENT_SCATTER,
    MGDS_SEGMENT_UMR,
    MGDS_SEGMENT_REST
};

/* Capabilities of a device: a model of an HCA has some of them. */
enum {
    MGDS_HCA_CAN_BASE = 1 << 0,
    MGDS_HCA_CAN_ATOMIC = 1 << 1,
    MGDS_HCA_CAN_MASKED = 1 << 2,
    MGDS_HCA_CAN_WINDOWS = 1 << 3,
    MGDS_HCA_CAN_DC = 1 << 4 /* QPs of these services: asked for by owners */
};

enum {
    MGDS_OP_LOCAL = 1 << 0,    /* nothing goes out */
    MGDS_OP_ANSWERED = 1 << 1, /* data comes back: what a fence waits for */
    MGDS_OP_ATOMIC = 1 << 2,   /* a word of it */
    MGDS_OP_MASKED = 1 << 3    /* whose size the opmod says; else 8 bytes */
};

enum { MGDS_HCA_SEGMENTS = 3 };

struct mgds_hca_opcode {
    const char *name; /* NULL: no such opcode */
    enum mgds_hca_segment segment[MGDS_HCA_SEGMENTS];
    uint8_t capability;
    uint8_t services; /* bits: 1 << MGDS_SERVICE_RC .. */
    uint8_t permission;
    uint8_t traits;
    /* Does it at the responder's QP, which allows it; *answer has the data
     * that goes back. */
    enum mgds_hca_cause (*respond)(struct mgds_hca_qp *qp,
                                   const struct mgds_hca_request *request,
                                   struct mgds_hca_answer *answer);
};

const struct mgds_hca_opcode *mgds_hca_opcode(uint8_t opcode);

#endif
