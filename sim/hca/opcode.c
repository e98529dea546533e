/* The table of operations. */
#include "sim/hca/opcode.h"

#include <stddef.h>

#include "device/abi_wqe.h"
#include "sim/hca/key.h"
#include "sim/hca/qp.h"
#include "sim/hca/responder.h"

enum {
    OPCODES = 256,
    RC = 1 << MGDS_SERVICE_RC,
    UC = 1 << MGDS_SERVICE_UC,
    UD = 1 << MGDS_SERVICE_UD,
    DC = 1 << MGDS_SERVICE_DCI,
    LOCAL = MGDS_OP_LOCAL,
    ANSWERED = MGDS_OP_ANSWERED,
    ATOMIC = MGDS_OP_ATOMIC,
    MASKED = MGDS_OP_MASKED
};

#define X(name_, first, second, third, can, services_, allowed, traits_,       \
          handler)                                                             \
    [MGDS_WQE_##name_] = {                                                     \
        .name = #name_,                                                        \
        .segment = {MGDS_SEGMENT_##first, MGDS_SEGMENT_##second,               \
                    MGDS_SEGMENT_##third},                                     \
        .capability = MGDS_HCA_CAN_##can,                                      \
        .services = services_,                                                 \
        .permission = allowed,                                                 \
        .traits = traits_,                                                     \
        .respond = handler,                                                    \
    },
static const struct mgds_hca_opcode opcodes[OPCODES] = {
#include "sim/hca/opcodes.def"
};
#undef X

const struct mgds_hca_opcode *mgds_hca_opcode(uint8_t opcode)
{
    return &opcodes[opcode];
}
