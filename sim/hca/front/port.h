/* The port of a device. */
#ifndef MGDS_HCA_PORT_H
#define MGDS_HCA_PORT_H

#include <stdbool.h>
#include <stdint.h>

/* Its capability mask (IBV_PORT_*). */
uint32_t mgds_hca_port_capabilities(void);

/* Its physical state, as verbs and as sysfs say it. */
struct mgds_hca_physical {
    uint8_t state;
    const char *text;
};

const struct mgds_hca_physical *mgds_hca_port_physical(bool up);

#endif
