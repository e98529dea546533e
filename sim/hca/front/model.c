/* Names and numbers of the devices. */
#include "sim/hca/front/model.h"

#include <stdio.h>
#include <string.h>

#include "sim/hca/opcode.h"

/* A GUID that is administered locally. */
#define FIRST_GUID UINT64_C(0x0225c9fffe000001)

static const struct mgds_hca_kind kinds[] = {
#define X(name, device, major, minor, patch, board, speed, rate, capabilities) \
    {#name, device, {major, minor, patch}, board, speed, rate, capabilities},
#include "sim/hca/front/models.def"
#undef X
};

const struct mgds_hca_kind *mgds_hca_kind(void)
{
    return &kinds[mgds_hca_settings()->model];
}

void mgds_hca_bdf(unsigned index, char name[MGDS_HCA_BDF])
{
    snprintf(name, MGDS_HCA_BDF, MGDS_HCA_PCI_DOMAIN "%02x.0", index & 0x1f);
}

uint16_t mgds_hca_lid(unsigned index)
{
    if (mgds_hca_settings()->link == MGDS_HCA_LINK_ROCE)
        return 0;
    return (uint16_t)(index + 1);
}

uint64_t mgds_hca_guid(unsigned index)
{
    return FIRST_GUID + index;
}

/* RoCE: an IPv4 address of a private network, mapped. */
static void set_roce_gid(unsigned index, uint8_t gid[16])
{
    const uint8_t mapped[16] = {0, 0, 0,    0,    0,  0,   0, 0,
                                0, 0, 0xff, 0xff, 10, 165, 0, 0};

    memcpy(gid, mapped, sizeof(mapped));
    gid[15] = (uint8_t)(index + 1);
}

void mgds_hca_gid(unsigned index, uint8_t gid[16])
{
    uint64_t guid = mgds_hca_guid(index);

    if (mgds_hca_settings()->link == MGDS_HCA_LINK_ROCE) {
        set_roce_gid(index, gid);
        return;
    }
    memset(gid, 0, 16);
    gid[0] = 0xfe;
    gid[1] = 0x80;
    for (unsigned i = 0; i < 8; i++)
        gid[8 + i] = (uint8_t)(guid >> (56 - 8 * i));
}
