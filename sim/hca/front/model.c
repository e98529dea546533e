/* Names and numbers of the devices. */
#include "sim/hca/front/model.h"

#include <stdio.h>

#include "sim/hca/opcode.h"

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

void mgds_hca_gpu_bdf(unsigned index, char name[MGDS_HCA_BDF])
{
    snprintf(name, MGDS_HCA_BDF, "0000:%02x:00.0", (index + 1) & 0xff);
}
