/* The port of a device. */
#ifndef MGDS_HCA_PORT_H
#define MGDS_HCA_PORT_H

#include <stdint.h>

/* Its capability mask (IBV_PORT_*). */
uint32_t mgds_hca_port_capabilities(void);

#endif
