/* Numbers of ports as GUID, GID and MAC address, and back. */
#include "sim/hca/front/gid.h"

#include <string.h>

#include <rdma/ib_user_verbs.h>

#include "sim/hca/address.h"
#include "sim/hca/front/settings.h"

/* GUIDs that are administered locally. */
#define FIRST_GUID UINT64_C(0x0225c9fffe000000)

bool mgds_hca_is_ib(void)
{
    return mgds_hca_settings()->link == MGDS_HCA_LINK_IB;
}

uint64_t mgds_hca_guid(uint16_t number)
{
    return FIRST_GUID + number;
}

/* An IPv4 address of a private network, mapped. */
static void set_roce_gid(uint16_t number, uint8_t gid[16])
{
    const uint8_t network[16] = {[10] = 0xff, 0xff, 10, 165};

    memcpy(gid, network, sizeof(network));
    gid[14] = (uint8_t)(number >> 8);
    gid[15] = (uint8_t)number;
}

void mgds_hca_gid(uint16_t number, uint8_t gid[16])
{
    uint64_t guid = mgds_hca_guid(number);

    if (!mgds_hca_is_ib()) {
        set_roce_gid(number, gid);
        return;
    }
    memset(gid, 0, 16);
    gid[0] = 0xfe;
    gid[1] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        gid[8 + i] = (uint8_t)(guid >> (56 - 8 * i));
}

void mgds_hca_mac(uint16_t number, uint8_t mac[6])
{
    const uint8_t address[6] = {
        0x02, 0xc9, 0, 0, (uint8_t)(number >> 8), (uint8_t)number};

    memcpy(mac, address, sizeof(address));
}

uint16_t mgds_hca_gid_number(const uint8_t gid[16])
{
    uint16_t number = (uint16_t)(gid[14] << 8 | gid[15]);
    uint8_t own[16];

    mgds_hca_gid(number, own);
    return memcmp(own, gid, sizeof(own)) == 0 ? number : 0;
}

struct mgds_hca_address mgds_hca_path(const struct ib_uverbs_qp_dest *to)
{
    struct mgds_hca_address address = {
        .lid = mgds_hca_is_ib() ? to->dlid : 0,
        .global = to->is_global,
    };

    if (address.global)
        memcpy(address.gid.raw, to->dgid, sizeof(address.gid.raw));
    return address;
}

uint16_t mgds_hca_path_number(const struct mgds_hca_address *address)
{
    uint16_t number =
        address->global ? mgds_hca_gid_number(address->gid.raw) : address->lid;

    return mgds_hca_is_ib() && address->lid != number ? 0 : number;
}
