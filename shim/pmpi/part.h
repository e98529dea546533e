/* Partitioned requests: what persist.c must know of them. */
#ifndef MGDS_PMPI_PART_H
#define MGDS_PMPI_PART_H

#include "shim/pmpi/persist.h"

/* A new round: no partition has arrived. */
void mgds_part_restart(struct mgds_persist *persist);

/* All have arrived: queues the copies of those that no Parrived brought up. */
int mgds_part_landed(struct mgds_persist *persist);

#endif
