/* What a software ConnectX says of itself: names, numbers, port. */
#ifndef MGDS_HCA_MODEL_H
#define MGDS_HCA_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "sim/hca/front/settings.h"

/* The PCI domain of all of them: no machine numbers one like that. A second
 * host bridge is one of another domain. */
#define MGDS_HCA_PCI_DOMAIN_ONLY "a500"
#define MGDS_HCA_PCI_ROOT "pci" MGDS_HCA_PCI_DOMAIN_ONLY ":00"
#define MGDS_HCA_PCI_ROOT_2 "pcia501:00"
#define MGDS_HCA_PCI_DOMAIN MGDS_HCA_PCI_DOMAIN_ONLY ":00:"

enum {
    MGDS_HCA_MAJOR = 231, /* of /dev/infiniband/uverbsN: 192 + N */
    MGDS_HCA_MINOR = 192,
    MGDS_HCA_PORT_MTU = 5, /* IBV_MTU_4096 */
    MGDS_HCA_MAX_CQE = (1 << 22) - 1,
    MGDS_HCA_MAX_SGE = 30
};

struct mgds_hca_kind {
    const char *name;
    uint16_t device; /* PCI */
    uint16_t firmware[3];
    const char *board;
    uint8_t speed;
    const char *rate;
    uint8_t capabilities;
};

/* The one that MPIX_SIM_HCA_MODEL names. */
const struct mgds_hca_kind *mgds_hca_kind(void);

/* What device `index` is called on its bus. */
enum { MGDS_HCA_BDF = 16 };
void mgds_hca_bdf(unsigned index, char name[MGDS_HCA_BDF]);

/* The same of software GPU `index` (cuDeviceGetPCIBusId). */
void mgds_hca_gpu_bdf(unsigned index, char name[MGDS_HCA_BDF]);

#endif
