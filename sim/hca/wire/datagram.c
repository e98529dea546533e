/* Datagrams, and their headers. */
#include "sim/hca/wire/datagram.h"

#include <string.h>

#include "sim/hca/engine.h"
#include "sim/hca/qp.h"
#include "sim/hca/wire/flow.h"

/* IPv4 in GIDs, and the header in the second half of a GRH. */
enum {
    MAPPED = 12,
    IPV4_AT = 20,
    IPV4_BYTES = 20,
    IPV4_VERSION = 0x45,
    IPV6_VERSION = 6,
    UDP = 17,
    ROCE_IPV6 = 9, /* RoCE v2: what a CQE has in place of the SL */
    ROCE_IPV4 = 10,
    NEXT_BTH = 0x1b
};

static void put16(uint8_t *at, uint32_t v)
{
    at[0] = (uint8_t)(v >> 8);
    at[1] = (uint8_t)v;
}

static bool is_mapped(const struct mgds_hca_gid *gid)
{
    static const uint8_t prefix[MAPPED] = {[10] = 0xff, [11] = 0xff};

    return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

/* The sum that makes a header with it add up to 0xffff. */
static uint16_t checksum(const uint8_t *header)
{
    uint32_t sum = 0;

    for (int i = 0; i < IPV4_BYTES; i += 2)
        sum += (uint32_t)(header[i] << 8 | header[i + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t) ~(sum + (sum >> 16));
}

static void fill_ipv4(uint8_t *at, const struct mgds_hca_packet *packet,
                      const struct mgds_hca_gid *to)
{
    at[0] = IPV4_VERSION;
    at[1] = packet->datagram.traffic_class;
    put16(at + 2, IPV4_BYTES + (uint32_t)packet->bytes);
    at[8] = packet->datagram.hop_limit;
    at[9] = UDP;
    memcpy(at + 12, packet->datagram.from.raw + MAPPED, 4);
    memcpy(at + 16, to->raw + MAPPED, 4);
    put16(at + 10, checksum(at));
}

static void fill_ipv6(uint8_t *at, const struct mgds_hca_packet *packet,
                      const struct mgds_hca_gid *to)
{
    const struct mgds_hca_deth *from = &packet->datagram;

    put16(at, (uint32_t)IPV6_VERSION << 12 |
                  (uint32_t)from->traffic_class << 4 | from->flow_label >> 16);
    put16(at + 2, from->flow_label);
    put16(at + 4, packet->bytes);
    at[6] = NEXT_BTH;
    at[7] = from->hop_limit;
    memcpy(at + 8, &from->from, sizeof(from->from));
    memcpy(at + 24, to, sizeof(*to));
}

static void fill_grh(const struct mgds_hca_flow *flow,
                     const struct mgds_hca_packet *packet,
                     struct mgds_hca_datagram *datagram)
{
    const struct mgds_hca_inbox *inbox = flow->outlet->fabric->inbox;
    const struct mgds_hca_gid *to =
        &inbox->gid[packet->datagram.gid_index % MGDS_HCA_GIDS];

    bool ipv4 = is_mapped(&packet->datagram.from) && is_mapped(to);

    if (ipv4)
        fill_ipv4(datagram->grh + IPV4_AT, packet, to);
    else
        fill_ipv6(datagram->grh, packet, to);
    if (flow->qp->hca->config.ethernet)
        datagram->sl = ipv4 ? ROCE_IPV4 : ROCE_IPV6;
}

void mgds_hca_datagram_take(struct mgds_hca_flow *flow,
                            const struct mgds_hca_packet *packet,
                            const struct mgds_hca_list *payload)
{
    bool ethernet = flow->qp->hca->config.ethernet;
    struct mgds_hca_datagram datagram = {
        .qkey = packet->rkey,
        .lid = ethernet ? 0 : packet->from,
        .sl = packet->datagram.sl & 0xf,
        .global = packet->datagram.global != 0,
    };
    struct mgds_hca_request request = {
        .to = flow->qp->number,
        .from = (uint32_t)packet->address & 0xffffff,
        .opcode = mgds_hca_packet_row(packet->opcode)->operation,
        .solicited = packet->flags & MGDS_PACKET_SOLICITED,
        .imm = packet->datagram.imm,
        .bytes = packet->bytes,
        .payload = payload,
        .datagram = &datagram,
        .digest = packet->length,
    };

    if (datagram.global)
        fill_grh(flow, packet, &datagram);
    mgds_hca_requested(flow->qp->hca, &request);
}
