/* Packets: the table of opcodes, sequence numbers, codes. */
#include "sim/hca/wire/packet.h"

#include <stddef.h>

#include "sim/hca/wire.h"

enum {
    OPCODES = 1 << 5,
    BASE = OPCODES - 1,
    DC = 1 << (MGDS_PACKET_DC >> 5),
    RC = 1 << (MGDS_PACKET_RC >> 5) | DC,
    UC = 1 << (MGDS_PACKET_UC >> 5),
    UD = 1 << (MGDS_PACKET_UD >> 5),
    FIRST = MGDS_PACKET_FIRST,
    LAST = MGDS_PACKET_LAST,
    RESPONSE = MGDS_PACKET_RESPONSE,
    PSN_SIGN = 0x800000,
    RNR_CODES = 32
};

#define X(name_, number, operation_, services_, traits_)                       \
    [number] = {.name = #name_,                                                \
                .operation = MGDS_WQE_##operation_,                            \
                .services = services_,                                         \
                .traits = traits_},
static const struct mgds_hca_packet_row rows[OPCODES] = {
#include "sim/hca/wire/packets.def"
};
#undef X

const struct mgds_hca_packet_row *mgds_hca_packet_row(uint8_t opcode)
{
    static const struct mgds_hca_packet_row none;
    const struct mgds_hca_packet_row *row = &rows[opcode & BASE];

    return row->services >> (opcode >> 5) & 1 ? row : &none;
}

uint8_t mgds_hca_packet_service(enum mgds_hca_service service)
{
    static const uint8_t bits[MGDS_SERVICES] = {
        [MGDS_SERVICE_RC] = MGDS_PACKET_RC,
        [MGDS_SERVICE_UC] = MGDS_PACKET_UC,
        [MGDS_SERVICE_UD] = MGDS_PACKET_UD,
        [MGDS_SERVICE_DCI] = MGDS_PACKET_DC,
        [MGDS_SERVICE_DCT] = MGDS_PACKET_DC,
    };

    return bits[service];
}

uint8_t mgds_hca_packet_family(uint8_t operation)
{
    if (operation == MGDS_WQE_SEND_IMM || operation == MGDS_WQE_SEND_INVAL)
        return MGDS_WQE_SEND;
    if (operation == MGDS_WQE_RDMA_WRITE_IMM)
        return MGDS_WQE_RDMA_WRITE;
    return operation;
}

uint8_t mgds_hca_packet_opcode(uint8_t operation, uint8_t traits)
{
    uint8_t opcode = 0;

    if (!(traits & LAST))
        operation = mgds_hca_packet_family(operation);
    while (
        opcode < MGDS_PACKET_OPCODES - 1 &&
        (rows[opcode].operation != operation || rows[opcode].traits != traits))
        opcode++;
    return opcode;
}

uint32_t mgds_hca_packet_count(uint64_t bytes, uint16_t mtu)
{
    return bytes ? (uint32_t)((bytes + mtu - 1) / mtu) : 1;
}

uint64_t mgds_hca_packet_bytes(uint64_t bytes, uint16_t mtu, uint32_t number)
{
    uint64_t left = bytes - (uint64_t)number * mtu;

    return left < mtu ? left : mtu;
}

uint32_t mgds_hca_psn_add(uint32_t psn, uint32_t count)
{
    return (psn + count) & MGDS_HCA_PSN_MASK;
}

int32_t mgds_hca_psn_diff(uint32_t a, uint32_t b)
{
    uint32_t diff = (a - b) & MGDS_HCA_PSN_MASK;

    return diff & PSN_SIGN ? (int32_t)diff - MGDS_HCA_PSN_MASK - 1
                           : (int32_t)diff;
}

/* Tens of microseconds, by code. */
static const uint32_t rnr_timers[RNR_CODES] = {
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

uint8_t mgds_hca_rnr_code(uint64_t ns)
{
    for (unsigned code = 1; code < RNR_CODES; code++) {
        if (mgds_hca_rnr_ns((uint8_t)code) >= ns)
            return (uint8_t)code;
    }
    return 0;
}

uint64_t mgds_hca_rnr_ns(uint8_t code)
{
    return UINT64_C(10000) * rnr_timers[code % RNR_CODES];
}

/* A NAK has less to say than we know; so has the CQE. */
static const enum mgds_hca_cause causes[] = {
    [MGDS_NAK_INVALID] = MGDS_CAUSE_REMOTE_DISABLED,
    [MGDS_NAK_ACCESS] = MGDS_CAUSE_REMOTE_KEY,
    [MGDS_NAK_OPERATION] = MGDS_CAUSE_RECEIVE_LIST,
};

enum { REASONS = sizeof(causes) / sizeof(causes[0]) };

uint8_t mgds_hca_nak_of(enum mgds_hca_cause cause)
{
    uint8_t syndrome = mgds_hca_verdict(cause)->syndrome;
    uint8_t reason = MGDS_NAK_INVALID;

    while (reason < REASONS - 1 &&
           mgds_hca_verdict(causes[reason])->syndrome != syndrome)
        reason++;
    return reason;
}

enum mgds_hca_cause mgds_hca_nak_cause(uint8_t reason)
{
    return reason < REASONS ? causes[reason] : MGDS_CAUSE_NONE;
}
