/* Packets: the fields that InfiniBand has in its headers (BTH, RETH, AtomicETH,
 * AETH, ImmDt, DETH, GRH), as a struct of this machine. The payload stands
 * beside it.
 *
 * PSNs are 24 bits and count packets; a READ takes one for each packet of its
 * response. MTU bytes of payload are in each packet of a message but the last.
 * Of the AETH there is no MSN: credits are not modelled. */
#ifndef MGDS_SIM_HCA_WIRE_PACKET_H
#define MGDS_SIM_HCA_WIRE_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "device/abi_wqe.h"
#include "sim/hca/cause.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire.h"

enum mgds_hca_packet_opcode {
#define X(name, number, ...) MGDS_PACKET_##name = number,
#include "sim/hca/wire/packets.def"
#undef X
    MGDS_PACKET_OPCODES
};

enum { MGDS_PACKET_SOLICITED = 1 << 0, MGDS_PACKET_ACK_REQUEST = 1 << 1 };

/* AETH: the kind in three bits, and a value: the code of an RNR timer, or the
 * reason of a NAK. */
enum {
    MGDS_AETH_ACK = 0 << 5,
    MGDS_AETH_RNR = 1 << 5,
    MGDS_AETH_NAK = 3 << 5,
    MGDS_AETH_KIND = 7 << 5,
    MGDS_AETH_VALUE = 31,
    MGDS_NAK_SEQUENCE = 0,
    MGDS_NAK_INVALID = 1,
    MGDS_NAK_ACCESS = 2,
    MGDS_NAK_OPERATION = 3
};

/* ImmDt; and of UC the word of a digest (digest.h), which no hardware has. */
struct mgds_hca_last {
    struct mgds_be32 imm;
    uint32_t digest;
};

/* DETH and GRH. */
struct mgds_hca_deth {
    struct mgds_be32 imm; /* where it is in other packets */
    uint32_t flow_label;
    uint8_t global;    /* or 0; from a peer it may be any */
    uint8_t gid_index; /* of the destination's GID */
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint8_t sl;
    struct mgds_hca_gid from;
};

struct mgds_hca_packet {
    uint8_t opcode;
    union {
        uint8_t flags; /* requests */
        uint8_t aeth;  /* responses */
    };
    uint16_t from;  /* LID */
    uint16_t bytes; /* of payload */
    uint16_t pkey;
    uint32_t qpn; /* BTH: of the destination */
    uint32_t psn;

    uint32_t rkey;   /* RETH; AtomicETH; DETH: Q_Key */
    uint32_t length; /* RETH: of the message; AtomicETH: of the word; UD: the
                        word of a digest */

    uint64_t address; /* RETH; AtomicETH; DETH: QPN of the source */
    union {
        struct mgds_be32 imm;            /* ImmDt */
        struct mgds_hca_last last;       /* the same, of UC */
        struct mgds_hca_operands atomic; /* AtomicETH; `operand` of a response:
                                            the old value */
        struct mgds_hca_deth datagram;
    };
};

/* Traits of a packet. */
enum {
    MGDS_PACKET_FIRST = 1 << 0,
    MGDS_PACKET_LAST = 1 << 1,
    MGDS_PACKET_RESPONSE = 1 << 2
};

/* Services, as the upper bits of opcodes say them on the way. */
enum {
    MGDS_PACKET_RC = 0 << 5,
    MGDS_PACKET_UC = 1 << 5,
    MGDS_PACKET_UD = 3 << 5,
    MGDS_PACKET_DC = 6 << 5, /* for manufacturers, in InfiniBand */
    MGDS_PACKET_SERVICE = 7 << 5
};

/* Those of QPs. */
uint8_t mgds_hca_packet_service(enum mgds_hca_service service);

struct mgds_hca_packet_row {
    const char *name; /* NULL: no such opcode */
    uint8_t operation;
    uint8_t services; /* bits: 1 << service >> 5 */
    uint8_t traits;
};

/* Any opcode. */
const struct mgds_hca_packet_row *mgds_hca_packet_row(uint8_t opcode);

/* The packet of an operation with these traits, of RC; there is one. The
 * immediate of a message is in its last packet, and the others are named
 * without. */
uint8_t mgds_hca_packet_opcode(uint8_t operation, uint8_t traits);

/* The operation without its immediate. */
uint8_t mgds_hca_packet_family(uint8_t operation);

/* Packets of a message, at least 1. */
uint32_t mgds_hca_packet_count(uint64_t bytes, uint16_t mtu);

/* Payload of packet `number` of a message. */
uint64_t mgds_hca_packet_bytes(uint64_t bytes, uint16_t mtu, uint32_t number);

uint32_t mgds_hca_psn_add(uint32_t psn, uint32_t count);

/* a - b, of two that are less than 2^23 apart. */
int32_t mgds_hca_psn_diff(uint32_t a, uint32_t b);

/* Timers of RNR NAKs: the shortest that is no shorter, or the longest. */
uint8_t mgds_hca_rnr_code(uint64_t ns);
uint64_t mgds_hca_rnr_ns(uint8_t code);

/* What a NAK says of a cause; and the cause that says as much to a program as
 * the NAK does. No cause: no such reason. */
uint8_t mgds_hca_nak_of(enum mgds_hca_cause cause);
enum mgds_hca_cause mgds_hca_nak_cause(uint8_t reason);

#endif
